# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Predicts the size of every table at other page sizes, migrates the server to each of them, and prints how far the predictions were off.

A private server is filled with tables of a shop, of a ledger and of sessions.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import servers

from ansible_collections.pagesmith.innodb.plugins.module_utils import candidates, page_size, scratch
from ansible_collections.pagesmith.innodb.plugins.module_utils.instance import find_instance
from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import plan_paths, read_layout
from ansible_collections.pagesmith.innodb.plugins.module_utils.tablespace_files import read_files

SETTINGS = {"innodb_buffer_pool_size": "512M", "innodb_flush_log_at_trx_commit": "0", "innodb_doublewrite": "0"}
MIB = 1 << 20
#: Smaller tables are counted in the sums alone: an extent more or less is much of them.
SHOWN_BYTES = 8 * MIB

# Nothing is random: every value is a function of the row's number. Sessions come in the order of their keys' hashes, which leaves
# pages half full, as on a server that lives.
DATA = """
SET NAMES utf8mb4; SET SESSION unique_checks=0, foreign_key_checks=0;
CREATE DATABASE webshop; CREATE DATABASE ledger; CREATE DATABASE web; USE webshop;
CREATE TABLE customer (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, email VARCHAR(190) NOT NULL, name VARCHAR(80) NOT NULL,
  street VARCHAR(120), city VARCHAR(60), notes TEXT, made DATETIME NOT NULL, UNIQUE KEY (email), KEY (city, name)) CHARSET=utf8mb4;
INSERT INTO customer SELECT seq, CONCAT(LEFT(MD5(seq), 12), '@example.org'), CONCAT('Zoë ', LEFT(SHA1(seq), 6 + seq % 20)),
  CONCAT(LEFT(SHA1(seq * 3), 20), ' ', seq % 300), CONCAT('city ', CRC32(seq) % 900), IF(seq % 5, NULL, REPEAT(SHA1(seq), 1 + seq % 40)),
  '2015-01-01' + INTERVAL seq MINUTE FROM seq_1_to_{customers};
CREATE TABLE product (id INT UNSIGNED NOT NULL PRIMARY KEY, sku CHAR(16) NOT NULL, title VARCHAR(150), body MEDIUMTEXT, price DECIMAL(10,2),
  UNIQUE KEY (sku), KEY (price)) CHARSET=utf8mb4;
INSERT INTO product SELECT seq, LEFT(MD5(seq), 16), REPEAT(LEFT(SHA1(seq), 10), 1 + seq % 9), REPEAT(SHA1(seq), 5 + CRC32(seq) % 120),
  seq / 7 FROM seq_1_to_{products};
CREATE TABLE orders (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, customer INT UNSIGNED NOT NULL, state ENUM('new','paid','sent')
  NOT NULL, total DECIMAL(12,2), made DATETIME NOT NULL, remark VARCHAR(200), KEY (customer, made), KEY (state, made)) CHARSET=utf8mb4;
INSERT INTO orders SELECT seq, 1 + CRC32(seq) % {customers}, 1 + seq % 3, seq / 3, '2018-01-01' + INTERVAL seq MINUTE,
  IF(seq % 9, NULL, REPEAT(SHA1(seq), 1 + seq % 4)) FROM seq_1_to_{orders};
CREATE TABLE line (order_id BIGINT UNSIGNED NOT NULL, number SMALLINT NOT NULL, product INT UNSIGNED NOT NULL, amount INT NOT NULL,
  price DECIMAL(10,2) NOT NULL, text VARCHAR(80), PRIMARY KEY (order_id, number), KEY (product)) CHARSET=utf8mb4;
INSERT INTO line SELECT seq DIV 3, seq % 3, 1 + CRC32(seq) % {products}, seq % 5, seq / 11, CONCAT('line ', LEFT(MD5(seq), 4 + seq % 28))
  FROM seq_1_to_{lines};
USE ledger;
CREATE TABLE entry (book INT NOT NULL, number BIGINT NOT NULL, account INT NOT NULL, cents BIGINT NOT NULL, day DATE NOT NULL,
  text VARCHAR(60), PRIMARY KEY (book, number), KEY (account, day), KEY (day)) CHARSET=latin1;
INSERT INTO entry SELECT seq % 12, seq, CRC32(seq) % 5000, CAST(CRC32(seq * 7) AS SIGNED) - 2147483648,
  '2010-01-01' + INTERVAL seq % 5000 DAY, IF(seq % 3, NULL, CONCAT('entry ', LEFT(MD5(seq), 20))) FROM seq_1_to_{entries};
CREATE TABLE balance (account INT NOT NULL, day DATE NOT NULL, cents BIGINT NOT NULL, PRIMARY KEY (account, day)) CHARSET=latin1;
INSERT INTO balance SELECT seq % 5000, '2010-01-01' + INTERVAL seq DIV 5000 DAY, CRC32(seq) FROM seq_1_to_{entries};
USE web;
CREATE TABLE session (id BINARY(16) NOT NULL PRIMARY KEY, user INT NOT NULL, data BLOB NOT NULL, seen TIMESTAMP NOT NULL,
  KEY (seen), KEY (user));
INSERT INTO session SELECT UNHEX(MD5(seq)), CRC32(seq) % 90000, REPEAT(UNHEX(SHA1(seq)), 5 + CRC32(seq) % 110),
  '2024-01-01' + INTERVAL seq SECOND FROM seq_1_to_{sessions};
DELETE FROM session WHERE CRC32(user) % 4 = 0;
"""
ROWS = {"customers": 200_000, "products": 60_000, "orders": 900_000, "lines": 2_600_000, "entries": 2_500_000, "sessions": 220_000}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="prediction", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1 is about 1 GB of tablespaces with 16k pages (default: 1)")
    parser.add_argument("--sizes", nargs="+", default=["4k", "8k"], help="page sizes to go to (default: 4k 8k)")
    parser.add_argument("--sample-bytes", type=int, default=64 * MIB, help="bytes of rows to sample (default: 64 MiB)")
    parser.add_argument("--parent", type=Path, default=Path("/var/tmp"), help="directory for the server (default: /var/tmp)")
    return parser.parse_args()


def predict(server: servers.Sandbox, sizes: list[int], sample_bytes: int) -> dict[str, Any]:
    """The result of the module rehearsal."""
    options = server.options()
    instance = find_instance(servers.harness.run, options.spec)
    paths = plan_paths(read_layout(instance), "rehearsal")
    with scratch.scratch_directory(str(server.base)) as directory:
        return candidates.rehearse_candidates(servers.harness.run, instance, options.login, paths, sizes, sample_bytes, directory)


def file_names(server: servers.Sandbox) -> dict[str, list[str]]:
    """The files of each table of users; a server that has just been started knows those alone that it opened."""
    options = server.options()
    instance = find_instance(servers.harness.run, options.spec)
    with candidates.connect(instance.login(options.login)) as session:
        names = read_files(session, instance.engine)
    return {table: list(files) for table, files in names.items() if not table.startswith("mysql.")}


def file_sizes(server: servers.Sandbox, names: dict[str, list[str]]) -> dict[str, int]:
    """Bytes of these files, as the file system has them after a clean shutdown."""
    datadir = Path(find_instance(servers.harness.run, server.options().spec).datadir)
    server.restart()
    return {table: sum((datadir / f"{name}.ibd").stat().st_size for name in files) for table, files in names.items()}


def compare(size: int, result: dict[str, Any], real: dict[str, int], before: dict[str, int]) -> Iterator[str]:
    """The table for one page size, as lines of Markdown."""
    told = result["page_sizes"][str(size)]["per_table"]
    known = {name: each for name, each in told.items() if each["predicted_bytes"] is not None and name in real}
    yield f"\n| to {page_size.label(size)} | MiB before | predicted | real | error | stated bound |\n|---|---|---|---|---|---|"
    for name in sorted(known, key=lambda name: -real[name]):
        if before[name] >= SHOWN_BYTES:
            yield line(name, before[name], known[name]["predicted_bytes"], real[name], known[name]["error_bytes"])
    sums = [sum(each[name] for name in known) for each in (before, real)]
    total = sum(each["predicted_bytes"] for each in known.values())
    yield line(f"all {len(known)} tables", sums[0], total, sums[1], result["page_sizes"][str(size)]["predicted_error_bytes"] or 0)
    unknown = sorted(real.keys() - known.keys())
    yield f"\nWithout a prediction: {', '.join(unknown) or 'none'}."


def line(name: str, before: int, predicted: int, real: int, bound: int) -> str:
    figures = f"{before / MIB:.1f} | {predicted / MIB:.1f} | {real / MIB:.1f} | {predicted / real - 1:+.1%} | {bound / real:.1%}"
    return f"| {name} | {figures} |"


def main() -> None:
    chosen = arguments()
    sizes = [page_size.parse(size) for size in chosen.sizes]
    base = Path(tempfile.mkdtemp(prefix="pagesmith-prediction-", dir=chosen.parent)) / "server"
    base.parent.chmod(0o755)
    servers.USER_SETTINGS.update(SETTINGS)
    server = servers.make(base, "16k")
    try:
        server.start()
        server.sql(DATA.format(**{name: max(int(rows * chosen.scale), 10) for name, rows in ROWS.items()}))
        names = file_names(server)
        before = file_sizes(server, names)
        print(f"{server.sql('SELECT VERSION()').strip()}, {sum(before.values()) / MIB:.0f} MiB with 16k pages", flush=True)
        result = predict(server, sizes, chosen.sample_bytes)
        print("\n".join(result["checked"]), flush=True)
        for size in sizes:
            server.migrate(size)
            print("\n".join(compare(size, result, file_sizes(server, names), before)), flush=True)
            server.rollback(discard=True)
            for path in server.kept():
                server.retire(path)
    finally:
        servers.remove(server)
        base.parent.rmdir()


main()

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module rehearsal on real servers: verdicts, remedies, rows, sizes, and what a kill leaves."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from harness import CASES, PATIENCE, USER, Sandbox, signal_process

from ansible_collections.pagesmith.innodb.plugins.module_utils import page_size, scratch
from ansible_collections.pagesmith.innodb.plugins.module_utils.processes import ANSWERED
from ansible_collections.pagesmith.innodb.plugins.module_utils.work_directory import socket_directory

HERE = Path(__file__).resolve().parent
MODULE = """
import sys
sys.path[:0] = [{tests!r}]
import conftest
conftest.pytest_configure()
from ansible.module_utils import basic
basic._ANSIBLE_ARGS, basic._ANSIBLE_PROFILE = sys.stdin.buffer.read(), "legacy"
from ansible_collections.pagesmith.innodb.plugins.module_utils import operations
operations.SCRATCH_DIR = {scratch!r}
from ansible_collections.pagesmith.innodb.plugins.modules import {module}
{module}.main()
"""
SHOP = (CASES / "shop.sql").read_text()
ORDERS = """
CREATE DATABASE orders; USE orders;
CREATE TABLE item (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, customer INT NOT NULL, sku CHAR(16) NOT NULL, state ENUM('new','sent') NOT NULL,
  price DECIMAL(10,2) NOT NULL, made DATETIME NOT NULL, note VARCHAR(200), KEY (customer, made), KEY (sku)
) CHARSET=utf8mb4;
INSERT INTO item SELECT seq, CRC32(seq) % 50000, LEFT(MD5(seq), 16), 1 + seq % 2, seq / 7, '2020-01-01' + INTERVAL seq MINUTE,
  IF(seq % 3, REPEAT(SHA1(seq), 1 + seq % 4), NULL) FROM seq_1_to_300000;
CREATE TABLE session (
  id BINARY(16) NOT NULL PRIMARY KEY, tenant INT NOT NULL, data BLOB NOT NULL, seen TIMESTAMP NOT NULL, KEY (tenant, seen)
);
INSERT INTO session SELECT UNHEX(MD5(seq)), seq % 90, REPEAT(UNHEX(SHA1(seq)), 5 + seq % 50), '2024-01-01' + INTERVAL seq SECOND
  FROM seq_1_to_40000;
CREATE TABLE ledger (book INT NOT NULL, line INT NOT NULL, cents BIGINT NOT NULL, text VARCHAR(80) NOT NULL, PRIMARY KEY (book, line));
INSERT INTO ledger SELECT seq % 5, seq, seq * 13, CONCAT('line ', MD5(seq)) FROM seq_1_to_200000;
"""


def arguments(server: Sandbox, sizes: Sequence[str], sample: str, **others: Any) -> bytes:
    options = {
        "page_sizes": list(sizes),
        "sample_bytes": sample,
        "directory": str(server.base),
        "instance": {"defaults_file": str(server.option_file), "manager": "process", "socket": str(server.socket)},
        **others,
    }
    return json.dumps({"ANSIBLE_MODULE_ARGS": options}).encode()


def start(given: bytes, module: str = "rehearsal", scratch_parent: Path = Path("/nonexistent")) -> subprocess.Popen:
    """The module in a process of its own, as Ansible runs it. scratch_parent: for modules that have no option for that."""
    code = MODULE.format(tests=str(HERE.parent), module=module, scratch=str(scratch_parent))
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(given)
    process.stdin.close()
    process.stdin = None
    return process


def rehearse(server: Sandbox, sizes: Sequence[str], sample: str = "64M", **others: Any) -> dict[str, Any]:
    out, err = start(arguments(server, sizes, sample, **others)).communicate(timeout=PATIENCE)
    result = json.loads(out) if out else {}
    assert not result.get("failed", not out), result.get("msg", err.decode(errors="replace"))
    assert result["changed"] is False
    assert left(server) == []
    return result


def verdict(result: dict[str, Any], size: str) -> dict[str, Any]:
    return result["page_sizes"][str(page_size.parse(size))]


def left(server: Sandbox) -> list[str]:
    """Scratch directories in the sandbox."""
    return sorted(path.name for path in server.base.glob(f"{scratch.PREFIX}*"))


def statements(server: Sandbox) -> str:
    return server.sql("SELECT COUNT(*) FROM information_schema.processlist WHERE command NOT IN ('Daemon', 'Sleep')")


def test_shop_fits_and_its_small_tables_are_measured(sandbox: Sandbox) -> None:
    sandbox.sql(SHOP)
    sandbox.restart()  # or it would still be writing what it has in memory
    before, pids = sandbox.snapshot(), sandbox.servers()
    result = rehearse(sandbox, ["4k", "8192"])
    assert sandbox.servers() == pids
    assert sandbox.snapshot() == before
    assert statements(sandbox) == "1\n"
    for size in ("4k", "8k"):
        found = verdict(result, size)
        assert found["fits"] and found["problems"] == []
        assert found["rows_sampled"] == 2500 and found["bytes_sampled"] > 100_000
        assert found["predicted_bytes"] == sum(table["predicted_bytes"] for table in found["per_table"].values())
    assert any("were read as a whole" in text for text in result["checked"])
    assert any("may still hold a row that fits no page" in text for text in result["not_checked"])


def test_verdicts_on_the_cases(sandbox: Sandbox) -> None:
    """Five page sizes in one call, with remedies that were tried."""
    text = (CASES / "fits.sql").read_text()
    expected: dict[str, dict[str, str]] = {}
    for verdicts, statement in re.findall(r"^-- MariaDB (.*)\n-- MySQL .*\n(create table .*;)$", text, re.MULTILINE):
        listed = dict(part.split("=") for part in verdicts.split())
        if listed["16k"] == "ok":
            sandbox.sql(f"CREATE DATABASE IF NOT EXISTS fits; USE fits; {statement}")
            expected[re.match(r"create table (\w+)", statement).group(1)] = listed
    result = rehearse(sandbox, ["4k", "8k", "16k", "32k", "64k"], "0")
    for size in ("4k", "8k", "16k", "32k", "64k"):
        found = verdict(result, size)
        errors = {problem["object"]: re.search(r"error (\d+)", problem["after"]).group(1) for problem in found["problems"]}
        assert errors == {f"table fits.{name}": listed[size] for name, listed in expected.items() if listed[size] != "ok"}
        assert found["fits"] == (not errors)
    remedies = {problem["object"]: problem for problem in verdict(result, "8k")["problems"]}
    assert remedies["table fits.kbs_only"]["remedy"] == "ALTER TABLE `fits`.`kbs_only` KEY_BLOCK_SIZE=8"
    assert remedies["table fits.compact_text8"]["remedy"] == "ALTER TABLE `fits`.`compact_text8` ROW_FORMAT=DYNAMIC"
    assert remedies["table fits.key_2000"]["remedy_tried"]
    unhelped = remedies["table fits.composite_key"]
    assert not unhelped["remedy_tried"] and "It fits 16k and 32k and 64k pages" in unhelped["remedy"]


def test_remedies_are_taken_by_the_running_server(sandbox: Sandbox) -> None:
    """What is advised is a statement that works, and after it the table fits."""
    columns = ", ".join(f"c{number} VARCHAR(250) NOT NULL" for number in range(9))
    sandbox.sql(
        "CREATE DATABASE app; USE app;"
        f"CREATE TABLE wide (id INT PRIMARY KEY, {columns}) CHARSET=latin1;"
        "CREATE TABLE old (id INT PRIMARY KEY, a TEXT, b TEXT, c TEXT, d TEXT, e TEXT, f TEXT) ROW_FORMAT=COMPACT;"
        "CREATE TABLE packed (id INT PRIMARY KEY, v TEXT) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8;"
        "CREATE TABLE keyed (id INT PRIMARY KEY, n INT, v VARCHAR(600) CHARACTER SET utf8mb4, KEY `by v` (n, v));"
    )
    problems = verdict(rehearse(sandbox, ["4k"], "0"), "4k")["problems"]
    assert {problem["object"] for problem in problems} == {f"table app.{name}" for name in ("wide", "old", "packed", "keyed")}
    for problem in problems:
        assert problem["remedy_tried"], problem
        statement, likewise, _more = problem["remedy"].partition(" and 5 more columns likewise")
        if likewise:
            statement += "".join(f", MODIFY c{number} varchar(256) NOT NULL" for number in range(4, 9))
        sandbox.sql(statement)
    assert verdict(rehearse(sandbox, ["4k"], "0"), "4k")["fits"]


def test_rows_that_fit_no_page_are_found(sandbox: Sandbox) -> None:
    """The definition is taken at 4k; a row with a long value in every column is not."""
    names = [f"c{number}" for number in range(92)]
    sandbox.sql(
        "CREATE DATABASE app; USE app;"
        f"CREATE TABLE texts (id INT PRIMARY KEY, {', '.join(f'{name} TEXT NOT NULL' for name in names)}) CHARSET=latin1;"
        f"INSERT INTO texts SELECT seq, {', '.join(['REPEAT(seq, 2000)'] * len(names))} FROM seq_1_to_9;"
    )
    assert verdict(rehearse(sandbox, ["4k"], "0"), "4k")["fits"]
    result = rehearse(sandbox, ["4k", "8k"])
    (problem,) = verdict(result, "4k")["problems"]
    assert problem["id"] == "table app.texts rows" and "error 1118" in problem["after"]
    assert "rows of it fit no page" in problem["message"] and "It fits 8k" in problem["remedy"]
    assert verdict(result, "8k")["fits"] and verdict(result, "8k")["rows_sampled"] == 9


@pytest.fixture(scope="module")
def zabbix_like() -> Iterator[Sandbox]:
    """Wide tables as monitoring systems have them: many VARCHAR(255) and VARCHAR(2048) in utf8mb4, beside narrow ones."""
    with Sandbox() as server:
        macros = ", ".join(f"macro{number} VARCHAR(63) CHARACTER SET latin1 NOT NULL DEFAULT ''" for number in range(30))
        inventory = ", ".join(f"field{number} VARCHAR(64) CHARACTER SET latin1 NOT NULL DEFAULT ''" for number in range(70))
        server.sql(
            "CREATE DATABASE zabbix CHARACTER SET utf8mb4; USE zabbix;"
            f"CREATE TABLE host_inventory (hostid BIGINT UNSIGNED PRIMARY KEY, {inventory});"
            f"CREATE TABLE macros (id BIGINT UNSIGNED PRIMARY KEY, {macros});"
            "CREATE TABLE items (itemid BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(255) NOT NULL, key_ VARCHAR(2048) NOT NULL,"
            " KEY items_1 (key_(768)));"
            "CREATE TABLE history (itemid BIGINT UNSIGNED, clock INT, value DOUBLE, ns INT, PRIMARY KEY (itemid, clock, ns));"
            "INSERT INTO macros (id) SELECT seq FROM seq_1_to_100;"
        )
        yield server


def test_a_wide_schema_is_refused_with_the_right_tables(zabbix_like: Sandbox) -> None:
    result = rehearse(zabbix_like, ["8k", "16k"])
    problems = {problem["object"]: problem for problem in verdict(result, "8k")["problems"]}
    assert set(problems) == {"table zabbix.host_inventory", "table zabbix.items"}
    assert "error 1118" in problems["table zabbix.host_inventory"]["after"]
    assert "error 1071" in problems["table zabbix.items"]["after"]
    assert verdict(result, "16k")["fits"]


def bytes_of(server: Sandbox, table: str) -> int:
    schema, name = table.split(".")
    return sum(
        path.stat().st_size for path in [*(server.datadir / schema).glob(f"{name}.ibd"), *(server.datadir / schema).glob(f"{name}#P#*")]
    )


def test_predicted_sizes_against_a_real_migration(sandbox: Sandbox, capsys: pytest.CaptureFixture) -> None:
    """A fifth of the rows is enough, but for the extents that a file has free. What is printed is the error of each table."""
    sandbox.sql(ORDERS)
    found = verdict(rehearse(sandbox, ["8k"], "16M"), "8k")
    sandbox.migrate("8k")
    total = 0
    for table in ("orders.item", "orders.session", "orders.ledger"):
        figures, real = found["per_table"][table], bytes_of(sandbox, table)
        total += real
        with capsys.disabled():
            print(
                f"\n{table}: now {figures['bytes_now']}, predicted {figures['predicted_bytes']} ± {figures['error_bytes']}, real {real}",
                end="",
            )
        assert figures["rows_sampled"] > 1000
        assert abs(figures["predicted_bytes"] - real) < max(0.15 * real, 5 << 20)
        assert abs(figures["predicted_bytes"] - real) <= 1.5 * figures["error_bytes"]
    assert abs(found["predicted_bytes"] / total - 1) < 0.10


def test_partitions_full_text_and_history_are_sampled(sandbox: Sandbox) -> None:
    sandbox.sql(
        "CREATE DATABASE app; USE app;"
        "CREATE TABLE parts (id INT PRIMARY KEY, v VARCHAR(300)) PARTITION BY HASH (id) PARTITIONS 4;"
        "INSERT INTO parts SELECT seq, REPEAT(MD5(seq), 8) FROM seq_1_to_30000;"
        "CREATE TABLE words (id INT PRIMARY KEY, v TEXT, FULLTEXT (v)); INSERT INTO words SELECT seq, MD5(seq) FROM seq_1_to_300;"
        "CREATE TABLE old (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;"
        "INSERT INTO old SELECT seq, 1 FROM seq_1_to_300; UPDATE old SET v=2;"
    )
    result = rehearse(sandbox, ["4k"], "2M")
    found = verdict(result, "4k")
    assert found["fits"]
    for table in ("parts", "words", "old"):
        assert found["per_table"][f"app.{table}"]["rows_sampled"] >= 300
        assert found["per_table"][f"app.{table}"]["predicted_bytes"] > 0
    assert found["per_table"]["app.parts"]["bytes_now"] > 8_000_000


def test_a_server_that_may_write_to_one_directory_only() -> None:
    with Sandbox() as server:
        server.stop()
        path = server.base / "outside"
        path.mkdir()
        shutil.chown(path, USER, USER)
        server.settings["secure_file_priv"] = path
        server.write_options()
        server.start()
        server.sql(SHOP)
        result = rehearse(server, ["8k"])
        assert verdict(result, "8k")["fits"] and verdict(result, "8k")["rows_sampled"] == 2500
        assert verdict(rehearse(server, ["8k"], directory=str(path)), "8k")["rows_sampled"] == 2500
        assert list(path.iterdir()) == []


def test_a_locked_table_and_an_unreadable_one_do_not_fail_it(sandbox: Sandbox) -> None:
    sandbox.sql(SHOP)
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute("LOCK TABLES shop.product WRITE")
        began = time.monotonic()
        result = rehearse(sandbox, ["8k"])
        assert time.monotonic() - began < PATIENCE / 2
    assert any("shop.product" in text for text in result["not_checked"])
    assert verdict(result, "8k")["per_table"]["shop.purchase"]["rows_sampled"] == 2000


def test_check_mode_makes_nothing(sandbox: Sandbox) -> None:
    sandbox.sql(SHOP)
    sandbox.restart()
    before = sandbox.snapshot()
    result = rehearse(sandbox, ["8k"], _ansible_check_mode=True)
    assert sandbox.snapshot() == before
    assert result["page_sizes"] == {} and any("8k" in text for text in result["plan"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"page_sizes": ["6k"]}, "no InnoDB page size"),
        ({"sample_bytes": "much"}, "no number of bytes"),
        ({"directory": "/nowhere"}, "does not exist"),
    ],
)
def test_bad_options_are_refused(sandbox: Sandbox, given: dict, message: str) -> None:
    options = {
        "sizes": ["8k"],
        "sample": "0",
        **{{"page_sizes": "sizes", "sample_bytes": "sample"}.get(key, key): value for key, value in given.items()},
    }
    out, _err = start(arguments(sandbox, options.pop("sizes"), options.pop("sample"), **options)).communicate(timeout=PATIENCE)
    assert message in json.loads(out)["msg"]
    assert left(sandbox) == []


def wait_for(condition: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.mark.parametrize("moment", ["initialising", "serving"])
def test_what_a_kill_leaves_is_removed_by_the_next_rehearsal(sandbox: Sandbox, moment: str) -> None:
    sandbox.sql(SHOP)
    pids = sandbox.servers()
    process = start(arguments(sandbox, ["8k"], "64M"))

    def reached() -> bool:
        return process.poll() is not None or any(
            sandbox.base.glob("pagesmith-*/*/data.pagesmith-new" if moment == "initialising" else "pagesmith-*/*/run")
        )

    wait_for(reached, "the rehearsal does not get there")
    assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    (name,) = left(sandbox)
    # The throw-away server ends by itself, or when the directory is swept.
    assert verdict(rehearse(sandbox, ["8k"], "0"), "8k")["fits"]
    assert sandbox.servers() == pids
    assert not os.path.exists(socket_directory(str(sandbox.base / name / "8192" / "run")))


def answered(server: Sandbox, directory: str = "8192") -> bool:
    """Whether the throw-away server of this directory has come up: one that is told to end earlier may hang, and is ended by the sweep."""
    return any(Path(socket_directory(str(server.base / name / directory / "run")), ANSWERED).exists() for name in left(server))


def test_the_throw_away_server_ends_with_its_starter(sandbox: Sandbox) -> None:
    pids = sandbox.servers()
    process = start(arguments(sandbox, ["8k"], "0"))
    wait_for(lambda: answered(sandbox), "no throw-away server comes up")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    wait_for(lambda: sandbox.servers() == pids, "the throw-away server does not end")
    assert scratch.sweep(str(sandbox.base))
    assert left(sandbox) == []


def test_a_told_end_cleans_up(sandbox: Sandbox) -> None:
    """SIGTERM, as from a user who gives up."""
    process = start(arguments(sandbox, ["8k"], "0"))
    wait_for(lambda: answered(sandbox), "no throw-away server comes up")
    signal_process(process.pid, signal.SIGTERM)
    out, _err = process.communicate(timeout=PATIENCE)
    assert "told to end" in json.loads(out)["msg"]
    assert left(sandbox) == []


@pytest.mark.parametrize("moment", ["rehearsal", "trial of the option file"])
def test_a_plan_that_is_told_to_end_says_so_and_names_no_blocker(sandbox: Sandbox, moment: str) -> None:
    options = {
        "state": "migrated",
        "page_size": "8k",
        "config": sandbox.config(8192),
        "work_dir": str(sandbox.work),
        "instance": {"defaults_file": str(sandbox.option_file), "manager": "process", "socket": str(sandbox.socket)},
        "_ansible_check_mode": True,
    }
    before, pids = sandbox.snapshot(), sandbox.servers()
    process = start(json.dumps({"ANSIBLE_MODULE_ARGS": options}).encode(), "migration", sandbox.base)
    wait_for(lambda: answered(sandbox, "rehearsal"), "no throw-away server comes up")
    if moment != "rehearsal":
        wait_for(lambda: not answered(sandbox, "rehearsal"), "the rehearsal does not end")
        wait_for(lambda: answered(sandbox, "rehearsal"), "no server with the option file comes up")
    signal_process(process.pid, signal.SIGTERM)
    out, _err = process.communicate(timeout=PATIENCE)
    result = json.loads(out)
    assert result["failed"]
    assert "told to end" in result["msg"]
    assert "blockers" not in result
    assert left(sandbox) == []
    assert sandbox.servers() == pids
    assert sandbox.snapshot() == before

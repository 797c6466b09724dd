# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Makes a private server with very many tables, runs instance_info on it as Ansible does, and prints what each part took."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import servers

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = ("INT", "BIGINT", "DATETIME", "VARCHAR(40)", "VARCHAR(255)", "TEXT", "DECIMAL(12,2)", "TINYINT NOT NULL", "CHAR(36)", "BLOB")
SETTINGS = {
    # What makes the tables quickly. None of it matters for reading.
    "sync_frm": "0",
    "innodb_flush_log_at_trx_commit": "0",
    "innodb_doublewrite": "0",
    "innodb_buffer_pool_size": "512M",
}
SUBSETS = ("server", "layout", "storage", "settings", "schema", "replication", "migration")
#: Where files cost nothing to make; it must have room.
MEMORY = Path("/dev/shm")
TABLE_BYTES = 120_000


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="many_tables", description=__doc__)
    parser.add_argument("--tables", type=int, default=20_000, help="number of tables (default: 20000)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured, of which the fastest counts (default: 3)")
    parser.add_argument("--parent", type=Path, help="directory for the server (default: /dev/shm when it has room, else /var/tmp)")
    return parser.parse_args()


def definition(number: int) -> str:
    """A table; one in three has columns of its own names, the others are of some forty kinds."""
    width = 3 + number % 17
    mark = number if number % 3 == 0 else "x"
    columns = [f"c{mark}_{place} {COLUMNS[(number + place) % len(COLUMNS)]}" for place in range(width)]
    keys = [f"KEY k{place} (name({40 + place}), kind)" for place in range(number % 4)]
    inner = ", ".join(["id INT AUTO_INCREMENT PRIMARY KEY", "name VARCHAR(191) NOT NULL", "kind INT NOT NULL", *columns, *keys])
    return f"CREATE TABLE t{number:06} ({inner});"


def fill(server: servers.Sandbox, tables: int) -> None:
    """Two sessions make the tables."""
    server.sql("CREATE DATABASE many")

    def part(numbers: range) -> None:
        server.sql("\n".join(map(definition, numbers)), "many")

    threads = [threading.Thread(target=part, args=(range(begin, tables, 2),)) for begin in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def server_seconds(server: servers.Sandbox) -> float:
    """CPU seconds of the server since its start, 0 when it is down."""
    pids = server.servers()
    if not pids:
        return 0.0
    fields = Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def counters(server: servers.Sandbox) -> dict[str, int]:
    rows = server.sql("SHOW GLOBAL STATUS WHERE variable_name IN ('opened_tables', 'opened_table_definitions')").splitlines()
    return {name: int(value) for name, value in (row.split("\t") for row in rows)}


def look(server: servers.Sandbox, subsets: list[str]) -> dict:
    """Run the module with its arguments as Ansible gives them."""
    module = "ansible_collections.pagesmith.innodb.plugins.modules.instance_info"
    start = f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r}); import conftest; conftest.pytest_configure(); "
    given = {
        "gather_subset": subsets,
        "subset_timeout": 600,
        "instance": {"defaults_file": str(server.option_file), "manager": "process", "socket": str(server.socket)},
        "work_dir": str(server.work),
    }
    # A module of ansible-core 2.19 is told how its arguments are written; others do not ask.
    start += f"import ansible.module_utils.basic as basic; basic._ANSIBLE_PROFILE = 'legacy'; from {module} import main; main()"
    before, begun = server_seconds(server), time.monotonic()
    children = os.times()
    done = subprocess.run(
        [sys.executable, "-c", start], input=json.dumps({"ANSIBLE_MODULE_ARGS": given}), capture_output=True, text=True, check=False
    )
    after = os.times()
    result = json.loads(done.stdout or "{}")
    assert done.returncode == 0, result.get("msg") or done.stderr
    return {
        "seconds": time.monotonic() - begun,
        "module CPU": after.children_user + after.children_system - children.children_user - children.children_system,
        "server CPU": server_seconds(server) - before,
        "omitted": result["omitted"],
        "tables": (result.get("schema") or {}).get("tables"),
    }


def main() -> None:
    options = arguments()
    parent = options.parent
    if parent is None:
        room = shutil.disk_usage(MEMORY).free > 2 * options.tables * TABLE_BYTES
        parent = MEMORY if room else Path(servers.harness.PARENT)
    base = servers.harness.make_base(str(parent))
    server = servers.Sandbox(base=base, settings=SETTINGS)
    try:
        server.create()
        server.start()
        begun = time.monotonic()
        fill(server, options.tables)
        print(f"{options.tables} tables made in {time.monotonic() - begun:.0f} s below {parent}")
        server.restart()  # nothing is in its caches
        opened = counters(server)
        measure(server, options.rounds)
        later = counters(server)
        print("; ".join(f"{name.lower()}: {later[name] - opened[name]} more" for name in opened))
        server.stop()
        report("schema, server down", [look(server, ["schema"]) for _round in range(options.rounds)])
    finally:
        server.kill()
        shutil.rmtree(base)


def measure(server: servers.Sandbox, rounds: int) -> None:
    report("schema, caches cold", [look(server, ["schema"])])
    for subset in SUBSETS:
        report(subset, [look(server, [subset]) for _round in range(rounds)])
    report("all by default", [look(server, list(SUBSETS)) for _round in range(rounds)])


def report(title: str, results: list[dict]) -> None:
    best = min(results, key=lambda each: each["seconds"])
    figures = "  ".join(f"{name} {best[name]:6.2f} s" for name in ("seconds", "module CPU", "server CPU"))
    notes = f"  left out: {best['omitted']}" if best["omitted"] else ""
    print(f"{title:22}{figures}{notes}", flush=True)


if __name__ == "__main__":
    main()

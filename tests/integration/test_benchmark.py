# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module page_size_benchmark on real servers, with very little data and for seconds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import CASES, PATIENCE, Sandbox

from ansible_collections.pagesmith.innodb.plugins.action.page_size_benchmark import own_scripts
from ansible_collections.pagesmith.innodb.plugins.module_utils import benchmark_host, scratch
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_values import MIB

HERE = Path(__file__).resolve().parent
MODULE = """
import sys
sys.path[:0] = [{tests!r}]
import conftest
conftest.pytest_configure()
from ansible.module_utils import basic
basic._ANSIBLE_ARGS, basic._ANSIBLE_PROFILE = sys.stdin.buffer.read(), "legacy"
from ansible_collections.pagesmith.innodb.plugins.modules import page_size_benchmark
page_size_benchmark.main()
"""
TINY = {
    "page_sizes": ["4k"],
    "pool_bytes": "24M",
    "data_to_pool": [0.5],
    "threads": [2],
    "rounds": 2,
    "seconds": 1,
    "warm_up_seconds": 1,
    "beside_busy": True,
}


def arguments(server: Sandbox, **others: Any) -> bytes:
    options = {
        "directory": str(server.base),
        "instance": {"defaults_file": str(server.option_file), "manager": "process", "socket": str(server.socket)},
        "scripts": own_scripts(),
        **TINY,
        **others,
    }
    return json.dumps({"ANSIBLE_MODULE_ARGS": options}).encode()


def start(given: bytes, *before: str) -> subprocess.Popen:
    """The module in a process of its own, as Ansible runs it. before: a command that runs it."""
    code = MODULE.format(tests=str(HERE.parent))
    command = [*before, sys.executable, "-c", code]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(given)
    process.stdin.close()
    process.stdin = None
    return process


def finish(process: subprocess.Popen) -> dict[str, Any]:
    out, err = process.communicate(timeout=PATIENCE)
    assert out, err.decode(errors="replace")
    return json.loads(out)


def left(server: Sandbox) -> list[str]:
    """Scratch directories in the sandbox."""
    return sorted(path.name for path in server.base.glob(f"{scratch.PREFIX}*"))


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    with Sandbox() as server:
        yield server


@pytest.fixture(scope="module")
def measured(shared: Sandbox) -> dict[str, Any]:
    before = shared.servers()
    result = finish(start(arguments(shared)))
    assert not result.get("failed"), result.get("msg")
    assert result["changed"] is False
    assert left(shared) == []
    assert shared.servers() == before
    return result["benchmark"]


def test_every_round_of_every_page_size_is_measured_in_turns(measured: dict[str, Any]) -> None:
    order = [(each["round"], each["variant"]) for each in measured["measurements"]]
    assert order == [(1, "4096"), (1, "16384"), (2, "4096"), (2, "16384")]
    for each in measured["measurements"]:
        assert each["transactions"] > 0 and each["transactions_per_second"] > 0
        assert each["latency_p95_ms"] > 0 and each["cpu_seconds_per_transaction"] > 0
        assert each["written_bytes_per_transaction"] > 0 and 0.5 < each["hit_ratio"] <= 1


def test_the_same_data_are_in_each(measured: dict[str, Any]) -> None:
    four, sixteen = measured["datasets"]
    assert four["units"] == sixteen["units"] and four["tables"] == sixteen["tables"] == 4
    assert min(four["bytes"], sixteen["bytes"]) > 8 << 20


def test_what_a_decision_needs_is_there(measured: dict[str, Any]) -> None:
    assert set(measured["page_sizes"]) == {"4096", "16384"} and measured["kind"] == "sysbench"
    for rate in measured["page_sizes"].values():
        assert rate["transactions_per_second"] > 0 and rate["spread"] >= 0
    assert measured["conclusion"].startswith("Data in the pool:")


def test_what_it_takes_to_repeat_it_is_there(measured: dict[str, Any]) -> None:
    assert any("--innodb-page-size=4096" in line for line in measured["commands"]["server 4096"])
    assert any(name.startswith("sysbench oltp_read_write prepare") for name in measured["commands"])
    assert measured["settings"]["innodb_flush_log_at_trx_commit"] == "1"
    assert measured["settings"]["innodb_buffer_pool_size"] == str(24 << 20)
    assert measured["machine"]["memory_bytes"] and measured["storage"]["file_system"]


OWN_LOADS = ["new_orders", "scans", "ledger", "sessions", "wide_rows", "large_objects"]


def test_own_loads_make_their_data_and_run(shared: Sandbox) -> None:
    """Each script fills its tables with several units and does transactions without errors."""
    result = finish(start(arguments(shared, loads=OWN_LOADS, page_sizes=["16k"], rounds=1, warm_up_seconds=0)))
    assert not result.get("failed"), result.get("msg")
    found = {each["load"]: each for each in result["benchmark"]["measurements"]}
    assert set(found) == set(OWN_LOADS)
    assert all(each["transactions"] > 0 and each["ignored_errors"] == 0 for each in found.values())
    assert found["new_orders"]["new_orders_per_minute"] > 0
    assert all(each["units"] > 1 for each in result["benchmark"]["datasets"])


def test_blocks_of_the_log_are_compared(shared: Sandbox) -> None:
    """At the page size of the host, with the load that writes; each server says which size it has."""
    loads = ["oltp_point_select", "oltp_write_only"]
    result = finish(start(arguments(shared, loads=loads, page_sizes=["16k"], log_write_ahead_bytes=[512, 4096], rounds=1)))
    assert not result.get("failed"), result.get("msg")
    found = result["benchmark"]["log_blocks"]
    (cell,) = found["figures"]
    assert cell["load"] == "oltp_write_only" and set(cell["variants"]) == {"512", "4096"}
    assert set(cell["verdicts"]) == {"4096"} and found["base"] == "512"
    assert "--innodb-log-write-ahead-size=4096" in result["benchmark"]["commands"]["server with blocks of 4096"]
    assert {each["load"] for each in result["benchmark"]["measurements"]} == set(loads)


LIMIT = 8 * MIB


def test_reads_and_writes_are_limited(shared: Sandbox) -> None:
    """By a control group that is gone afterwards."""
    given = arguments(shared, io_limit_bytes=str(LIMIT), data_to_pool=[2], page_sizes=["16k"], rounds=1, seconds=4, time_limit_seconds=0)
    result = finish(start(given))
    assert not result.get("failed"), result.get("msg")
    (found,) = result["benchmark"]["measurements"]
    assert 0 < found["read_bytes_per_second"] < 1.5 * LIMIT and found["written_bytes_per_second"] < 1.5 * LIMIT
    assert f"Reads and writes were limited to {LIMIT // MIB} MiB/s each." in result["benchmark"]["circumstances"]
    assert list(Path(benchmark_host.CGROUPS).rglob(f"{benchmark_host.CGROUP_PREFIX}*")) == []


def test_check_mode_starts_nothing(shared: Sandbox) -> None:
    before = shared.snapshot()
    result = finish(start(arguments(shared, _ansible_check_mode=True)))
    assert result["benchmark"] is None and "take about" in result["plan"][-1]
    assert shared.snapshot() == before


def test_the_hosts_own_statements_are_replayed(sandbox: Sandbox) -> None:
    sandbox.sql((CASES / "shop.sql").read_text())
    tables = sandbox.sql(
        "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables WHERE table_type='BASE TABLE' AND engine='InnoDB'"
        " AND table_schema NOT IN ('mysql', 'sys') AND table_rows > 10"
    ).split()
    log = sandbox.base / "general.log"
    sandbox.sql(f"SET GLOBAL general_log_file='{log}'; SET GLOBAL general_log=1")
    for table in tables:
        sandbox.sql(f"SELECT COUNT(*) FROM {table}; SELECT * FROM {table} LIMIT 3")
        sandbox.sql(f"DELETE FROM {table} WHERE 1=0; SELECT * FROM {table} LIMIT 1 FOR UPDATE")
    sandbox.sql("SET GLOBAL general_log=0")
    before = sandbox.sql("SHOW GLOBAL STATUS LIKE 'Com_delete'")
    result = finish(start(arguments(sandbox, loads=["replay"], replay_log=str(log), rounds=1, login_unix_socket=str(sandbox.socket))))
    assert not result.get("failed"), result.get("msg")
    assert sandbox.sql("SHOW GLOBAL STATUS LIKE 'Com_delete'") == before and left(sandbox) == []
    found = result["benchmark"]
    assert found["kind"] == "own workload" and set(found["page_sizes"]) == {"4096", "16384"}
    assert found["replay"]["statements"] == 2 * len(tables) and found["replay"]["answered_share"] == 1
    assert found["replay"]["left_out"]["it does more than read rows of tables of a user"] == len(tables)
    assert all(each["transactions"] > 0 for each in found["measurements"])


def test_without_statements_nothing_can_be_replayed(shared: Sandbox) -> None:
    result = finish(start(arguments(shared, loads=["replay"], login_unix_socket=str(shared.socket))))
    assert "in performance_schema none only reads rows" in result["msg"] and "replay_log" in result["next_step"]
    assert left(shared) == []

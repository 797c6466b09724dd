# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a benchmark says, and leaves, when something is missing, when the disk fills and when it is ended."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from disks import FILLER, fill, loop_device
from harness import PATIENCE, Sandbox, servers_below
from test_benchmark import arguments, finish, left, start

from ansible_collections.pagesmith.innodb.plugins.module_utils.option_values import MIB

LONG = {"seconds": 60, "rounds": 1}


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    with Sandbox() as server:
        yield server


def clients(base: Path) -> list[int]:
    """Processes of sysbench that are at work below a directory."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.path.basename(os.readlink(entry / "exe")) == "sysbench":
                found += [int(entry.name)] if os.readlink(entry / "cwd").startswith(f"{base}/") else []
        except OSError:
            continue
    return found


def until(condition: Callable[[], Any], what: str, process: subprocess.Popen | None = None) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process is None or process.poll() is None, f"it ended before {what}: {process.communicate()}"
        assert time.monotonic() < deadline, f"waited too long for: {what}"
        time.sleep(0.05)


def refusal(server: Sandbox, **others: Any) -> str:
    pids = server.servers()
    result = finish(start(arguments(server, **others)))
    assert result["failed"] and result["next_step"] and result["state_now"] == "Nothing was changed."
    assert left(server) == [] and server.servers() == pids
    return result["msg"]


def test_sysbench_is_missing(shared: Sandbox) -> None:
    # In a mount namespace where something that can't be run is in its place.
    hidden = ["unshare", "--mount", "sh", "-c", f'mount --bind /dev/null {shutil.which("sysbench")} && exec "$@"', "sh"]
    result = finish(start(arguments(shared), *hidden))
    assert "sysbench is not installed on the host" in result["msg"] and "apt install --no-remove sysbench" in result["next_step"]
    assert left(shared) == []


def test_too_little_memory(shared: Sandbox) -> None:
    assert "of memory, and" in refusal(shared, pool_bytes="900G", data_to_pool=[0.00001])


def test_too_little_space(shared: Sandbox) -> None:
    assert "are free" in refusal(shared, data_to_pool=[1000000], time_limit_seconds=0)


def test_limits_to_space_and_time(shared: Sandbox) -> None:
    assert "space_limit_bytes allows 100 MiB" in refusal(shared, space_limit_bytes="100M")
    assert "time_limit_seconds allows 5 s" in refusal(shared, time_limit_seconds=5)


def test_a_page_size_that_the_server_has_not(shared: Sandbox) -> None:
    assert "'2k' is no InnoDB page size" in refusal(shared, page_sizes=["2k"])


def test_beside_a_busy_server_nothing_is_done(shared: Sandbox) -> None:
    busy = subprocess.Popen(["mariadb", "--no-defaults", f"--socket={shared.socket}", "-e", "SELECT BENCHMARK(100000000000, MD5('a'))"])
    try:
        message = refusal(shared, beside_busy=False)
    finally:
        busy.kill()
        busy.wait()
        number = shared.sql("SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT BENCH%'")
        shared.sql(f"KILL {number}")
    assert "its server uses" in message and "beside_busy" in message


def test_told_to_end_it_leaves_nothing(shared: Sandbox) -> None:
    pids = shared.servers()
    process = start(arguments(shared, **LONG))
    until(lambda: clients(shared.base), "a load", process)
    process.send_signal(signal.SIGTERM)
    result = finish(process)
    assert "the module was told to end (SIGTERM)" in result["msg"]
    assert left(shared) == [] and clients(shared.base) == [] and shared.servers() == pids


def test_what_a_killed_benchmark_leaves_is_removed_by_the_next(shared: Sandbox) -> None:
    pids = shared.servers()
    process = start(arguments(shared, **LONG))
    until(lambda: clients(shared.base), "a load", process)
    process.kill()
    process.communicate()
    until(lambda: shared.servers() == pids and not clients(shared.base), "the end of its server and its client")
    assert len(left(shared)) == 1
    result = finish(start(arguments(shared, rounds=1)))
    assert not result.get("failed"), result.get("msg")
    assert left(shared) == [] and shared.servers() == pids


def test_a_disk_that_fills(shared: Sandbox) -> None:
    """Somebody else takes the space while the benchmark is at work."""
    with loop_device(1200 * MIB) as disk:
        disk.chmod(0o755)
        process = start(arguments(shared, directory=str(disk), **LONG))
        until(lambda: clients(disk), "a load", process)
        fill(disk)
        result = finish(process)
        assert "256 MiB are free on the file system" in result["msg"] and "What it had made was removed" in result["msg"]
        assert sorted(path.name for path in disk.iterdir()) == [FILLER, "lost+found"]
        assert servers_below(disk) == []

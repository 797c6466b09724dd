# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One measurement: the counters of a server and of its process, twice, and what passed in between for each transaction."""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

from .session import Session
from .workload_facts import Counters, difference, numbers, ratio

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
#: Fields of /proc/PID/stat after the name of the program: user and system time.
USER_TIME, SYSTEM_TIME = 11, 12


class Look(NamedTuple):
    """What was counted up to a moment: by the server, and by the kernel for its process (bytes at the block layer, CPU seconds)."""

    moment: float
    server: dict[str, float]
    read_bytes: int
    written_bytes: int
    cpu_seconds: float


def look(session: Session, pid: int) -> Look:
    status = {row["variable_name"].lower(): row["value"] for row in session.rows("SHOW GLOBAL STATUS")}
    read_bytes, written_bytes = process_io(pid)
    return Look(time.monotonic(), numbers(status), read_bytes, written_bytes, process_cpu(pid))


def process_io(pid: int) -> tuple[int, int]:
    """Bytes that a process has fetched from storage and sent to it."""
    with open(f"/proc/{pid}/io", encoding="ascii") as file:
        found = dict(line.split(": ") for line in file.read().splitlines())
    return int(found["read_bytes"]), int(found["write_bytes"])


def process_cpu(pid: int) -> float:
    """CPU seconds of a process with all its threads."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[USER_TIME]) + int(fields[SYSTEM_TIME])) / CLOCK_TICKS


def passed(before: Look, after: Look, transactions: float) -> dict[str, Any]:
    """What happened between two looks, in which so many transactions were done. Pure. Bytes, seconds, shares."""
    seconds = after.moment - before.moment
    counted: Counters = difference(after.server, before.server)
    read, written = after.read_bytes - before.read_bytes, after.written_bytes - before.written_bytes
    requests, misses = counted.get("innodb_buffer_pool_read_requests"), counted.get("innodb_buffer_pool_reads")
    cpu = after.cpu_seconds - before.cpu_seconds
    return {
        "read_bytes_per_second": ratio(read, seconds),
        "written_bytes_per_second": ratio(written, seconds),
        "read_bytes_per_transaction": ratio(read, transactions),
        "written_bytes_per_transaction": ratio(written, transactions),
        "log_bytes_per_transaction": ratio(counted.get("innodb_os_log_written"), transactions),
        "pages_read_per_transaction": ratio(counted.get("innodb_pages_read"), transactions),
        "pages_written_per_transaction": ratio(counted.get("innodb_pages_written"), transactions),
        "hit_ratio": None if misses is None or not requests else max(0.0, 1 - misses / requests),
        "cpu_seconds_per_transaction": ratio(cpu, transactions),
        "cpu_share": ratio(cpu, seconds),
    }

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The host of a benchmark: how busy it is, what it has left, what it is made of, and a limit to the I/O of a process."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from . import processes
from .benchmark_counters import process_cpu, process_io
from .errors import InnodbError
from .instance import Instance

BUSY_SAMPLE_SECONDS = 2.0
CGROUPS = "/sys/fs/cgroup"
CGROUP_PREFIX = "pagesmith-benchmark-"
CGROUP_REMEDY = "Leave io_limit_bytes out, or run it where cgroups can limit I/O"
DIRECT_BLOCK = 4096


class Business(NamedTuple):
    """cpu_share: of all processors. server_cpu: processors; server_bytes: per second."""

    cpu_share: float
    server_cpu: float
    server_bytes: float


def business(instance: Instance, seconds: float = BUSY_SAMPLE_SECONDS) -> Business:
    """What the host and its server do in some seconds."""
    pids = processes.servers_in(instance.datadir) if os.path.isdir(instance.datadir) else []
    busy, total = _processor_times()
    before = [_effort(pid) for pid in pids]
    time.sleep(seconds)
    busy_later, total_later = _processor_times()
    after = [_effort(pid) for pid in pids]
    cpu = sum(late[0] - early[0] for early, late in zip(before, after) if early and late)
    moved = sum(late[1] - early[1] for early, late in zip(before, after) if early and late)
    return Business((busy_later - busy) / max(total_later - total, 1), cpu / seconds, moved / seconds)


def _effort(pid: int) -> tuple[float, int] | None:
    try:
        return process_cpu(pid), sum(process_io(pid))
    except (FileNotFoundError, ProcessLookupError):
        return None


def _processor_times() -> tuple[int, int]:
    """Ticks of all processors at work, and all ticks."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(field) for field in file.readline().split()[1:9]]
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, sum(ticks)


def available_memory() -> int:
    """Bytes that can be had without swapping."""
    return _meminfo()["MemAvailable"]


def _meminfo() -> dict[str, int]:
    with open("/proc/meminfo", encoding="ascii") as file:
        pairs = [line.split(":") for line in file]
    return {name: int(value.split()[0]) * 1024 for name, value in pairs}


def machine() -> dict[str, Any]:
    """What figures depend on."""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        models = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return {
        "processors": os.cpu_count(),
        "processor": models[0] if models else platform.machine(),
        "memory_bytes": _meminfo()["MemTotal"],
        "kernel": platform.release(),
        "load_average": list(os.getloadavg()),
    }


def takes_direct_io(directory: str) -> bool:
    """Whether files there can be read and written past the file cache."""
    path = os.path.join(directory, "direct-io")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
    except OSError:
        return False
    else:
        os.close(descriptor)
        return True
    finally:
        if os.path.exists(path):
            os.unlink(path)


@contextmanager
def io_limit(pid: int, directory: str, bytes_per_second: int) -> Iterator[None]:
    """Limit what a process reads and what it writes, each, on the device of directory, by a control group that is removed in the end."""
    if not bytes_per_second:
        yield
        return
    hierarchy, files = _hierarchy(_device_of(directory), bytes_per_second)
    group = os.path.join(hierarchy, f"{CGROUP_PREFIX}{pid}")
    try:
        _sweep_groups(hierarchy)
        os.mkdir(group)
        for name, content in files.items():
            _write(os.path.join(group, name), content)
        _write(os.path.join(group, "cgroup.procs"), str(pid))
    except OSError as error:
        if os.path.isdir(group):
            os.rmdir(group)
        raise InnodbError(f"the I/O can't be limited: {error.strerror} ({error.filename})", remedy=CGROUP_REMEDY) from error
    try:
        yield
    finally:
        # A group with a process in it can't be removed; the process may outlive us here.
        if os.path.exists(f"/proc/{pid}"):
            _write(os.path.join(hierarchy, "cgroup.procs"), str(pid))
        os.rmdir(group)


def _hierarchy(device: str, limit: int) -> tuple[str, dict[str, str]]:
    """Where a control group for I/O is made, and the files that limit it; of both versions of control groups."""
    if os.path.exists(f"{CGROUPS}/cgroup.controllers"):
        return CGROUPS, {"io.max": f"{device} rbps={limit} wbps={limit}"}
    files = {f"blkio.throttle.{way}_bps_device": f"{device} {limit}" for way in ("read", "write")}
    return f"{CGROUPS}/blkio", files


def _device_of(directory: str) -> str:
    """Numbers of the whole disk under a directory: limits are not for partitions."""
    number = os.stat(directory).st_dev
    path = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"
    if not os.path.exists(path):
        raise InnodbError(f"no block device is seen under {directory}, so its I/O can't be limited", remedy=CGROUP_REMEDY)
    real = os.path.realpath(path)
    if os.path.exists(os.path.join(real, "partition")):
        real = os.path.dirname(real)
    with open(os.path.join(real, "dev"), encoding="ascii") as file:
        return file.read().strip()


def _sweep_groups(hierarchy: str) -> None:
    """Groups that killed runs have left, whose processes have ended."""
    for entry in os.scandir(hierarchy):
        if entry.name.startswith(CGROUP_PREFIX):
            with open(os.path.join(entry.path, "cgroup.procs"), encoding="ascii") as file:
                used = file.read().strip()
            if not used:
                os.rmdir(entry.path)


def _write(path: str, content: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(content)

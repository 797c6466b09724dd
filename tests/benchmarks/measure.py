# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Seconds of wall time and of CPU, memory, and what machine it was."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
MIB = 1 << 20


class Timer:
    """A block's wall time and the CPU time of some running servers, of ourselves, and of children that ended in it."""

    def __init__(self, servers: Iterable[int] = ()) -> None:
        self.servers = list(servers)
        self.wall = self.cpu = 0.0

    def __enter__(self) -> Timer:
        self._cpu, self._wall = self._cpu_seconds(), time.monotonic()
        return self

    def __exit__(self, *_details: object) -> None:
        self.wall = time.monotonic() - self._wall
        self.cpu = self._cpu_seconds() - self._cpu

    def _cpu_seconds(self) -> float:
        own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        used = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
        return used + sum(process_cpu_seconds(pid) for pid in self.servers)

    def as_dict(self) -> dict[str, float]:
        return {"wall": round(self.wall, 2), "cpu": round(self.cpu, 2)}


def process_cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def peak_memory_mib() -> float:
    """Largest resident set of this process so far (ru_maxrss would count what it was before it became this program)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) / 1024, 1)
    raise RuntimeError("this kernel does not tell the peak of the resident memory")


def load_average() -> float:
    return round(os.getloadavg()[0], 2)


def tablespace_mib(datadir: Path) -> int:
    return sum(path.stat().st_size for path in datadir.rglob("*.ibd")) // MIB


def machine(directory: str) -> dict[str, object]:
    """What the figures depend on; directory is where the data lies."""
    cpu = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    system = platform.freedesktop_os_release()["PRETTY_NAME"] if hasattr(platform, "freedesktop_os_release") else platform.system()
    file_system = subprocess.run(["df", "--output=fstype", directory], capture_output=True, text=True, check=True).stdout.split()[-1]
    return {
        "cores": os.cpu_count(),
        "processor": cpu[0] if cpu else platform.machine(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30), 1),
        "system": f"{system}, Linux {platform.release()}",
        "file_system": file_system,
        "load_average": load_average(),
    }


def version(program: str) -> str | None:
    """The first line of what a program says of itself, None when it is not installed."""
    path = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
    if not path:
        return None
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]

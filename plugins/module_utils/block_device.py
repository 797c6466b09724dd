# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The storage under a path, as far as the configuration of a server needs it: from /sys alone, without root."""

from __future__ import annotations

import os
from typing import Any


def storage(path: str, sys_root: str = "/sys") -> dict[str, Any]:
    """Free and total bytes of the file system, and device, rotational and sector sizes in bytes where /sys tells (else None)."""
    figures = os.statvfs(path)
    facts: dict[str, Any] = {
        "path": path,
        "free_bytes": figures.f_bavail * figures.f_frsize,
        "total_bytes": figures.f_blocks * figures.f_frsize,
        "device": None,
        "rotational": None,
        "logical_sector_bytes": None,
        "physical_sector_bytes": None,
    }
    number = os.stat(path).st_dev
    facts.update(device_facts(f"{os.major(number)}:{os.minor(number)}", sys_root))
    return facts


def device_facts(number: str, sys_root: str) -> dict[str, Any]:
    """What /sys says of the block device major:minor; a partition speaks through its disk. Empty when it is not there."""
    directory = os.path.realpath(os.path.join(sys_root, "dev/block", number))
    if not os.path.isdir(directory):
        return {}
    if os.path.exists(os.path.join(directory, "partition")):
        directory = os.path.dirname(directory)
    rotational = _number(directory, "queue/rotational")
    return {
        "device": os.path.basename(directory),
        "rotational": None if rotational is None else bool(rotational),
        "logical_sector_bytes": _number(directory, "queue/logical_block_size"),
        "physical_sector_bytes": _number(directory, "queue/physical_block_size"),
    }


def _number(directory: str, name: str) -> int | None:
    try:
        with open(os.path.join(directory, name), encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def memory_bytes() -> int:
    """Memory of the host, or what its control group may use when that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        limit = _number(os.path.dirname(name), os.path.basename(name))
        if limit:
            total = min(total, limit)
    return total

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The storage under a path, as far as the configuration of a server needs it: from /proc and /sys, without root; more with nvme-cli."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from . import device_stack, nvme
from .device_stack import SLOWEST_FIRST, Sys, number_of
from .mounts import Mount, mount_identity, mount_of, read_mounts


def storage(path: str, sys_root: str = "/sys", proc_root: str = "/proc") -> dict[str, Any]:
    """What /proc and /sys tell of the storage under one path; see storage_of."""
    return storage_of([path], sys_root=sys_root, proc_root=proc_root)[path]


def storage_of(
    paths: Iterable[str], run: nvme.Run | None = None, sys_root: str = "/sys", proc_root: str = "/proc"
) -> dict[str, dict[str, Any]]:
    """The storage under each path; of a path that is not there yet, where it would be made. Never fails: what is not known is None.

    Sizes are in bytes. free_bytes and free_inodes are what a user without privileges may take; inodes are None where the file system
    sets no limit. device is the kernel's name of what the file system lies on, for a partition that of its disk. The limits (sectors,
    optimal I/O, atomic writes) are those of that device as the kernel applies them; kind, model, scheduler, LBA formats and power-loss
    protection those of the disks beneath: the slowest kind, the formats and the protection that all have. notes: what could not be
    found out, and why.

    run: carries out a command; with it, nvme-cli is asked when it is installed.
    """
    host = _Host(run, sys_root, proc_root)
    return {path: host.storage(path) for path in paths}


class _Host:
    """Reads each mount table, stack and NVMe device once for all paths."""

    def __init__(self, run: nvme.Run | None, sys_root: str, proc_root: str) -> None:
        self.tree, self.proc_root = Sys(sys_root), proc_root
        self.mounts = read_mounts(proc_root)
        self.run, self.program = run, nvme.find_program() if run else None
        self.identities: dict[str, nvme.Identity] = {}

    def storage(self, path: str) -> dict[str, Any]:
        real = os.path.realpath(path)
        found = _existing(real)
        facts: dict[str, Any] = {"path": path, **_room(found)}
        mount = self.mount(real, found)
        facts.update(_mount_facts(mount))
        tops = self.tops(mount, found)
        stack = device_stack.walk(self.tree, tops, self.devices_of_file)
        notes = [note for disk in stack if disk.get("bus") == "nvme" for note in self.add_identity(disk)]
        if found is None:
            notes.append(f"{path} is out of reach for this user: its free space is not known")
        if not stack:
            notes.append(f"no block device is seen under {facts['file_system'] or 'this path'}")
        facts.update(device_facts(tops, stack), stack=stack, notes=notes)
        return facts

    def mount(self, real: str, found: str | None) -> Mount | None:
        return mount_of(real, self.mounts, mount_identity(found, self.proc_root) if found else None)

    def tops(self, mount: Mount | None, found: str | None) -> list[str]:
        """Directories in /sys of the devices a file system lies on."""
        number = mount.number if mount else _device_number(found) if found else ""
        if number and not number.startswith("0:"):
            directory = self.tree.find_number(number)
            return [directory] if directory else []
        # btrfs has a number of its own for every subvolume, but names one of its devices as the source.
        directory = self.tree.find_source(mount.source) if mount else None
        return self.tree.btrfs_members(directory) if directory else []

    def devices_of_file(self, file: str) -> list[str]:
        """The devices a loop device's file lies on; none when it is deleted, or named as another mount namespace sees it."""
        if not os.path.exists(file):
            return []
        real = os.path.realpath(file)
        return self.tops(self.mount(real, real), real)

    def add_identity(self, disk: dict[str, Any]) -> tuple[str, ...]:
        """Complete an NVMe disk with what it says of itself; the notes on what it did not say."""
        if self.run is None:
            return ()
        if self.program is None:
            return (f"nvme-cli is not installed: of the LBA formats of {disk['name']} only the one in use is known",)
        if disk["name"] not in self.identities:
            self.identities[disk["name"]] = nvme.identify(self.run, self.program, f"/dev/{disk['name']}")
        said = self.identities[disk["name"]]
        if said.lba_formats:
            disk.update(lba_formats=said.lba_formats, lba_formats_complete=True)
        if said.volatile_cache is not None:
            disk["power_loss_protection"] = device_stack.protected(said.volatile_cache, disk["virtual"])
        if disk["atomic_write_unit_bytes"] is None:
            disk["atomic_write_unit_bytes"] = said.atomic_write_unit_bytes
        return said.notes


def device_facts(tops: list[str], stack: list[dict[str, Any]]) -> dict[str, Any]:
    """One answer for a whole stack: limits of its top, properties of its disks."""
    by_name = {each["name"]: each for each in stack}
    queues = [device_stack.queue(top) for top in tops]
    names = [_speaker(os.path.basename(top), by_name) for top in tops]
    disks = [each for each in stack if each["type"] == "disk"]
    # A loop device whose file is out of sight ends the stack without a disk.
    whole = bool(disks) and all(each["on"] or each["type"] == "disk" for each in stack)
    # Before kernel 6.11 only the disk itself says how much it writes whole, which holds as long as nothing splits its writes.
    atomic = [by_name[name].get("atomic_write_unit_bytes", limits["atomic_write_unit_bytes"]) for name, limits in zip(names, queues)]
    virtual = [disk["virtual"] for disk in disks]
    return {
        "device": names[0] if names else None,
        "kind": _slowest(disks) if whole else "virtual" if stack else "unknown",
        "virtual": None if not stack else any(virtual) or not whole,
        "model": ", ".join(dict.fromkeys(disk["model"] for disk in disks if disk["model"])) or None,
        "rotational": _agreed(any, [each["rotational"] for each in queues]),
        "logical_sector_bytes": _agreed(max, [each["logical_sector_bytes"] for each in queues]),
        "physical_sector_bytes": _agreed(max, [each["physical_sector_bytes"] for each in queues]),
        "optimal_io_bytes": _agreed(max, [each["optimal_io_bytes"] for each in queues]),
        "atomic_write_unit_bytes": _agreed(min, atomic),
        "lba_formats": _common_formats(disks) if whole else None,
        "lba_formats_complete": whole and all(disk["lba_formats_complete"] for disk in disks),
        "power_loss_protection": _weakest([disk["power_loss_protection"] for disk in disks]) if whole else None,
        "scheduler": _same([each["scheduler"] for each in (disks or queues)]),
        "write_cache": _same([each["write_cache"] for each in (disks or queues)]),
    }


def _speaker(name: str, by_name: dict[str, dict[str, Any]]) -> str:
    """A partition speaks through its disk."""
    each = by_name[name]
    return each["on"][0] if each["type"] == "partition" and len(each["on"]) == 1 else name


def _slowest(disks: list[dict[str, Any]]) -> str:
    return min((disk["kind"] for disk in disks), key=SLOWEST_FIRST.index)


def _agreed(choose: Any, values: list[Any]) -> Any:
    return choose(values) if values and None not in values else None


def _same(values: list[Any]) -> Any:
    return values[0] if len(set(values)) == 1 else None


def _weakest(values: list[bool | None]) -> bool | None:
    if False in values:
        return False
    return None if None in values else True


def _common_formats(disks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The LBA formats that every disk has; in use where every disk uses it."""
    found = []
    for each in disks[0]["lba_formats"]:
        alike = [next((other for other in disk["lba_formats"] if _layout(other) == _layout(each)), None) for disk in disks]
        if None in alike:
            continue
        found.append(
            {
                **each,
                "index": _same([other["index"] for other in alike]),
                "in_use": all(other["in_use"] for other in alike),
                "relative_performance": _agreed(max, [other["relative_performance"] for other in alike]),
            }
        )
    return found


def _layout(lba_format: dict[str, Any]) -> tuple[Any, Any]:
    return lba_format["bytes"], lba_format["metadata_bytes"]


def _existing(path: str) -> str | None:
    """A path, or the nearest directory above it while it is not there; None when this user may not look."""
    while True:
        try:
            os.stat(path)
            return path
        except (FileNotFoundError, NotADirectoryError):
            path = os.path.dirname(path)
        except OSError:
            return None


def _room(path: str | None) -> dict[str, int | None]:
    names = ("free_bytes", "total_bytes", "free_inodes", "total_inodes")
    try:
        figures = os.statvfs(path) if path else None
    except OSError:
        figures = None
    if figures is None:
        return dict.fromkeys(names)
    limited = figures.f_files > 0
    inodes = (figures.f_favail, figures.f_files) if limited else (None, None)
    return dict(zip(names, (figures.f_bavail * figures.f_frsize, figures.f_blocks * figures.f_frsize, *inodes)))


def _mount_facts(mount: Mount | None) -> dict[str, Any]:
    """mount_root: the directory of the file system that is seen at the mount point, "/" unless it is a bind mount or a subvolume."""
    return {
        "file_system": mount.file_system if mount else None,
        "mount_point": mount.mount_point if mount else None,
        "mount_root": mount.root if mount else None,
        "mount_options": list(mount.options) if mount else [],
        "source": mount.source if mount else None,
    }


def _device_number(path: str) -> str:
    number = os.stat(path).st_dev
    return f"{os.major(number)}:{os.minor(number)}"


def numa_nodes(sys_root: str = "/sys") -> int | None:
    """How many nodes the memory of the host has; None where /sys does not tell."""
    try:
        names = os.listdir(os.path.join(sys_root, "devices/system/node"))
    except OSError:
        return None
    return sum(name.startswith("node") and name[len("node") :].isdigit() for name in names) or None


def memory_bytes() -> int:
    """Memory of the host, or what its control group may use when that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        limit = number_of(os.path.dirname(name), os.path.basename(name))
        if limit:
            total = min(total, limit)
    return total

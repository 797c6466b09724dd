# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The block devices beneath a file system, from what is mounted down to the disks, as /sys shows them to anybody."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, Callable

# By the beginning of the device mapper's uuid, which the program that made the mapping chose.
MAPPINGS = {"LVM-": "lvm", "CRYPT-": "crypt", "mpath-": "multipath", "part": "partition"}
# By the place of a disk in /sys; the first that is found in it.
BUSES = (
    ("nvme", r"/nvme\w*$"),
    ("virtio", r"/virtio\d+/|/vd[a-z]+$"),
    ("xen", r"/vbd-\d+/|/xvd[a-z]+$"),
    ("network", r"/(rbd|nbd|drbd)\d+$"),
    ("iscsi", r"/session\d+/"),
    ("fibre_channel", r"/rport-"),
    ("ata", r"/ata\d+/"),
    ("usb", r"/usb\d+/"),
    ("mmc", r"/mmcblk\d+$"),
    ("scsi", r"/host\d+/"),
    ("memory", r"/(zram|ram)\d+$"),
)
# What is behind these is the business of another machine, or of the hypervisor: they answer 1 or 0 for "rotational" without knowing.
VIRTUAL_BUSES = {"virtio", "xen", "network", "memory"}
VIRTUAL_MODELS = re.compile(
    r"\bQEMU\b|VMware|VBOX|Virtual[ -]Disk|^Msft\b|MSFT NVMe Accelerator|Google PersistentDisk|nvme_card-pd|Amazon Elastic Block Store"
    r"|Alibaba Cloud|ORACLE +BlockVolume|^(DO|HC) +Volume\b|\bXen|BHYVE",
    re.IGNORECASE,
)
# Controllers and arrays that may show flash as a rotating disk: their "not rotational" is true, their "rotational" may not be.
UNSURE_BUSES = {"iscsi", "fibre_channel"}
UNSURE_MODELS = re.compile(r"PERC|LOGICAL VOLUME|MegaRAID|\bMR9|AVAGO|ServeRAID|Smart Array|LSI +MR|Adaptec|\bRAID", re.IGNORECASE)
SLOWEST_FIRST = ("hdd", "unknown", "virtual", "ssd", "nvme")


def text_of(directory: str, name: str) -> str | None:
    """A file of /sys as text; none when it is not there, empty, or not to be read."""
    try:
        with open(os.path.join(directory, name), encoding="utf-8", errors="replace") as file:
            return file.read().strip() or None
    except OSError:
        return None


def number_of(directory: str, name: str) -> int | None:
    """A file of /sys as a number; none when it is not there or holds none."""
    text = text_of(directory, name)
    return int(text) if text and re.fullmatch(r"-?\d+", text) else None


class Sys:
    """The tree of /sys, whole or as a container sees it."""

    def __init__(self, root: str = "/sys") -> None:
        self.root = os.path.realpath(root)

    def find_number(self, number: str) -> str | None:
        """The directory of the device major:minor. Containers hide /sys/dev/block but not /sys/class/block."""
        directory = os.path.realpath(os.path.join(self.root, "dev/block", number))
        if os.path.isdir(directory):
            return directory
        return next((each for each in self._every() if text_of(each, "dev") == number), None)

    def find_name(self, name: str) -> str | None:
        for place in ("class/block", "block"):
            directory = os.path.realpath(os.path.join(self.root, place, name))
            if os.path.isdir(directory):
                return directory
        return None

    def find_source(self, source: str) -> str | None:
        """The directory of a mount's source (/dev/sda1, /dev/mapper/vg-mysql), whether or not its node is in /dev."""
        if not source.startswith("/dev/"):
            return None
        # "!" stands for the "/" in names such as cciss/c0d0.
        for path in (source, os.path.realpath(source)):
            directory = self.find_name(path[len("/dev/") :].replace("/", "!"))
            if directory:
                return directory
        mapping = os.path.basename(source)
        return next((each for each in self._every() if text_of(each, "dm/name") == mapping), None)

    def btrfs_members(self, directory: str) -> list[str]:
        """Every device of the btrfs that this device belongs to."""
        volumes = os.path.join(self.root, "fs/btrfs")
        for volume in _names(volumes):
            names = _names(os.path.join(volumes, volume, "devices"))
            if os.path.basename(directory) in names:
                return [found for found in map(self.find_name, names) if found]
        return [directory]

    def beneath(self, directory: str) -> list[str]:
        """The devices directly beneath one: the disk of a partition, the members of an array or a mapping."""
        if os.path.exists(os.path.join(directory, "partition")):
            return [os.path.dirname(directory)]
        found = []
        for name in _names(os.path.join(directory, "slaves")):
            target = os.path.realpath(os.path.join(directory, "slaves", name))
            found.append(target if os.path.isdir(target) else self.find_name(name))
        return [each for each in found if each]

    def bus(self, directory: str) -> str | None:
        place = "/" + os.path.relpath(directory, self.root)
        return next((bus for bus, pattern in BUSES if re.search(pattern, place)), None)

    def _every(self) -> Iterator[str]:
        for place in ("class/block", "block"):
            for name in _names(os.path.join(self.root, place)):
                directory = os.path.realpath(os.path.join(self.root, place, name))
                yield directory
                # Partitions of their own stand in class/block alone.
                yield from (os.path.join(directory, part) for part in _names(directory) if part.startswith(name))


def walk(tree: Sys, tops: list[str], backing: Callable[[str], list[str]]) -> list[dict[str, Any]]:
    """Every device from these directories down to the disks, each once, upper ones first.

    backing: the directories of the devices that a file lies on, for loop devices. `on` names the devices directly beneath; what has
    none is a disk, or a loop device whose file is out of sight.
    """
    found: dict[str, dict[str, Any]] = {}
    waiting = list(tops)
    while waiting:
        directory = waiting.pop(0)
        name = os.path.basename(directory)
        if name in found:
            continue
        file = text_of(directory, "loop/backing_file")
        below = backing(file) if file else tree.beneath(directory)
        found[name] = {
            "name": name,
            **_nature(directory, name),
            "on": [os.path.basename(each) for each in below],
            "size_bytes": _size(directory),
        }
        if found[name]["type"] == "disk":
            found[name].update(_disk(tree, directory))
        waiting = below + waiting
    return list(found.values())


def queue(directory: str) -> dict[str, Any]:
    """Limits of a device as the kernel applies them, in bytes; a partition has those of its disk."""
    if os.path.exists(os.path.join(directory, "partition")):
        directory = os.path.dirname(directory)
    rotational = number_of(directory, "queue/rotational")
    return {
        "rotational": None if rotational is None else bool(rotational),
        "logical_sector_bytes": number_of(directory, "queue/logical_block_size"),
        "physical_sector_bytes": number_of(directory, "queue/physical_block_size"),
        # Zero says that the device told none.
        "optimal_io_bytes": number_of(directory, "queue/optimal_io_size") or None,
        # Zero says that there is none; kernels before 6.11 do not have the file.
        "atomic_write_unit_bytes": number_of(directory, "queue/atomic_write_unit_max_bytes"),
        "scheduler": _scheduler(text_of(directory, "queue/scheduler")),
        "write_cache": text_of(directory, "queue/write_cache"),
    }


def _nature(directory: str, name: str) -> dict[str, Any]:
    """The type of a device, and the names it has beside the kernel's."""
    if os.path.exists(os.path.join(directory, "partition")):
        return {"type": "partition", "number": number_of(directory, "partition")}
    if os.path.isdir(os.path.join(directory, "dm")):
        made_by = text_of(directory, "dm/uuid") or ""
        kind = next((kind for prefix, kind in MAPPINGS.items() if made_by.startswith(prefix)), "dm")
        return {"type": kind, "mapping": text_of(directory, "dm/name")}
    if os.path.isdir(os.path.join(directory, "md")):
        return {"type": "md", "level": text_of(directory, "md/level")}
    if re.fullmatch(r"loop\d+", name):
        return {"type": "loop", "backing_file": text_of(directory, "loop/backing_file")}
    if _names(os.path.join(directory, "slaves")):
        # bcache and the like.
        return {"type": re.sub(r"\d+$", "", name)}
    return {"type": "disk"}


def _disk(tree: Sys, directory: str) -> dict[str, Any]:
    limits, bus = queue(directory), tree.bus(directory)
    vendor, model = text_of(directory, "device/vendor"), text_of(directory, "device/model") or text_of(directory, "device/name")
    title = " ".join(word for word in (vendor, model) if word)
    virtual = bus in VIRTUAL_BUSES or bool(VIRTUAL_MODELS.search(title))
    disk = {"bus": bus, "model": model, "virtual": virtual, **limits}
    disk["kind"] = _kind(bus, title, virtual, limits["rotational"])
    disk["lba_formats"] = _format_in_use(directory, limits) if bus == "nvme" else []
    disk["lba_formats_complete"] = bus != "nvme"
    disk["power_loss_protection"] = _survives_power_loss(directory, limits["write_cache"], virtual) if bus == "nvme" else None
    return disk


def _kind(bus: str | None, title: str, virtual: bool, rotational: bool | None) -> str:
    """NVMe is told by its protocol, whoever speaks it; everything else by its flag where that can be believed."""
    if bus == "nvme":
        return "nvme"
    if virtual:
        return "virtual"
    if rotational is None or (rotational and (bus in UNSURE_BUSES or UNSURE_MODELS.search(title))):
        return "unknown"
    return "hdd" if rotational else "ssd"


def _format_in_use(directory: str, limits: dict[str, Any]) -> list[dict[str, Any]]:
    """Of the formats of an NVMe namespace /sys knows the one in use."""
    sector = limits["logical_sector_bytes"]
    metadata = number_of(directory, "metadata_bytes")
    used = {"index": None, "bytes": sector, "metadata_bytes": metadata, "in_use": True, "relative_performance": None}
    return [used] if sector else []


def _survives_power_loss(directory: str, write_cache: str | None, virtual: bool) -> bool | None:
    """Whether what an NVMe device acknowledged outlives a loss of power; a cache that is written out on its own is not volatile.

    The kernel sets "fua" exactly for volatile caches, while an administrator may have overwritten what "write_cache" says.
    """
    volatile = number_of(directory, "queue/fua")
    if volatile is None or write_cache is None:
        return None
    return protected(bool(volatile) or write_cache == "write back", virtual)


def protected(volatile_cache: bool, virtual: bool) -> bool | None:
    """A virtual device speaks for itself and not for what is behind it: its word is taken only where it promises nothing."""
    if volatile_cache:
        return False
    return None if virtual else True


def _scheduler(text: str | None) -> str | None:
    """The one in brackets of "none [mq-deadline] kyber"; devices without a choice show a bare "none"."""
    chosen = re.search(r"\[([\w-]+)\]", text or "")
    return chosen.group(1) if chosen else text


def _size(directory: str) -> int | None:
    # In units of 512 bytes, whatever the sector.
    sectors = number_of(directory, "size")
    return None if sectors is None else sectors * 512


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []

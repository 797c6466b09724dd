# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which mount a path lies in, from /proc/self/mountinfo: bind mounts, subvolumes and mounts over mounts included."""

from __future__ import annotations

import os
import re
from typing import NamedTuple


class Mount(NamedTuple):
    """A line of mountinfo.

    number: major:minor of the file system; the major is 0 where no single block device carries it (overlay, btrfs, zfs, tmpfs, NFS).
    root: the directory of the file system that is seen at mount_point: not "/" for a bind mount or a subvolume.
    """

    identity: int
    number: str
    root: str
    mount_point: str
    options: tuple[str, ...]
    file_system: str
    source: str


def read_mounts(proc_root: str = "/proc") -> list[Mount]:
    """Every mount this process sees; none where /proc does not tell."""
    try:
        with open(os.path.join(proc_root, "self/mountinfo"), "rb") as file:
            return parse_mountinfo(os.fsdecode(file.read()))
    except OSError:
        return []


def parse_mountinfo(text: str) -> list[Mount]:
    """The lines of mountinfo (proc_pid_mountinfo(5)); a line that is not understood is left out."""
    found = []
    for line in text.split("\n"):
        before, separator, after = line.partition(" - ")
        # A number of optional fields stands between the options and the separator.
        first, last = before.split(" "), after.split(" ")
        if not separator or len(first) < 6 or len(last) < 3 or not first[0].isdigit():
            continue
        found.append(
            Mount(
                identity=int(first[0]),
                number=first[2],
                root=_decoded(first[3]),
                mount_point=_decoded(first[4]),
                options=_merged(first[5], last[2]),
                file_system=last[0],
                source=_decoded(last[1]),
            )
        )
    return found


def mount_of(path: str, mounts: list[Mount], identity: int | None = None) -> Mount | None:
    """The mount of a real path: the one with this identity, else the deepest mount point above the path, the youngest of several there."""
    for mount in mounts:
        if mount.identity == identity:
            return mount
    above = [mount for mount in mounts if path == mount.mount_point or path.startswith(mount.mount_point.rstrip("/") + "/")]
    return max(reversed(above), key=lambda mount: len(mount.mount_point), default=None)


def mount_identity(path: str, proc_root: str = "/proc") -> int | None:
    """The kernel's own word on the mount a path lies in: mount points alone mislead where one mount hides another."""
    try:
        # O_PATH asks for no permission on the file itself.
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with open(os.path.join(proc_root, "self/fdinfo", str(descriptor)), encoding="ascii") as file:
            line = re.search(r"^mnt_id:\s*(\d+)$", file.read(), re.MULTILINE)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return int(line.group(1)) if line else None


def _merged(of_mount: str, of_file_system: str) -> tuple[str, ...]:
    """The options of the mount, then those of the file system; it is writable only where both are."""
    both = list(dict.fromkeys(of_mount.split(",") + of_file_system.split(",")))
    if "ro" in both and "rw" in both:
        both = ["ro"] + [option for option in both if option not in ("ro", "rw")]
    return tuple(both)


def _decoded(field: str) -> str:
    r"""The kernel writes a space, tab, line feed and backslash as \040, \011, \012 and \134."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)

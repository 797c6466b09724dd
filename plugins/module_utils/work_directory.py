# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The work directory of an instance on the host: journal, lock, dump, and what private servers need."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import Any

from .durable import private_directory, remove_file, sync_directory, write_file
from .journal import Journal
from .processes import PRIVATE_SOCKETS

#: Enough for the records of a rollback and the option file.
RESERVE_BYTES = 1 << 20


class WorkDirectory:
    """Only root can list it; the server's group may pass through to the dump, which belongs to the server's user alone."""

    def __init__(self, base: str, instance_name: str) -> None:
        self.base = base
        self.path = os.path.join(base, instance_name)
        self.dump = os.path.join(self.path, "dump")
        self.reserve = os.path.join(self.path, "reserve")
        self.fence_file = os.path.join(self.path, "fence")
        self.journal = Journal(self.path)

    def create(self, gid: int) -> None:
        """Make the directory and its parents; those that exist are left as they are."""
        missing = []
        parent = self.base
        while not os.path.isdir(parent):
            missing.append(parent)
            parent = os.path.dirname(parent)
        for directory in reversed(missing):
            os.mkdir(directory, 0o711)
            os.chmod(directory, 0o711)
            sync_directory(os.path.dirname(directory))
        private_directory(self.path, 0, gid, 0o710)
        if not os.path.exists(self.reserve):
            write_file(self.reserve, bytes(RESERVE_BYTES), 0o600)

    def release_reserve(self) -> None:
        """Free the space that is kept for the case that the file system is full when a run must be put back."""
        remove_file(self.reserve)

    def run_dir(self, name: str) -> str:
        """Where a private server of this name keeps its temporary files."""
        return os.path.join(self.path, f"run-{name}")

    def snapshot_file(self, run: str) -> str:
        return os.path.join(self.path, f"content-{run}.json")

    def write_snapshot(self, run: str, snapshot: dict[str, Any]) -> None:
        """Keep census and digests of a migration for as long as it can be rolled back."""
        write_file(self.snapshot_file(run), json.dumps(snapshot, sort_keys=True, default=str), 0o600)

    def read_snapshot(self, run: str) -> dict[str, Any]:
        with open(self.snapshot_file(run), encoding="utf-8") as file:
            return json.load(file)

    def remove_snapshot(self, run: str) -> None:
        remove_file(self.snapshot_file(run))

    def remove_temporary(self) -> None:
        """Remove what private servers left when they and their starter were killed."""
        for name in os.listdir(self.path):
            if name.startswith("run-"):
                remove_run_dir(os.path.join(self.path, name))


def socket_directory(run_dir: str) -> str:
    """Where the socket of the private server with this directory lies, since the path of a socket must be short (108 bytes)."""
    return f"{PRIVATE_SOCKETS}{hashlib.sha256(os.fsencode(run_dir)).hexdigest()[:16]}"


def remove_run_dir(run_dir: str) -> None:
    """Remove what a private server has. The directory of the socket goes first: where it is left, the other still tells of it."""
    for path in (socket_directory(run_dir), run_dir):
        if os.path.isdir(path):
            shutil.rmtree(path)


def file_system_of(path: str) -> str:
    """The nearest directory above path, or path itself, that exists."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def free_bytes(path: str) -> int:
    figures = os.statvfs(file_system_of(path))
    return figures.f_bavail * figures.f_frsize


def passable(path: str, uid: int, gid: int) -> str | None:
    """The first directory on the way to path that this user may not pass; None when all that exist can be passed."""
    current = "/"
    for part in ["", *path.strip("/").split("/")]:
        current = os.path.join(current, part)
        if not os.path.isdir(current):
            return None
        status = os.stat(current)
        bit = 0o100 if status.st_uid == uid else 0o010 if status.st_gid == gid else 0o001
        if uid != 0 and not status.st_mode & bit:
            return current
    return None

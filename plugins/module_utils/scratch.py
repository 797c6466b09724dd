# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Directories for private throw-away servers: each is locked by who uses it, and what a killed one left is swept by the next."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from . import processes
from .errors import InnodbError
from .journal import locked_by_another
from .work_directory import remove_run_dir

PREFIX = "pagesmith-"
#: The file that tells a directory of ours from any other. Whoever uses the directory holds a lock on it.
MARKER = ".pagesmith-scratch"
RUN_DIRECTORY = "run"
STOP_SECONDS = 60


@contextmanager
def scratch_directory(parent: str) -> Iterator[str]:
    """A new directory in parent that everybody may pass through and only root can list; it is removed in the end.

    What killed users left in parent goes first.
    """
    with _alone_in(parent) as parent_descriptor:
        _sweep(parent)
        path = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
        lock = os.open(os.path.join(path, MARKER), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.chmod(path, 0o711)
        os.fsync(parent_descriptor)
    try:
        yield path
    finally:
        try:
            remove(path)
        finally:
            os.close(lock)


def sweep(parent: str) -> list[str]:
    """Remove the scratch directories in parent whose users were killed, with the servers that still run in them, and name them."""
    with _alone_in(parent):
        return _sweep(parent)


@contextmanager
def _alone_in(parent: str) -> Iterator[int]:
    """Nobody else makes or sweeps scratch directories in parent meanwhile, so that none is seen before it is locked."""
    try:
        descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InnodbError(f"no scratch directory can be made in {parent}: {error.strerror}", remedy="Name another directory") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _sweep(parent: str) -> list[str]:
    swept = []
    for entry in sorted(os.scandir(parent), key=lambda item: item.name):
        if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False) and _abandoned(entry.path):
            remove(entry.path)
            swept.append(entry.path)
    return swept


def _abandoned(path: str) -> bool:
    """Whether a directory carries our marker, belongs to us, and nobody holds its lock."""
    try:
        descriptor = os.open(os.path.join(path, MARKER), os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        # It is somebody else's, or was removed at this moment.
        return False
    try:
        return os.fstat(descriptor).st_uid == os.geteuid() and not locked_by_another(descriptor)
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    """End the servers in a scratch directory and delete it with all that belongs to them; the marker goes last.

    Its guard is the marker: nothing else is ever deleted.
    """
    marker = os.path.join(path, MARKER)
    if os.path.islink(path) or not os.path.isfile(marker):
        raise InnodbError(f"{path} is not a scratch directory, so it is not deleted", state="")
    _end_servers(path)
    for folder, names, _files in os.walk(path):
        if RUN_DIRECTORY in names:
            # With the directory of its socket, which lies elsewhere.
            remove_run_dir(os.path.join(folder, RUN_DIRECTORY))
            names.remove(RUN_DIRECTORY)
    for entry in list(os.scandir(path)):
        if entry.path == marker:
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
    os.unlink(marker)
    os.rmdir(path)


def _end_servers(path: str) -> None:
    """A server whose starter was killed is still shutting down, or still being initialised."""
    inside = os.path.realpath(path) + os.sep
    for pid in processes.server_pids():
        if f"{processes.working_directory(pid) or ''}{os.sep}".startswith(inside):
            try:
                processes.stop_pid(pid, STOP_SECONDS)
            except InnodbError:
                # Its files are thrown away with it.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files and directories whose changes survive a power cut: fsync of the content and of the directory entry."""

from __future__ import annotations

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)
SYNC_FILE_RANGE_WRITE = 2


def sync_file_system(path: str) -> None:
    """Wait until all that was written to the file system of path is on the disk: cheaper than an fsync of each of many files."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if LIBC.syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
    finally:
        os.close(descriptor)


def begin_write_back(path: str) -> None:
    """Have the system begin to write a finished file to the disk, without waiting for it: what fails is told by sync_file_system()."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if LIBC.sync_file_range(descriptor, ctypes.c_int64(0), ctypes.c_int64(0), SYNC_FILE_RANGE_WRITE) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
    finally:
        os.close(descriptor)


def sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_file(path: str, content: str | bytes, mode: int) -> None:
    """Write a file whole or not at all, with this mode and the owner of a file it replaces."""
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    temporary = f"{path}.new"
    if os.path.lexists(temporary):
        os.unlink(temporary)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            if os.path.exists(path):
                before = os.stat(path)
                os.fchown(file.fileno(), before.st_uid, before.st_gid)
            os.fsync(file.fileno())
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    sync_directory(os.path.dirname(path))


def remove_file(path: str) -> bool:
    """Remove a file; False when there was none."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    sync_directory(os.path.dirname(path))
    return True


def rename(source: str, target: str) -> None:
    """Rename within a file system; FileExistsError when the target exists, so that nothing is ever replaced."""
    if os.path.lexists(target):
        raise FileExistsError(f"{target} exists already")
    os.rename(source, target)
    sync_directory(os.path.dirname(source))
    sync_directory(os.path.dirname(target))


def private_directory(path: str, uid: int = 0, gid: int = 0, mode: int = 0o700) -> None:
    """Make a directory, or correct owner and mode of the one that is there; its parents must exist and are left alone."""
    if not os.path.isdir(path):
        os.mkdir(path, 0o700)
        sync_directory(os.path.dirname(path))
    os.chown(path, uid, gid)
    os.chmod(path, mode)

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""File systems of the tests' own: loop devices and bind mounts, taken away again at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import PATIENCE, make_base

FILLER = "filler"


def command(*words: str | Path) -> str:
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


@contextmanager
def loop_device(size_bytes: int, mount_at: Path | None = None) -> Iterator[Path]:
    """A fresh ext4 of this size, mounted; its image is sparse and takes no more room than what is written."""
    holder = make_base()
    place = mount_at or holder / "disk"
    image = holder / "image"
    try:
        with open(image, "wb") as file:
            file.truncate(size_bytes)
        command("mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=1,nodiscard", image)
        place.mkdir(exist_ok=True)
        with mounted(image, place, "-o", "loop"):
            yield place
    finally:
        shutil.rmtree(holder)


@contextmanager
def mounted(source: Path, place: Path, *options: str) -> Iterator[None]:
    command("mount", *options, source, place)
    try:
        yield
    finally:
        unmount(place)


def unmount(place: Path) -> None:
    """A server that was killed holds its files for a moment longer than it shows."""
    deadline = time.monotonic() + PATIENCE
    while True:
        done = subprocess.run(["umount", str(place)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        assert time.monotonic() < deadline, done.stderr
        time.sleep(0.1)


@contextmanager
def small_disk(size_bytes: int) -> Iterator[Path]:
    """A directory for a sandbox on a file system of its own."""
    with loop_device(size_bytes) as disk:
        disk.chmod(0o755)
        base = disk / "base"
        base.mkdir(mode=0o755)
        base.chmod(0o755)
        yield base


def fill(directory: Path) -> None:
    """Leave no byte free in the file system."""
    descriptor = os.open(directory / FILLER, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    size, block = os.fstat(descriptor).st_size, 1 << 30
    while block:
        try:
            os.posix_fallocate(descriptor, size, block)
            size += block
        except OSError:
            block //= 2
    os.close(descriptor)

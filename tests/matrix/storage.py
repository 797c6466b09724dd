# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""File systems on loop devices of a given sector size, which say of themselves whether they rotate."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

PARENT = "/var/tmp"
SIZE_BYTES = 3 << 30


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout.strip()


class Disk(NamedTuple):
    """A file system and the device it lies on."""

    mount: Path
    device: Path

    def set_rotating(self, rotating: bool) -> None:
        """Have the kernel say so; a loop device is asked of itself, whatever its file lies on."""
        Path("/sys/block", self.device.name, "queue/rotational").write_text("1" if rotating else "0")


@contextmanager
def loop_file_system(sector_bytes: int) -> Iterator[Disk]:
    """An ext4 of 3 GiB, of which the host keeps only what is written, on a loop device with sectors of this size."""
    with tempfile.TemporaryDirectory(prefix="pagesmith-matrix-", dir=PARENT) as directory:
        os.chmod(directory, 0o755)
        image, mount = Path(directory, "image"), Path(directory, "mount")
        mount.mkdir()
        with image.open("wb") as file:
            file.truncate(SIZE_BYTES)
        device = run("losetup", "--find", "--show", "--sector-size", str(sector_bytes), str(image))
        try:
            run("mkfs.ext4", "-q", device)
            run("mount", device, str(mount))
            try:
                yield Disk(mount, Path(device))
            finally:
                run("umount", str(mount))
        finally:
            run("losetup", "--detach", device)

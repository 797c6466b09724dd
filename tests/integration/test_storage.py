# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Storage facts of real file systems: loop devices of both sector sizes, bind mounts, mounts over mounts, overlays, other users."""

from __future__ import annotations

import errno
import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from disks import command, loop_device, mounted
from harness import USER, make_base

from ansible_collections.pagesmith.innodb.plugins.module_utils.block_device import storage, storage_of

ROOT = Path(__file__).resolve().parents[2]
DISK_BYTES = 64 << 20
# The look of a user without privileges, from a process of its own.
LOOK = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from conftest import pytest_configure
pytest_configure()
from ansible_collections.pagesmith.innodb.plugins.module_utils.block_device import storage
# What Python loads on first use may lie where the user cannot read.
storage(sys.argv[3])
os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[2]))
print(json.dumps(storage(sys.argv[3])))
"""


@pytest.fixture
def base() -> Iterator[Path]:
    directory = make_base()
    yield directory
    shutil.rmtree(directory)


@contextmanager
def disk(base: Path, sector_bytes: int, make: str) -> Iterator[tuple[Path, Path]]:
    """A loop device of this sector size and the place it is mounted at."""
    image, place = base / f"image{sector_bytes}", base / f"disk{sector_bytes}"
    with open(image, "wb") as file:
        file.truncate(DISK_BYTES if make == "mkfs.ext4" else 8 * DISK_BYTES)
    place.mkdir()
    device = Path(command("losetup", "--find", "--show", "--sector-size", str(sector_bytes), image).strip())
    try:
        command(make, "-q", device)
        with mounted(device, place):
            yield device, place
    finally:
        command("losetup", "--detach", device)


@pytest.mark.parametrize("make", ["mkfs.ext4", "mkfs.xfs"])
@pytest.mark.parametrize("sector_bytes", [512, 4096])
def test_sectors_of_loop_devices(base, sector_bytes, make):
    beneath = storage(str(base))
    with disk(base, sector_bytes, make) as (device, place):
        facts = storage(str(place / "to" / "be" / "made"))
        assert facts["file_system"] == make[len("mkfs.") :]
        assert (facts["mount_point"], facts["mount_root"], facts["source"]) == (str(place), "/", str(device))
        assert "rw" in facts["mount_options"]
        assert facts["device"] == device.name
        assert (facts["logical_sector_bytes"], facts["physical_sector_bytes"]) == (sector_bytes, sector_bytes)
        figures = os.statvfs(place)
        assert (facts["free_bytes"], facts["total_bytes"]) == (figures.f_bavail * figures.f_frsize, figures.f_blocks * figures.f_frsize)
        assert (facts["free_inodes"], facts["total_inodes"]) == (figures.f_favail, figures.f_files)
        # A file is as good as the disk it lies on.
        top = facts["stack"][0]
        assert (top["type"], top["backing_file"]) == ("loop", str(base / f"image{sector_bytes}"))
        assert top["on"] == [each["name"] for each in beneath["stack"][:1]]
        assert facts["stack"][1:] == beneath["stack"]
        assert facts["kind"] == beneath["kind"]


def test_bind_mount(base):
    bound = base / "bound here"
    bound.mkdir()
    with loop_device(DISK_BYTES) as place:
        (place / "mysql").mkdir()
        with mounted(place / "mysql", bound, "--bind"):
            command("mount", "-o", "remount,bind,ro,noatime", bound)
            facts = storage_of([str(bound), str(place)])
            there, here = facts[str(bound)], facts[str(place)]
            assert (there["mount_point"], there["mount_root"]) == (str(bound), "/mysql")
            assert {"ro", "noatime"} <= set(there["mount_options"])
            assert "rw" in here["mount_options"]
            assert there["stack"] == here["stack"]
            assert there["total_bytes"] == here["total_bytes"]


def test_a_mount_that_is_hidden_by_another(base):
    """The deepest mount point above the path is the wrong answer here: it cannot be reached any more."""
    parent = base / "srv"
    (parent / "mysql").mkdir(parents=True)
    with loop_device(DISK_BYTES, parent / "mysql"), mounted(Path("tmpfs"), parent, "-t", "tmpfs"):
        (parent / "mysql").mkdir()
        facts = storage(str(parent / "mysql"))
        assert (facts["file_system"], facts["mount_point"], facts["stack"]) == ("tmpfs", str(parent), [])


def test_overlay(base):
    """As in a container without a volume: a directory of the image cannot be renamed, so that it must be told from a plain disk."""
    lower, upper, work, place = (base / name for name in ("lower", "upper", "work", "merged"))
    for directory in (lower / "mysql", upper, work, place):
        directory.mkdir(parents=True)
    with mounted(Path("overlay"), place, "-t", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}"):
        with pytest.raises(OSError) as refusal:
            os.rename(place / "mysql", place / "mysql.old")
        assert refusal.value.errno == errno.EXDEV
        facts = storage(str(place / "mysql"))
        assert (facts["file_system"], facts["mount_point"], facts["device"]) == ("overlay", str(place), None)
        assert facts["notes"] == ["no block device is seen under overlay"]
        assert f"upperdir={upper}" in facts["mount_options"]
        assert facts["free_bytes"] > 0


def test_without_root(base):
    """Free space of a closed directory is not to be had; everything else is the same as for root."""
    with loop_device(DISK_BYTES) as place:
        (place / "open").mkdir()
        (place / "closed" / "mysql").mkdir(parents=True)
        (place / "closed").chmod(0o700)
        assert _look_as(USER, place / "open") == storage(str(place / "open"))
        closed = _look_as(USER, place / "closed" / "mysql")
        assert closed["free_bytes"] is None
        assert (closed["file_system"], closed["mount_point"], closed["device"]) == ("ext4", str(place), storage(str(place))["device"])
        assert closed["notes"] == [f"{place}/closed/mysql is out of reach for this user: its free space is not known"]


def _look_as(user: str, path: Path) -> dict:
    number = str(pwd.getpwnam(user).pw_uid)
    done = subprocess.run([sys.executable, "-c", LOOK, str(ROOT / "tests"), number, str(path)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)

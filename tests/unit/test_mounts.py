# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The mount a path lies in."""

from __future__ import annotations

import os

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.mounts import mount_identity, mount_of, parse_mountinfo, read_mounts

TABLE = r"""
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 27 8:1 / /srv rw,relatime shared:1 master:2 - xfs /dev/sda1 rw,inode64
31 27 8:1 /mysql /var/lib/mysql ro,noatime shared:1 - xfs /dev/sda1 rw,inode64
32 30 0:41 /@data /srv/a\040b\134c rw - btrfs /dev/mapper/vg-data rw,subvol=/@data
33 27 0:50 / /over rw - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w
34 27 8:17 / /srv rw - ext4 /dev/sdb1 rw
not a line
35 27 8:18 / /broken
"""


@pytest.fixture
def mounts():
    return parse_mountinfo(TABLE)


@pytest.mark.parametrize(
    ("path", "identity"),
    [
        ("/", 27),
        ("/etc", 27),
        ("/srvx", 27),
        ("/var/lib/mysql", 31),
        ("/var/lib/mysql/shop", 31),
        ("/var/lib/mysql2", 27),
        ("/srv/a b\\c/x", 32),
        ("/over/x", 33),
        # The younger of two mounts at one place hides the other.
        ("/srv/x", 34),
    ],
)
def test_deepest_mount_point(mounts, path, identity):
    assert mount_of(path, mounts).identity == identity


def test_the_kernel_knows_better(mounts):
    assert mount_of("/srv/x", mounts, 30).file_system == "xfs"
    assert mount_of("/srv/x", mounts, 99).identity == 34


def test_fields(mounts):
    bound, subvolume = mounts[2], mounts[3]
    assert (bound.number, bound.root, bound.mount_point, bound.source) == ("8:1", "/mysql", "/var/lib/mysql", "/dev/sda1")
    # Written to through another mount, but not through this one.
    assert bound.options == ("ro", "noatime", "inode64")
    assert (subvolume.root, subvolume.mount_point) == ("/@data", "/srv/a b\\c")
    assert [mount.file_system for mount in mounts] == ["ext4", "xfs", "xfs", "btrfs", "overlay", "ext4"]


def test_nothing_is_known(tmp_path):
    assert read_mounts(str(tmp_path)) == []
    assert mount_of("/srv", []) is None
    assert mount_identity(str(tmp_path / "missing")) is None
    assert mount_identity(str(tmp_path), str(tmp_path)) is None


def test_this_host(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    mounts = read_mounts()
    for path in ("/", "/proc", str(tmp_path)):
        found = mount_of(path, mounts, mount_identity(path))
        assert path.startswith(found.mount_point)
        assert found.identity == mount_identity(path)
    assert mount_of("/proc", mounts, mount_identity("/proc")).file_system == "proc"
    assert len(os.listdir("/proc/self/fd")) == before

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Storage under a path, on real trees of /sys of four Debian releases and on drawn ones."""

from __future__ import annotations

import json
import os
import shutil
from types import SimpleNamespace

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.block_device import memory_bytes, numa_nodes, storage, storage_of
from ansible_collections.pagesmith.innodb.tests.unit.hosts import CapturedHost, DrawnHost, install_nvme, mountinfo_line, run, unpack, write

MACHINES = ("qemu72-bullseye", "qemu72-bookworm", "qemu72-trixie", "qemu72-sid", "qemu10-trixie-atomic")
# Kernels since 6.11 tell how much a device writes whole; those since 6.13 also through md and dm.
ATOMIC = {
    "qemu72-bullseye": (None, None),
    "qemu72-bookworm": (None, None),
    "qemu72-trixie": (4096, 0),
    "qemu72-sid": (4096, 512),
    "qemu10-trixie-atomic": (131072, 0),
}
TYPES = {"disk": "disk", "part": "partition", "lvm": "lvm", "raid1": "md"}
FLASH = {"queue__rotational": 0, "queue__logical_block_size": 512, "queue__physical_block_size": 4096}
DISK = {**FLASH, "queue__rotational": 1}
SATA = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block"
NVME = "pci0000:00/0000:00:02.0/nvme/nvme0"


@pytest.fixture(scope="module", params=MACHINES)
def machine(request, tmp_path_factory):
    return CapturedHost(unpack(request.param, tmp_path_factory.mktemp("host")))


@pytest.fixture
def drawn(tmp_path):
    return DrawnHost(tmp_path)


def look(host, path, run=None):
    return storage_of([path], run, str(host.sys), str(host.proc))[path]


def test_file_systems_as_findmnt_says(machine):
    for target, mount in machine.mounts.items():
        facts = look(machine, f"{target}/data/ibdata1")
        assert facts["mount_point"] == target
        assert facts["file_system"] == mount["fstype"]
        assert ",".join(facts["mount_options"]) == mount["options"]
        assert facts["source"] == mount["source"]
        assert facts["mount_root"] == "/"


def test_devices_as_lsblk_says(machine):
    tops = {each["mountpoint"]: each for each in machine.lsblk.values() if each["mountpoint"]}
    assert set(tops) == set(machine.mounts)
    for target, top in tops.items():
        facts = look(machine, target)
        told = machine.lsblk[top["kname"]]
        assert facts["logical_sector_bytes"] == told["log-sec"]
        assert facts["physical_sector_bytes"] == told["phy-sec"]
        assert facts["rotational"] == told["rota"]
        for device in facts["stack"]:
            told = machine.lsblk[device["name"]]
            assert device["type"] == TYPES[told["type"]]
            if device["type"] == "disk":
                assert device["on"] == []
                assert device["model"] == told["model"]
                assert device["scheduler"] == told["sched"]


def test_stacks(machine):
    facts = look(machine, "/srv/mysql")
    members = sorted(machine.disk(serial) for serial in ("NVRAID1", "NVRAID2"))
    assert [(each["name"], each["on"]) for each in facts["stack"][:2]] == [("dm-0", ["md0"]), ("md0", members)]
    assert facts["stack"][0]["mapping"] == "vg0-mysql"
    assert facts["stack"][1]["level"] == "raid1"
    assert [each["name"] for each in facts["stack"][2:]] == members
    assert (facts["device"], facts["kind"], facts["model"], facts["scheduler"]) == ("dm-0", "nvme", "QEMU NVMe Ctrl", "none")

    facts = look(machine, "/srv/sata")
    assert [(each["name"], each["type"], each["on"]) for each in facts["stack"]] == [("sdb2", "partition", ["sdb"]), ("sdb", "disk", [])]
    assert (facts["device"], facts["kind"], facts["virtual"], facts["model"]) == ("sdb", "ssd", False, "FAKESSD")
    assert facts["scheduler"] == "mq-deadline"
    # A disk without formats to choose from, whose cache says nothing on what protects it.
    assert (facts["lba_formats"], facts["lba_formats_complete"], facts["power_loss_protection"]) == ([], True, None)


@pytest.mark.parametrize(
    ("serial", "kind", "virtual"),
    [("NV512E", "nvme", True), ("NV4KN", "nvme", True), ("VDATA", "virtual", True), ("SCSIHDD", "virtual", True)],
)
def test_kinds(machine, serial, kind, virtual):
    facts = look(machine, machine.mount(serial))
    assert (facts["kind"], facts["virtual"], facts["device"]) == (kind, virtual, machine.disk(serial))


def test_atomic_writes(machine):
    direct, through_lvm = ATOMIC[machine.root.name]
    assert look(machine, machine.mount("NV4KN"))["atomic_write_unit_bytes"] == direct
    assert look(machine, "/srv/mysql")["atomic_write_unit_bytes"] == through_lvm


def test_without_nvme_cli(machine):
    facts = look(machine, machine.mount("NV4KN"))
    assert [(each["bytes"], each["in_use"]) for each in facts["lba_formats"]] == [(4096, True)]
    assert not facts["lba_formats_complete"]
    # The emulated device says that its cache is volatile.
    assert facts["power_loss_protection"] is False
    assert facts["notes"] == []


def test_with_nvme_cli(machine, tmp_path, monkeypatch):
    install_nvme(tmp_path, machine.root / "cmd")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for serial, sector in (("NV512E", 512), ("NV4KN", 4096), ("NV512N", 4096)):
        facts = look(machine, machine.mount(serial), run)
        formats = facts["lba_formats"]
        assert [(each["index"], each["bytes"], each["metadata_bytes"]) for each in formats] == [
            (row * 4 + column, size, metadata) for row, size in enumerate((512, 4096)) for column, metadata in enumerate((0, 8, 16, 64))
        ]
        assert [(each["bytes"], each["metadata_bytes"]) for each in formats if each["in_use"]] == [(sector, 0)]
        assert {each["relative_performance"] for each in formats} == {0}
        assert facts["lba_formats_complete"]
        assert facts["logical_sector_bytes"] == sector
        assert facts["power_loss_protection"] is False
        # On kernels that tell it themselves nvme-cli's figures are the same, on older ones they are all there is.
        expected = 131072 if (machine.root.name, serial) == ("qemu10-trixie-atomic", "NV4KN") else sector
        assert facts["atomic_write_unit_bytes"] == expected
        assert facts["notes"] == []
    mirror = look(machine, "/srv/mysql", run)
    assert [each["bytes"] for each in mirror["lba_formats"] if each["in_use"]] == [512]
    assert len(mirror["lba_formats"]) == 8


def test_nvme_cli_that_refuses_leaves_a_note(machine, tmp_path, monkeypatch):
    (tmp_path / "nvme").write_text("#!/bin/sh\necho 'identify namespace: Permission denied' >&2\nexit 1\n")
    (tmp_path / "nvme").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    place = machine.mount("NV4KN")
    facts, without = look(machine, place, run), look(machine, place)
    notes = facts["notes"]
    # The room on the disk changes at any time.
    same = set(facts) - {"notes", "free_bytes", "free_inodes"}
    assert {key: facts[key] for key in same} == {key: without[key] for key in same}
    assert without["notes"] == []
    name = machine.disk("NV4KN")
    assert notes[0] == f"nvme id-ns /dev/{name} gave nothing: identify namespace: Permission denied"
    assert len(notes) == 2


@pytest.mark.parametrize("hidden", [["dev/block"], ["dev/block", "class/block"]])
def test_a_container_hides_parts_of_sys(machine, tmp_path, hidden):
    root = tmp_path / "sys"
    shutil.copytree(machine.sys, root, symlinks=True)
    for name in hidden:
        shutil.rmtree(root / name)
        (root / name).mkdir()
    for target in machine.mounts:
        masked = storage(target, str(root), str(machine.proc))
        whole = storage(target, str(machine.sys), str(machine.proc))
        # Free space moves beneath a running test.
        assert {**masked, "free_bytes": 0, "free_inodes": 0} == {**whole, "free_bytes": 0, "free_inodes": 0}


def test_no_sys_at_all(machine, tmp_path):
    facts = storage("/srv/mysql", str(tmp_path), str(machine.proc))
    assert facts["file_system"] == "xfs"
    assert facts["device"] is facts["rotational"] is facts["logical_sector_bytes"] is facts["power_loss_protection"] is None
    assert (facts["kind"], facts["stack"]) == ("unknown", [])
    assert facts["notes"] == ["no block device is seen under xfs"]


def test_loop_device_and_bind_mount(tmp_path):
    root = unpack("host-loop", tmp_path)
    top = json.loads((root / "findmnt-real-O.json").read_text())["filesystems"][0]
    write(root / "proc/self/mountinfo", "".join(map(mountinfo_line, [top, *top["children"]])))
    host = SimpleNamespace(sys=root / "sys", proc=root / "proc")
    facts = look(host, "/srv/bed/mnt/d4ke/data")
    assert (facts["file_system"], facts["device"]) == ("xfs", "loop0")
    assert (facts["logical_sector_bytes"], facts["physical_sector_bytes"]) == (4096, 4096)
    # The file is on no file system of this host.
    assert facts["kind"] == "virtual"
    assert [(each["type"], each["backing_file"]) for each in facts["stack"]] == [("loop", "/srv/bed/loop/d4k.img")]
    facts = look(host, "/run/netns/mysql")
    assert (facts["mount_point"], facts["mount_root"], facts["device"], facts["kind"]) == ("/run/netns", "/run/netns", "vda", "virtual")
    assert facts["mount_options"] == top["options"].split(",")


@pytest.mark.parametrize(
    ("file_system", "source"), [("overlay", "overlay"), ("tmpfs", "tmpfs"), ("zfs", "tank/mysql"), ("nfs4", "nas:/export"), ("fuse.x", "x")]
)
def test_file_systems_without_a_block_device(drawn, file_system, source):
    drawn.device("sda", "8:0", SATA, **FLASH)
    drawn.mount("8:0", "/", "ext4", "/dev/sda")
    drawn.mount("0:55", "/srv/data", file_system, source)
    facts = look(drawn, "/srv/data/mysql")
    assert (facts["file_system"], facts["mount_point"], facts["device"], facts["kind"]) == (file_system, "/srv/data", None, "unknown")
    assert facts["notes"] == [f"no block device is seen under {file_system}"]


def test_btrfs_subvolume_on_two_devices(drawn):
    drawn.device("sda", "8:0", SATA, **FLASH)
    drawn.device("sdb", "8:16", SATA, **{**FLASH, "queue__logical_block_size": 4096})
    for name in ("sda", "sdb"):
        members = drawn.sys / "fs/btrfs/1234-5678/devices"
        members.mkdir(parents=True, exist_ok=True)
        (members / name).symlink_to(drawn.sys / "class/block" / name)
    drawn.mount("0:41", "/srv/data", "btrfs", "/dev/sda", root="/@mysql")
    facts = look(drawn, "/srv/data")
    assert (facts["file_system"], facts["mount_root"], facts["device"], facts["kind"]) == ("btrfs", "/@mysql", "sda", "ssd")
    assert [each["name"] for each in facts["stack"]] == ["sda", "sdb"]
    assert facts["logical_sector_bytes"] == 4096


def test_btrfs_on_a_mapping_without_its_node(drawn):
    drawn.device("sda", "8:0", SATA, **FLASH)
    drawn.device("dm-3", "252:3", on=["sda"], dm__uuid="CRYPT-LUKS2-1234-data", dm__name="no-such-mapping", **FLASH)
    drawn.mount("0:41", "/srv/data", "btrfs", "/dev/mapper/no-such-mapping")
    facts = look(drawn, "/srv/data")
    assert [(each["name"], each["type"]) for each in facts["stack"]] == [("dm-3", "crypt"), ("sda", "disk")]


@pytest.mark.parametrize(
    ("uuid", "expected"),
    [
        ("LVM-abc", "lvm"),
        ("CRYPT-PLAIN-x", "crypt"),
        ("mpath-3600", "multipath"),
        ("part1-mpath-3600", "partition"),
        ("", "dm"),
        ("X", "dm"),
    ],
)
def test_mappings(drawn, uuid, expected):
    drawn.device("sda", "8:0", SATA, **FLASH)
    drawn.device("dm-0", "252:0", on=["sda"], dm__uuid=uuid, dm__name="name", **FLASH)
    drawn.mount("252:0", "/srv/data", "ext4", "/dev/mapper/name")
    assert look(drawn, "/srv/data")["stack"][0]["type"] == expected


def test_an_array_is_as_slow_as_its_slowest_member(drawn):
    drawn.device("nvme0n1", "259:0", NVME, **FLASH)
    drawn.device("sda", "8:0", SATA, **DISK, device__model="ST4000")
    drawn.device("md1", "9:1", on=["nvme0n1", "sda"], md__level="raid1", **DISK)
    drawn.mount("9:1", "/srv/data", "ext4", "/dev/md1")
    facts = look(drawn, "/srv/data")
    assert (facts["kind"], facts["device"], facts["rotational"]) == ("hdd", "md1", True)
    # What holds for one member alone holds not for the array.
    assert (facts["lba_formats"], facts["power_loss_protection"]) == ([], None)


@pytest.mark.parametrize(
    ("place", "vendor", "model", "rotational", "expected"),
    [
        (SATA, "ATA", "SAMSUNG MZ7L3480", 0, "ssd"),
        (SATA, "ATA", "ST4000NM0035", 1, "hdd"),
        (SATA, "ATA", "QEMU HARDDISK", 1, "virtual"),
        (SATA, "VMware", "Virtual disk", 1, "virtual"),
        (SATA, "Msft", "Virtual Disk", 0, "virtual"),
        (SATA, "HC", "Volume", 1, "virtual"),
        (SATA, "DELL", "PERC H730P Mini", 1, "unknown"),
        (SATA, "DELL", "PERC H730P Mini", 0, "ssd"),
        (SATA, "HP", "LOGICAL VOLUME", 1, "unknown"),
        ("platform/host3/session1/target3:0:0/3:0:0:1/block", "LIO-ORG", "disk1", 1, "unknown"),
        ("pci0000:00/0000:00:0a.0/virtio2/host0/target0:0:0/0:0:0:0/block", "SOME", "THING", 1, "virtual"),
    ],
)
def test_flags_that_are_believed_and_flags_that_are_not(drawn, place, vendor, model, rotational, expected):
    drawn.device("sda", "8:0", place, device__vendor=vendor, device__model=model, **{**FLASH, "queue__rotational": rotational})
    drawn.mount("8:0", "/srv/data", "ext4", "/dev/sda")
    facts = look(drawn, "/srv/data")
    assert (facts["kind"], facts["rotational"], facts["model"]) == (expected, bool(rotational), model)


@pytest.mark.parametrize(("name", "bus", "kind"), [("pmem0", None, "ssd"), ("zram0", "memory", "virtual"), ("rbd3", "network", "virtual")])
def test_devices_without_a_controller(drawn, name, bus, kind):
    drawn.device(name, "251:0", **FLASH)
    drawn.mount("251:0", "/srv/data", "ext4", f"/dev/{name}")
    facts = look(drawn, "/srv/data")
    assert (facts["stack"][0]["bus"], facts["kind"]) == (bus, kind)


def test_mirrored_nvme_has_what_both_members_have(drawn, tmp_path, monkeypatch):
    """One member knows 4096 bytes as its worst format and uses it, the other as its best and does not."""
    formats = {"nvme0n1": (1, [(9, 0), (12, 2)]), "nvme1n1": (1, [(12, 0), (9, 1), (13, 0)])}
    for number, (name, (used, listed)) in enumerate(formats.items()):
        drawn.device(name, f"259:{number}", f"pci0000:00/0000:00:0{number}.0/nvme/nvme{number}", **FLASH)
        answer = {"flbas": used, "lbafs": [{"ms": 0, "ds": bits, "rp": worth} for bits, worth in listed]}
        write(tmp_path / f"nvme-id-ns-{name}.json", json.dumps(answer))
        write(tmp_path / f"nvme-id-ctrl-nvme{number}.json", json.dumps({"vwc": 6 + number}))
    install_nvme(tmp_path, tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    drawn.device("md0", "9:0", on=list(formats), md__level="raid1", **FLASH)
    drawn.mount("9:0", "/srv/data", "ext4", "/dev/md0")
    facts = look(drawn, "/srv/data", run)
    assert facts["lba_formats"] == [
        {"index": None, "bytes": 512, "metadata_bytes": 0, "in_use": False, "relative_performance": 1},
        {"index": None, "bytes": 4096, "metadata_bytes": 0, "in_use": False, "relative_performance": 2},
    ]
    assert [disk["power_loss_protection"] for disk in facts["stack"][1:]] == [True, False]
    assert facts["power_loss_protection"] is False
    # Whatever the members write whole, an array may split.
    assert facts["atomic_write_unit_bytes"] is None


@pytest.mark.parametrize(
    ("model", "fua", "write_cache", "expected"),
    [
        ("SAMSUNG MZQL2", 0, "write through", True),
        ("Samsung SSD 990", 1, "write back", False),
        # An administrator wrote to write_cache; the device is as it was.
        ("Samsung SSD 990", 1, "write through", False),
        # What the hypervisor does with the data is not known.
        ("Amazon Elastic Block Store", 0, "write through", None),
        ("QEMU NVMe Ctrl", 1, "write back", False),
    ],
)
def test_power_loss_protection(drawn, model, fua, write_cache, expected):
    drawn.device("nvme0n1", "259:0", NVME, device__model=model, queue__fua=fua, queue__write_cache=write_cache, **FLASH)
    drawn.mount("259:0", "/srv/data", "ext4", "/dev/nvme0n1")
    assert look(drawn, "/srv/data")["power_loss_protection"] is expected


def test_a_path_that_is_to_be_made(tmp_path):
    path = str(tmp_path / "not" / "there")
    there, here = storage(path), storage(str(tmp_path))
    assert there["path"] == path
    assert {**there, "path": 0, "free_bytes": 0, "free_inodes": 0} == {**here, "path": 0, "free_bytes": 0, "free_inodes": 0}
    assert here["free_bytes"] > 0


def test_keys_are_the_paths_that_were_asked_for(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("/proc")
    found = storage_of([str(link), "/proc/", str(tmp_path)])
    assert list(found) == [str(link), "/proc/", str(tmp_path)]
    assert [found[path]["file_system"] for path in (str(link), "/proc/")] == ["proc", "proc"]


def test_memory_is_at_most_what_the_host_has():
    with open("/proc/meminfo", encoding="ascii") as file:
        total = int(file.readline().split()[1]) * 1024
    assert 0 < memory_bytes() <= total


def test_nodes_of_the_memory(tmp_path):
    assert numa_nodes(str(tmp_path)) is None
    for name in ("node0", "node1", "has_memory", "power"):
        (tmp_path / "devices/system/node" / name).mkdir(parents=True)
    assert numa_nodes(str(tmp_path)) == 2

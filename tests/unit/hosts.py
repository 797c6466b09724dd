# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Hosts for the tests of storage: real trees of /sys with what the host's own tools say of them, and small trees made by hand."""

from __future__ import annotations

import json
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).resolve().parent / "fixtures"
# Formatted to sectors of 4096 bytes after everything but its /sys was taken.
REFORMATTED = "NV512N"
NVME_PROGRAM = """#!/bin/sh
device=${2#/dev/}
[ "$1" = id-ctrl ] && device=${device%n1}
cat "ANSWERS/nvme-$1-$device.json"
"""


def run(command: Sequence[str]) -> tuple[int, str, str]:
    done = subprocess.run(list(command), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def unpack(name: str, place: Path) -> Path:
    with tarfile.open(FIXTURES / f"{name}.tar.gz") as archive:
        # Known to Pythons since 2023, who warn or refuse without it.
        safely = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}
        archive.extractall(place, **safely)
    return place / name


def install_nvme(directory: Path, answers: Path) -> None:
    """An nvme-cli that gives the answers a real one gave, from files."""
    write(directory / "nvme", NVME_PROGRAM.replace("ANSWERS", str(answers)))
    (directory / "nvme").chmod(0o755)


class CapturedHost:
    """A virtual machine: sys (its /sys), proc (a /proc with its mounts), lsblk (device -> what lsblk says), mounts (what findmnt says)."""

    def __init__(self, root: Path) -> None:
        self.root, self.sys, self.proc = root, root / "sys", root / "proc"
        self.lsblk = {each["kname"]: each for each in _flat(self.answer("lsblk-J-O.json")["blockdevices"])}
        self.mounts = {each["target"]: each for each in _flat(self.answer("findmnt-J-real-O.json")["filesystems"])}
        write(self.proc / "self/mountinfo", "".join(map(mountinfo_line, self.mounts.values())))
        for name, device in self.lsblk.items():
            # The files that were not taken with the tree; virtio disks have no model.
            inner = self.sys / "block" / name / "device"
            if inner.is_dir() and device["model"]:
                write(inner / "model", f"{device['model']:<16}\n")
                write(inner / "vendor", device["vendor"] or "")
        self._answer_after_format()

    def answer(self, name: str) -> Any:
        return json.loads((self.root / "cmd" / name).read_text())

    def disk(self, serial: str) -> str:
        return next(name for name, each in self.lsblk.items() if each["serial"] == serial)

    def mount(self, serial: str) -> str:
        return next(each["mountpoint"] for each in self.lsblk.values() if each["serial"] == serial)

    def _answer_after_format(self) -> None:
        lines = (self.root / "cmd/nvme-format-4k.txt").read_text().split("\n")
        name = self.disk(REFORMATTED)
        write(self.root / f"cmd/nvme-id-ns-{name}.json", "\n".join(lines[1 : lines.index("}") + 1]))
        self.lsblk[name].update({"log-sec": 4096, "phy-sec": 4096})


def mountinfo_line(mount: dict[str, Any]) -> str:
    return (
        f"{mount['id']} 1 {mount['maj:min']} {mount['fsroot']} {mount['target']} {mount['vfs-options']}"
        f" {mount['opt-fields'] or ''}{' ' if mount['opt-fields'] else ''}- {mount['fstype']} {mount['source'].partition('[')[0]}"
        f" {mount['fs-options']}\n"
    )


def _flat(devices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for device in devices for each in (device, *_flat(device.get("children", [])))]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


class DrawnHost:
    """A small tree of /sys, device by device, and the mounts upon it."""

    def __init__(self, root: Path) -> None:
        self.sys, self.proc = root / "sys", root / "proc"
        (self.sys / "class/block").mkdir(parents=True)
        self.lines: list[str] = []

    def device(self, name: str, number: str, place: str = "virtual/block", on: Sequence[str] = (), **files: Any) -> None:
        """files: contents by path, "__" for "/" in a keyword."""
        directory = self.sys / "devices" / place / name
        write(directory / "dev", f"{number}\n")
        for path, text in files.items():
            write(directory / path.replace("__", "/"), f"{text}\n")
        for member in on:
            (directory / "slaves").mkdir(exist_ok=True)
            (directory / "slaves" / member).symlink_to((self.sys / "class/block" / member).resolve())
        (self.sys / "class/block" / name).symlink_to(directory)

    def mount(self, number: str, mount_point: str, file_system: str, source: str, root: str = "/") -> None:
        self.lines.append(f"{len(self.lines) + 20} 1 {number} {root} {mount_point} rw,noatime - {file_system} {source} rw\n")
        write(self.proc / "self/mountinfo", "".join(self.lines))

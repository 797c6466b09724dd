# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Fixtures of the matrix."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from storage import Disk, loop_file_system


@pytest.fixture(scope="session")
def disks() -> Iterator[dict[int, Disk]]:
    """File systems by the sector size of their device."""
    with loop_file_system(512) as small, loop_file_system(4096) as large:
        yield {512: small, 4096: large}


@pytest.fixture
def place(disks: dict[int, Disk]) -> Iterator[dict[int, Path]]:
    """An empty directory on each of them, for one test."""
    places = {sector: disk.mount / "matrix" for sector, disk in disks.items()}
    yield places
    for path in places.values():
        if path.exists():
            shutil.rmtree(path)

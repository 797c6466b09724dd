# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The manifest of a dump: what was dumped from where, how each file looks, and what the source held."""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import asdict, dataclass, field
from typing import Any

from .dictionary_objects import Statement
from .durable import write_file
from .errors import InnodbError
from .tables import Column, Table

FORMAT = 3
MANIFEST_FILE = "manifest.json"
BLOCK_BYTES = 1 << 20


@dataclass
class DumpFile:
    """A file of the dump: rows of a table, or a copy of a definition file of the data directory (then table is None).

    carrier: how the rows stand in it (see carriers), None when it only goes with the file of the rows.
    """

    name: str
    size_bytes: int
    crc32: int
    rows: int = 0
    table: str | None = None
    carrier: str | None = None


@dataclass
class Manifest:
    """page_size in bytes. fingerprint is that of the source's files right after its shutdown (data_directory.fingerprint)."""

    engine: str
    page_size: int
    coordinates: dict[str, Any]
    tables: list[Table]
    files: list[DumpFile]
    census: dict[str, Any]
    digests: dict[str, Any]
    plugins: list[dict[str, str]] = field(default_factory=list)
    fingerprint: str = ""
    statements: list[Statement] = field(default_factory=list)
    format: int = FORMAT

    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


def write(directory: str, manifest: Manifest) -> None:
    content = json.dumps(asdict(manifest), sort_keys=True, ensure_ascii=True, default=str)
    write_file(os.path.join(directory, MANIFEST_FILE), content, 0o600)


def read(directory: str) -> Manifest:
    """The manifest of a complete dump; InnodbError when there is none or it is of another format."""
    path = os.path.join(directory, MANIFEST_FILE)
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError) as error:
        raise InnodbError(f"the dump in {directory} has no readable manifest: {error}") from error
    if data.get("format") != FORMAT:
        raise InnodbError(f"the dump in {directory} was written by another version of this collection")
    data["tables"] = [_table(entry) for entry in data["tables"]]
    data["statements"] = [Statement(**entry) for entry in data["statements"]]
    data["files"] = [DumpFile(**entry) for entry in data["files"]]
    return Manifest(**data)


def _table(data: dict[str, Any]) -> Table:
    return Table(**{**data, "columns": tuple(Column(**column) for column in data["columns"])})


def checksum_file(path: str) -> tuple[int, int]:
    """Size in bytes and CRC-32 of a file.

    It finds what a disk or a copy damages, at a third of the CPU time of SHA-256; that content is right is shown by the digests.
    """
    crc = size = 0
    with open(path, "rb") as file:
        while True:
            block = file.read(BLOCK_BYTES)
            if not block:
                return size, crc
            crc = zlib.crc32(block, crc)
            size += len(block)


def require_files(directory: str, manifest: Manifest) -> None:
    """InnodbError unless all files of a dump are as they were written."""
    for file in manifest.files:
        require_file(directory, file)


def require_file(directory: str, file: DumpFile) -> None:
    """InnodbError unless the file is as it was when it was written."""
    path = os.path.join(directory, file.name)
    try:
        size, crc32 = checksum_file(path)
    except OSError as error:
        raise InnodbError(f"the file {path} of the dump can't be read: {error.strerror}") from error
    if (size, crc32) != (file.size_bytes, file.crc32):
        raise InnodbError(
            f"the file {path} of the dump is not as it was written: it has {size} bytes of {file.size_bytes}, or other content"
        )

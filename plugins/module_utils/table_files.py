# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the names and sizes of files tell of tables, without opening one in the server; also when it is down."""

from __future__ import annotations

import os
import re
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass

from .facts import out_of_time
from .layout import LOST_AND_FOUND
from .tablespace import FULL_CRC32_MARKER, HEADER_BYTES, SPACE_FLAGS_OFFSET

INNODB = ".ibd"
#: Endings of the files of a table: storage engine, and whether rows or indexes are in them.
ENDINGS = {
    INNODB: ("InnoDB", "data"),
    ".MYD": ("MyISAM", "data"),
    ".MYI": ("MyISAM", "index"),
    ".MAD": ("Aria", "data"),
    ".MAI": ("Aria", "index"),
    ".CSV": ("CSV", "data"),
    ".ARZ": ("ARCHIVE", "data"),
    ".MRG": ("MRG_MyISAM", "data"),
}
LINK = ".isl"  # holds the path of an .ibd file that lies elsewhere
DEFINITION = ".frm"
TRIGGER = ".TRN"
KNOWN_ENDINGS = frozenset((*ENDINGS, LINK, DEFINITION))
VIEW_BEGINS = b"TYPE=VIEW"
BLOCK_BYTES = 512  # the unit of st_blocks
ENCODED = re.compile(r"@([0-9a-f]{4})")  # a character by its number
PARTITION = re.compile(r"#P#|#p#")
#: Tables on their way in or out, and InnoDB's own of a fulltext index, with the number of the table that has the index.
PASSING = "#sql"
FULLTEXT = re.compile(r"FTS_([0-9a-f]{16})_")
SYSTEM_DIRECTORIES = ("mysql", "sys", "performance_schema")
PAGE_COMPRESSED_OLD = 1 << 16


@dataclass
class TableFiles:
    """The files of one table, its partitions together. data, index: bytes of the files. allocated: bytes they take on the disk.

    engine is None when there is a definition alone. paths: the InnoDB files.
    """

    engine: str | None = None
    data: int = 0
    index: int = 0
    allocated: int = 0
    definition: str | None = None
    paths: tuple[str, ...] = ()


@dataclass
class Scan:
    """Tables by directory and name, both as the server spells them in file names; triggers: how many there are."""

    tables: dict[tuple[str, str], TableFiles]
    schemas: list[str]
    triggers: int = 0

    def views(self) -> set[tuple[str, str]]:
        """What has a definition alone that is a view's."""
        return {key for key, files in self.tables.items() if files.engine is None and files.definition and is_view(files.definition)}


def scan(datadir: str, deadline: float) -> Scan:
    """The tables of all schemas but the server's own. deadline by time.monotonic(); StatementError of the time limit past it."""
    found = Scan({}, [])
    for directory in sorted(os.scandir(datadir), key=lambda entry: entry.name):
        if directory.name.startswith((".", "#")) or directory.name in (*SYSTEM_DIRECTORIES, LOST_AND_FOUND) or not directory.is_dir():
            continue
        found.schemas.append(directory.name)
        try:
            for entry in os.scandir(directory.path):
                _add(found, directory.name, entry)
        except FileNotFoundError:
            continue  # dropped meanwhile
        if time.monotonic() > deadline:
            raise out_of_time("looking at files")
    return found


def _add(found: Scan, directory: str, entry: os.DirEntry[str]) -> None:
    stem, dot, ending = entry.name.rpartition(".")
    ending = dot + ending
    if ending == TRIGGER:
        found.triggers += 1
    if ending not in KNOWN_ENDINGS or stem.startswith(PASSING):
        return
    key = (directory, without_partition(stem))
    files = found.tables.get(key)
    if files is None:
        files = found.tables[key] = TableFiles()
    if ending == DEFINITION:
        files.definition = entry.path
        return
    try:
        path = entry.path if ending != LINK else _linked(entry.path)
        status = os.stat(path)
    except FileNotFoundError:
        return  # dropped or renamed meanwhile
    files.engine, role = ENDINGS[INNODB if ending == LINK else ending]
    if role == "data":
        files.data += status.st_size
    else:
        files.index += status.st_size
    files.allocated += status.st_blocks * BLOCK_BYTES
    if ending in (INNODB, LINK):
        files.paths += (path,)


def _linked(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return os.path.join(os.path.dirname(path), file.read().strip())


def is_view(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(VIEW_BEGINS)) == VIEW_BEGINS
    except FileNotFoundError:
        return False  # dropped meanwhile


def without_partition(stem: str) -> str:
    """The name of the table from that of a partition."""
    return PARTITION.split(stem)[0] if "#" in stem else stem


def decoded(name: str) -> str:
    """A name from a file name, as far as that goes without the server: accented letters of Europe stay as codes of two characters."""
    if "@" not in name:
        return name
    return ENCODED.sub(lambda match: chr(int(match.group(1), 16)), name)


def needs_server(name: str) -> bool:
    """Whether only the server can tell the whole name."""
    return "@" in name and "@" in ENCODED.sub("", name)


def matching(name: str, candidates: Iterable[str]) -> str | None:
    """The one of some names that a file name may stand for; None when there is none, or more than one."""
    tokens = re.findall(r"@[0-9a-f]{4}|@..|[^@]+|@", name)
    pattern = re.compile("".join("." if len(token) == 3 and token[0] == "@" else re.escape(decoded(token)) for token in tokens), re.DOTALL)
    found = [each for each in candidates if pattern.fullmatch(each)]
    return found[0] if len(found) == 1 else None


def compression_of_flags(flags: int) -> tuple[int | None, bool]:
    """KEY_BLOCK_SIZE in bytes (None without), and whether pages are compressed, from FSP_SPACE_FLAGS of a tablespace."""
    if flags & FULL_CRC32_MARKER:
        return None, bool((flags >> 5) & 7)
    shift = (flags >> 1) & 0xF
    return (512 << shift if shift else None), bool(flags & PAGE_COMPRESSED_OLD)


def compression_of_file(path: str) -> tuple[int | None, bool]:
    """The same of an .ibd file; neither for a file that is none."""
    with open(path, "rb") as file:
        header = file.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        return None, False
    return compression_of_flags(struct.unpack_from(">I", header, SPACE_FLAGS_OFFSET)[0])

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What stands in the files of a binary log after a position: transactions, the tables they changed, statements. Read, never written.

The layout of events is documented by both vendors; only headers, table maps and statements are looked at, not the rows.
"""

from __future__ import annotations

import glob
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from .errors import InnodbError

MAGIC = b"\xfebin"
HEADER = struct.Struct("<IBIIIH")  # time, type, server, length, next position, flags
CHECKSUM_BYTES = 4

QUERY, STOP, ROTATE, FORMAT, TABLE_MAP, HEARTBEAT, HEARTBEAT_V2 = 2, 3, 4, 15, 19, 27, 41
GTID, ANONYMOUS_GTID, PREVIOUS_GTIDS = 33, 34, 35  # MySQL
BINLOG_CHECKPOINT, MARIADB_GTID, GTID_LIST, ENCRYPTION, QUERY_COMPRESSED = 161, 162, 163, 164, 165  # MariaDB
#: Events that change nothing: what a server writes when it opens, closes or rotates a file.
HARMLESS = frozenset({STOP, ROTATE, FORMAT, HEARTBEAT, HEARTBEAT_V2, PREVIOUS_GTIDS, BINLOG_CHECKPOINT, GTID_LIST})
TRANSACTIONS = frozenset({GTID, ANONYMOUS_GTID, MARIADB_GTID})

#: Statements that begin or end a transaction, and those that change rows; all others change definitions.
CONTROL = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "XA", "#")
ROW_STATEMENTS = ("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "WITH")


class Position(NamedTuple):
    """A place in a binary log: name of the file, without directory, and offset in bytes."""

    file: str
    offset: int


@dataclass
class Changes:
    """What a stretch of a binary log holds. end: where reading stopped. events: those that may change something.

    tables: changed row by row. row_statements: statements that change rows and name no table for sure. definitions: all others.
    """

    end: Position
    events: int = 0
    transactions: int = 0
    tables: set[tuple[str, str]] = field(default_factory=set)
    row_statements: int = 0
    definitions: list[str] = field(default_factory=list)

    def add(self, other: Changes) -> None:
        """Take what the stretch after this one holds."""
        self.end = other.end
        self.events += other.events
        self.transactions += other.transactions
        self.tables |= other.tables
        self.row_statements += other.row_statements
        self.definitions += other.definitions


def files_from(basename: str, first: str) -> list[str]:
    """Paths of the log's files in order, from the one of this name on; InnodbError when that is gone."""
    paths = [path for path in glob.glob(f"{glob.escape(basename)}.[0-9]*") if path.rpartition(".")[2].isdigit()]
    wanted = int(first.rpartition(".")[2])
    chosen = sorted((path for path in paths if _number(path) >= wanted), key=_number)
    if not chosen or _number(chosen[0]) != wanted:
        raise InnodbError(f"the file {first} of the binary log is gone, so what was written since can't be followed", state="")
    return chosen


def _number(path: str) -> int:
    return int(path.rpartition(".")[2])


def read_changes(basename: str, since: Position) -> Changes:
    """Everything complete after a position, up to the end of the last file; an event that is being written is left for later."""
    changes = Changes(since)
    for path in files_from(basename, since.file):
        name = os.path.basename(path)
        start = since.offset if name == since.file else len(MAGIC)
        changes.end = Position(name, start)
        with open(path, "rb") as file:
            for kind, end, body in _events(file, start):
                _note(changes, kind, body)
                changes.end = Position(name, end)
    return changes


def _events(file: BinaryIO, start: int) -> Iterator[tuple[int, int, bytes]]:
    """Type, end and, where it is looked at, body of each complete event from an offset on."""
    size = os.fstat(file.fileno()).st_size
    file.seek(start)
    while True:
        header = file.read(HEADER.size)
        if len(header) < HEADER.size:
            return
        _time, kind, _server, length, _next, _flags = HEADER.unpack(header)
        end = start + length
        if length < HEADER.size or end > size:
            return
        wanted = kind in (TABLE_MAP, QUERY)
        body = file.read(length - HEADER.size) if wanted else b""
        if not wanted:
            file.seek(end)
        yield kind, end, body
        start = end


def _note(changes: Changes, kind: int, body: bytes) -> None:
    if kind == ENCRYPTION:
        raise InnodbError("the binary log is encrypted, so what stands in it can't be read", state="")
    if kind in HARMLESS:
        return
    changes.events += 1
    if kind in TRANSACTIONS:
        changes.transactions += 1
    elif kind == TABLE_MAP:
        changes.tables.add(table_of_map(body))
    elif kind == QUERY:
        _note_statement(changes, statement_of(body))
    elif kind == QUERY_COMPRESSED:
        changes.definitions.append("a compressed statement")


def _note_statement(changes: Changes, statement: str) -> None:
    words = statement.lstrip("( \n\t").split(None, 1)
    first = words[0].upper() if words else ""
    if first.startswith(CONTROL) or not first:
        return
    if first in ROW_STATEMENTS:
        changes.row_statements += 1
    else:
        changes.definitions.append(statement[:100])


def table_of_map(body: bytes) -> tuple[str, str]:
    """Schema and table in the body of a table map: after a number of 6 bytes and 2 of flags, each as length, name, zero."""
    at = 8
    names = []
    for _part in range(2):
        length = body[at]
        names.append(body[at + 1 : at + 1 + length].decode("utf-8", "surrogateescape"))
        at += length + 2
    return names[0], names[1]


def statement_of(body: bytes) -> str:
    """The statement in the body of a query: after 13 bytes, the status variables, and the schema with a zero."""
    _thread, _seconds, schema_bytes, _error, status_bytes = struct.unpack_from("<IIBHH", body)
    return body[13 + status_bytes + schema_bytes + 1 :].decode("utf-8", "replace")

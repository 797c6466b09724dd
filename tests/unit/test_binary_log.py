# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reading a binary log: what counts as a change, where it ends, what is left for later."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import binary_log
from ansible_collections.pagesmith.innodb.plugins.module_utils.binary_log import MAGIC, Position, read_changes
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError

CHECKSUM = b"\x01\x02\x03\x04"


def event(kind: int, body: bytes = b"") -> bytes:
    length = binary_log.HEADER.size + len(body) + len(CHECKSUM)
    return binary_log.HEADER.pack(0, kind, 1, length, 0, 0) + body + CHECKSUM


def query(statement: str, schema: str = "app", status: bytes = b"\x00" * 5) -> bytes:
    head = struct.pack("<IIBHH", 1, 0, len(schema), 0, len(status))
    return event(binary_log.QUERY, head + status + schema.encode() + b"\0" + statement.encode())


def table_map(schema: str, table: str) -> bytes:
    names = b"".join(bytes([len(name.encode())]) + name.encode() + b"\0" for name in (schema, table))
    return event(binary_log.TABLE_MAP, b"\0" * 8 + names + b"\x01\x03\x00\x00")


ROWS, XID = event(23, b"rows"), event(16, b"\0" * 8)
OPENING = event(binary_log.FORMAT) + event(binary_log.GTID_LIST) + event(binary_log.BINLOG_CHECKPOINT)
ROW_CHANGE = event(binary_log.MARIADB_GTID) + table_map("app", "wörter") + ROWS + XID


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "binlog"


def write(base: Path, number: int, *events: bytes) -> None:
    base.with_name(f"{base.name}.{number:06d}").write_bytes(MAGIC + b"".join(events))


def test_rows(base):
    write(base, 1, OPENING, ROW_CHANGE, ROW_CHANGE)
    changes = read_changes(str(base), Position("binlog.000001", 4))
    assert (changes.tables, changes.transactions, changes.row_statements, changes.definitions) == ({("app", "wörter")}, 2, 0, [])
    assert changes.end == Position("binlog.000001", 4 + len(OPENING) + 2 * len(ROW_CHANGE))


def test_from_a_position_on_and_over_files(base):
    write(base, 1, OPENING, ROW_CHANGE, event(binary_log.ROTATE))
    write(base, 2, OPENING, event(binary_log.STOP))
    write(base, 10, OPENING)
    changes = read_changes(str(base), Position("binlog.000001", 4 + len(OPENING) + len(ROW_CHANGE)))
    assert (changes.events, changes.end) == (0, Position("binlog.000010", 4 + len(OPENING)))


def test_what_is_being_written_is_left(base):
    write(base, 1, OPENING, ROW_CHANGE[:-3])
    changes = read_changes(str(base), Position("binlog.000001", 4))
    assert changes.end.offset == 4 + len(OPENING) + len(ROW_CHANGE) - len(XID)
    write(base, 1, OPENING, ROW_CHANGE, b"\0\0")
    more = read_changes(str(base), changes.end)
    assert (more.events, more.end.offset) == (1, 4 + len(OPENING) + len(ROW_CHANGE))


@pytest.mark.parametrize(
    ("statement", "rows", "definitions"),
    [
        ("BEGIN", 0, 0),
        ("COMMIT", 0, 0),
        ("SAVEPOINT `a`", 0, 0),
        ("XA END X'61',X'',1", 0, 0),
        ("# Dummy event replacing event type 162", 0, 0),
        ("insert into t values (1)", 1, 0),
        ("(UPDATE t SET a=1)", 1, 0),
        ("ALTER TABLE t ADD b INT", 0, 1),
        ("/* who */ UPDATE t SET a=1", 0, 1),
        ("GRANT SELECT ON *.* TO a", 0, 1),
        ("TRUNCATE t", 0, 1),
        ("SET STATEMENT x=1 FOR DELETE FROM t", 0, 1),
    ],
)
def test_statements(base, statement, rows, definitions):
    write(base, 1, OPENING, query(statement))
    changes = read_changes(str(base), Position("binlog.000001", 4))
    assert (changes.row_statements, len(changes.definitions), changes.events) == (rows, definitions, 1)


def test_an_unknown_event_counts(base):
    write(base, 1, OPENING, event(99))
    assert read_changes(str(base), Position("binlog.000001", 4)).events == 1


def test_encryption_and_a_file_that_is_gone(base):
    write(base, 2, OPENING, event(binary_log.ENCRYPTION))
    with pytest.raises(InnodbError, match="encrypted"):
        read_changes(str(base), Position("binlog.000002", 4))
    with pytest.raises(InnodbError, match="the file binlog.000001 of the binary log is gone"):
        read_changes(str(base), Position("binlog.000001", 4))


def test_stretches_add_up(base):
    write(base, 1, OPENING, ROW_CHANGE, query("DROP TABLE t"))
    first = read_changes(str(base), Position("binlog.000001", 4))
    write(base, 1, OPENING, ROW_CHANGE, query("DROP TABLE t"), table_map("app", "other"), query("DELETE FROM t"))
    first.add(read_changes(str(base), first.end))
    assert first.tables == {("app", "wörter"), ("app", "other")}
    assert (first.row_statements, len(first.definitions), first.events) == (1, 1, 7)

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tables from dictionaries, statistics and files: what is put together and what is added up."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import table_files
from ansible_collections.pagesmith.innodb.plugins.module_utils.dictionary import Definition, Structure, parse_columns, structure_of
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import StatementError
from ansible_collections.pagesmith.innodb.plugins.module_utils.facts import TIME_LIMIT_CODES, Omitted
from ansible_collections.pagesmith.innodb.plugins.module_utils.schema_facts import (
    SMALL_TABLE_BYTES,
    Statistics,
    Table,
    innodb_tables,
    schema_of_files,
    summary,
)
from ansible_collections.pagesmith.innodb.plugins.module_utils.size_limits import Column, Key
from ansible_collections.pagesmith.innodb.plugins.module_utils.table_files import Scan, TableFiles

MIB = 1 << 20
FLAGS_16K = 0x15
FLAGS_PAGE_COMPRESSED = 0x35
FLAGS_KEY_BLOCK_SIZE_8K = 0x29


def write(path: Path, size: int = 0, flags: int | None = None) -> None:
    path.parent.mkdir(exist_ok=True)
    header = bytearray(64)
    if flags is not None:
        struct.pack_into(">I", header, 54, flags)
    path.write_bytes(bytes(header[:size]) + bytes(max(0, size - 64)))


@pytest.fixture
def datadir(tmp_path: Path) -> str:
    """A data directory with a bit of everything."""
    data = tmp_path / "data"
    data.mkdir()
    for name in ("shop/orders", "shop/lines#P#p0", "shop/lines#P#p1", "shop/#sql-1a_2", "mysql/innodb_table_stats"):
        write(data / f"{name}.ibd", 65536, FLAGS_16K)
    write(data / "shop" / "packed.ibd", 65536, FLAGS_PAGE_COMPRESSED)
    write(data / "shop" / "old@002dstyle.ibd", 65536, FLAGS_KEY_BLOCK_SIZE_8K)
    write(data / "shop" / "FTS_000000000000002a_DELETED.ibd", 65536, FLAGS_16K)
    write(data / "shop" / "log.MYD", 1000)
    write(data / "shop" / "log.MYI", 2000)
    for name in ("orders", "lines", "log", "cache"):
        write(data / "shop" / f"{name}.frm", 100)
    (data / "shop" / "recent.frm").write_bytes(b"TYPE=VIEW\nquery=select 1\n")
    write(data / "shop" / "t1.TRN", 10)
    write(data / "shop" / "t2.TRN", 10)
    write(tmp_path / "elsewhere" / "far.ibd", 131072, FLAGS_16K)
    (data / "shop" / "far.isl").write_text(f"{tmp_path}/elsewhere/far.ibd\n")
    write(data / ".hidden" / "x.ibd", 65536, FLAGS_16K)
    return str(data)


def soon() -> float:
    return time.monotonic() + 60


def test_files_of_tables(datadir):
    found = table_files.scan(datadir, soon())
    assert found.schemas == ["shop"]
    assert found.triggers == 2
    assert found.views() == {("shop", "recent")}
    assert {stem for _schema, stem in found.tables} == {
        *("orders", "lines", "packed", "old@002dstyle", "FTS_000000000000002a_DELETED", "log", "cache", "recent", "far"),
    }
    lines, log, far = (found.tables["shop", name] for name in ("lines", "log", "far"))
    assert (lines.engine, lines.data, len(lines.paths)) == ("InnoDB", 131072, 2)
    assert (log.engine, log.data, log.index) == ("MyISAM", 1000, 2000)
    assert (far.engine, far.data) == ("InnoDB", 131072)
    assert found.tables["shop", "cache"].engine is None


def test_a_scan_ends_in_time(datadir):
    with pytest.raises(StatementError) as caught:
        table_files.scan(datadir, time.monotonic() - 1)
    assert caught.value.code in TIME_LIMIT_CODES


def test_a_dropped_table_is_no_error(datadir):
    (Path(datadir) / "shop" / "gone.ibd").symlink_to("/nowhere.ibd")
    assert table_files.scan(datadir, soon()).tables["shop", "gone"].engine is None


def test_schema_with_the_server_down(datadir):
    omitted = Omitted(30)
    found = schema_of_files(datadir, soon(), omitted, 3)
    assert found["tables"] == 6
    assert found["by_engine"] == {"InnoDB": {"tables": 5, "bytes": 7 * 65536}, "MyISAM": {"tables": 1, "bytes": 3000}}
    assert found["compressed"] == {"tables": 2, "key_block_sizes": {"8192": 1}}
    assert [each["table"] for each in found["table_list"]] == ["shop.far", "shop.lines", "shop.old-style"]
    assert found["table_list_omitted"] == 3
    assert found["rows"] is None and found["near_limits"] is None
    assert set(omitted) == {"schema.rows", "schema.row_formats", "schema.near_limits", "schema.objects"}


def test_a_data_directory_that_is_not_there_is_left_out():
    omitted = Omitted(30)
    assert schema_of_files("/nowhere", soon(), omitted, 3)["tables"] == 0
    assert omitted["schema.files"] == "/nowhere can't be read: No such file or directory"


@pytest.mark.parametrize(
    ("name", "expected", "asked"),
    [("plain", "plain", False), ("a@0024b@002dc", "a$b-c", False), ("@1o@0040x", "@1o@x", True), ("a@0040b", "a@b", False)],
)
def test_names_of_files(name, expected, asked):
    assert table_files.decoded(name) == expected
    assert table_files.needs_server(name) is asked


@pytest.mark.parametrize(
    ("name", "candidates", "expected"),
    [
        ("@1o@002dx", ["\u00fc-x", "xx-x", "\u00fcx"], "\u00fc-x"),
        ("a@1ob", ["a\u00fcb", "a\u00f6b"], None),
        ("a@1ob", ["a.b.c"], None),
    ],
)
def test_names_that_may_be_meant(name, candidates, expected):
    assert table_files.matching(name, candidates) == expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (FLAGS_16K, (None, False)),
        (FLAGS_PAGE_COMPRESSED, (None, True)),
        (0x27, (4096, False)),
        (FLAGS_KEY_BLOCK_SIZE_8K, (8192, False)),
        (0x21, (None, False)),
        (0x10021, (None, True)),
        (0x4021, (None, False)),
    ],
)
def test_compression_from_flags(flags, expected):
    assert table_files.compression_of_flags(flags) == expected


def test_columns_strung_together():
    strung = "\0".join(("id", "6", "1283", "4", "note", "5", "524540", "10"))
    assert list(parse_columns(strung)) == ["id", "note"]
    assert parse_columns("") == {}
    assert structure_of(strung, ()).large_objects is True


NAMES = {"id": Column(4, fixed=True), "v": Column(1020), "t": Column(1 << 32, large_object=True)}


def test_keys_with_the_beginning_of_a_column_are_doubtful():
    assert not Structure(NAMES, (Key("PRIMARY", ("id",), True),)).doubtful
    wide = Structure(NAMES, (Key("PRIMARY", ("id",), True), Key("v", ("v",))))
    assert wide.doubtful_above(1000) and not wide.doubtful_above(1021)
    assert wide.widest_key == 1020
    assert Structure(NAMES, (Key("t", ("t",)),)).doubtful_above(10**9)


def definition(name: str, **more) -> Definition:
    given = {"row_format": "Dynamic", "key_block_size": None, "compressed": False, "numbers": [42], "structure": Structure(NAMES), **more}
    return Definition("shop", name, "shop", name, **given)


def test_statistics_files_and_definition_make_a_table():
    files = Scan(
        {("shop", "t"): TableFiles("InnoDB", data=10 * 16384, allocated=9 * 16384)}
        | {("shop", "FTS_000000000000002a_DELETED"): TableFiles("InnoDB", data=1000, allocated=4096)},
        ["shop"],
    )
    (table,) = innodb_tables([definition("t")], {("shop", "t"): Statistics(rows=100, data_pages=5, index_pages=2)}, files, 16384)
    assert (table.rows, table.data_bytes, table.index_bytes) == (100, 5 * 16384, 2 * 16384 + 1000)
    assert (table.free_bytes, table.file_bytes, table.average_row_bytes) == (3 * 16384, 9 * 16384 + 4096, 819)
    assert table.large_objects is True


def test_pages_of_a_compressed_table_are_smaller():
    table = next(iter(innodb_tables([definition("t", key_block_size=8192)], {("shop", "t"): Statistics(1, 5, 2)}, Scan({}, []), 16384)))
    assert (table.data_bytes, table.index_bytes, table.free_bytes, table.file_bytes) == (5 * 8192, 2 * 8192, None, None)


def test_without_statistics_the_files_count():
    files = Scan({("shop", "t"): TableFiles("InnoDB", data=65536, allocated=4096)}, ["shop"])
    (table,) = innodb_tables([definition("t")], {}, files, 16384)
    assert (table.rows, table.data_bytes, table.index_bytes, table.average_row_bytes) == (None, 65536, 0, None)


def test_summary():
    tables = [
        Table("a.big", "InnoDB", "Dynamic", rows=1000, data_bytes=8 * MIB, index_bytes=2 * MIB, large_objects=True, file_bytes=11 * MIB),
        Table("a.small", "InnoDB", "Compressed", 8192, True, True, rows=1, data_bytes=SMALL_TABLE_BYTES - 1, index_bytes=0),
        Table("a.log", "MyISAM", data_bytes=MIB, index_bytes=None),
    ]
    found = summary(tables, 1)
    assert found["bytes"] == 11 * MIB + SMALL_TABLE_BYTES - 1
    assert found["rows"] == 1001
    assert found["small_tables"] == {"tables": 1, "share": 0.5}
    assert found["large_objects"] == {"tables": 1, "bytes": 8 * MIB, "share": round(8 * MIB / (8 * MIB + SMALL_TABLE_BYTES - 1), 4)}
    assert found["compressed"] == {"tables": 1, "key_block_sizes": {"8192": 1}}
    assert found["encrypted"] == {"tables": 1}
    assert found["by_row_format"]["Dynamic"] == {"tables": 1, "bytes": 10 * MIB}
    assert [each["table"] for each in found["largest"]] == ["a.big", "a.log", "a.small"]
    assert [each["table"] for each in found["table_list"]] == ["a.big"]
    assert found["table_list_omitted"] == 2


def test_a_summary_of_nothing():
    found = summary([], 10)
    assert (found["tables"], found["bytes"], found["small_tables"]["share"]) == (0, 0, 0.0)


def test_what_was_refused_or_took_too_long_is_named():
    omitted = Omitted(30)
    for name, code in (("a", 1227), ("b", TIME_LIMIT_CODES[0])):
        with omitted.part(name):
            raise StatementError("statement", code, "you need PROCESS")
    assert omitted == {"a": "the server says: you need PROCESS", "b": "it takes longer than subset_timeout, 30 s"}
    with pytest.raises(StatementError), omitted.part("c"):
        raise StatementError("the connection broke", 0, "gone")

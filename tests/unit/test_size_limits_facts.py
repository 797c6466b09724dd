# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Declared sizes beside limits, checked against records that real servers took and refused."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.engines import MARIADB, MYSQL, PERCONA
from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES
from ansible_collections.pagesmith.innodb.plugins.module_utils.size_limits import (
    COMPRESSED,
    KEY_LIMITS,
    REDUNDANT,
    ROW_LIMITS,
    UNLIMITED,
    Column,
    Declared,
    Key,
    innodb_column,
    key_bytes,
    near_limits,
    row_bytes,
    row_limit,
)

ID = Column(4, fixed=True)

#: Bytes of NOT NULL BINARY columns, primary key included, of the largest record that a server took: row format, KEY_BLOCK_SIZE in
#: bytes, page size in bytes, bytes.
LARGEST_TAKEN = [
    ("dynamic", None, 4096, 1963),
    ("dynamic", None, 8192, 4011),
    ("dynamic", None, 16384, 8107),
    ("dynamic", None, 32768, 16299),
    ("dynamic", None, 65536, 16365),
    ("compact", None, 16384, 8107),
    ("redundant", None, 4096, 1937),
    ("redundant", None, 8192, 3969),
    ("redundant", None, 16384, 8033),
    ("redundant", None, 32768, 16161),
    ("redundant", None, 65536, 16229),
    ("compressed", 1024, 16384, 872),
    ("compressed", 2048, 16384, 1888),
    ("compressed", 4096, 16384, 3920),
    ("compressed", 8192, 16384, 7984),
    ("compressed", 8192, 8192, 4011),
    ("compressed", 4096, 4096, 1963),
]


def binary_columns(size: int, width: int) -> dict[str, Column]:
    """An INT key and as many BINARY columns as make up size bytes."""
    rest = size - 4
    widths = [width] * (rest // width) + ([rest % width] if rest % width else [])
    return {"id": ID, **{f"b{number}": Column(each, fixed=True) for number, each in enumerate(widths)}}


def alike(column: Column, count: int) -> dict[str, Column]:
    """An INT key and some columns of one kind."""
    return {"id": ID, **{f"c{number}": column for number in range(count)}}


@pytest.mark.parametrize(("row_format", "key_block_size", "page_size", "largest"), LARGEST_TAKEN)
def test_largest_records_that_servers_took(row_format, key_block_size, page_size, largest):
    limit = row_limit(row_format, key_block_size, page_size)
    assert row_bytes(row_format, binary_columns(largest, 255), ["id"]) <= limit
    # In REDUNDANT the number of columns counts as well, which the measurement does not tell.
    more = 8 if row_format == REDUNDANT else 1
    assert row_bytes(row_format, binary_columns(largest + more, 255), ["id"]) > limit


@pytest.mark.parametrize(("page_size", "most"), [(4096, 7), (8192, 15), (16384, 31), (32768, 63), (65536, 63)])
def test_columns_of_255_bytes_stay_inside(page_size, most):
    def row(count: int) -> int:
        return row_bytes("dynamic", alike(Column(255), count), ["id"])

    assert row(most) <= row_limit("dynamic", None, page_size) < row(most + 1)


@pytest.mark.parametrize(("page_size", "most"), [(4096, 47), (8192, 97), (16384, 197), (32768, 397), (65536, 399)])
@pytest.mark.parametrize("size", [256, UNLIMITED])
def test_longer_columns_leave_forty_bytes_inside(page_size, most, size):
    def row(count: int) -> int:
        return row_bytes("dynamic", alike(Column(size), count), ["id"])

    limit = row_limit("dynamic", None, page_size)
    assert row(most) <= limit < row(most + 2)


@pytest.mark.parametrize("row_format", ["compact", "redundant"])
@pytest.mark.parametrize(("page_size", "most"), [(4096, 2), (8192, 5), (16384, 10), (32768, 20), (65536, 20)])
def test_a_prefix_stays_inside_in_old_formats(row_format, page_size, most):
    def row(count: int) -> int:
        return row_bytes(row_format, alike(Column(UNLIMITED, large_object=True), count), ["id"])

    assert row(most) <= row_limit(row_format, None, page_size) < row(most + 1)


def test_columns_of_the_primary_key_stay_inside():
    long = {"k": Column(1000)}
    assert row_bytes("dynamic", long, ["k"]) == 5 + 13 + 1002
    assert row_bytes("dynamic", long, []) == 5 + 13 + 6 + 41


def test_virtual_columns_take_no_room_and_nulls_one_bit():
    columns = {**alike(Column(1, fixed=True, nullable=True), 9), "v": Column(8, fixed=True, virtual=True)}
    assert row_bytes("dynamic", columns, ["id"]) == 5 + 13 + 4 + 9 + 2


# Type numbers, flags and lengths as MariaDB 10.11 shows them.
@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ((6, 1283, 4), Column(4, fixed=True)),
        ((1, 528399, 300), Column(300)),
        ((12, 5443855, 597), Column(597)),
        ((13, 2949374, 120), Column(120, nullable=False)),
        ((5, 524540, 10), Column(UNLIMITED, nullable=True, large_object=True)),
        ((6, 9219, 4), Column(4, fixed=True, nullable=True, virtual=True)),
        ((2, 524542, 10), Column(10, fixed=True, nullable=True)),
    ],
)
def test_columns_of_innodbs_dictionary(shown, expected):
    column = innodb_column(*shown)
    assert column._replace(nullable=False) == expected._replace(nullable=False)
    assert column.nullable is not bool(shown[1] & 256)


def test_keys():
    columns = {"a": Column(1020), "t": Column(UNLIMITED, large_object=True), "id": ID}
    assert key_bytes(Key("k", ("a", "id")), columns) == 1024
    assert key_bytes(Key("k", ("a", "id"), prefixes=(764, None)), columns) == 768
    assert key_bytes(Key("k", ("t",)), columns) is None
    assert key_bytes(Key("k", ("t",), prefixes=(100,)), columns) == 100
    assert key_bytes(Key("k", ("gone",)), columns) is None


@pytest.mark.parametrize(
    ("engine", "declared", "sizes"),
    [
        (MARIADB, 1020, []),
        (MARIADB, 1056, [4096]),
        (MYSQL, 1020, [4096]),
        (PERCONA, 691, []),
        (PERCONA, 692, [4096]),
        (MARIADB, 3072, [4096, 8192, 16384, 32768, 65536]),
    ],
)
def test_keys_near_the_limit_of_each_engine(engine, declared, sizes):
    found = near_limits(engine, PAGE_SIZES, [Declared("app.t", "dynamic", None, 100, declared)])
    assert [(each["page_size"], each["kind"]) for each in found] == [(size, "key") for size in sizes]


def test_rows_near_a_limit():
    tables = [Declared("app.far", "dynamic", None, 3000, 4), Declared("app.near", "dynamic", None, 1800, None)]
    assert near_limits(MARIADB, PAGE_SIZES, tables) == [
        {"table": "app.far", "page_size": 4096, "kind": "row", "declared_bytes": 3000, "limit_bytes": 1981},
        {"table": "app.near", "page_size": 4096, "kind": "row", "declared_bytes": 1800, "limit_bytes": 1981},
    ]


def test_a_format_that_is_not_known_is_not_judged():
    assert near_limits(MARIADB, PAGE_SIZES, [Declared("app.t", "fancy", None, 10**6, None)]) == []


def test_the_tables_of_limits_are_whole():
    for limits in (*ROW_LIMITS.values(), *KEY_LIMITS.values()):
        assert list(limits) == list(PAGE_SIZES)
        assert sorted(limits.values()) == list(limits.values())


@pytest.mark.parametrize("row_format", sorted(ROW_LIMITS))
@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("size", [0, 1, 127, 255, 256, 768, 1000, 70000, UNLIMITED])
def test_another_column_makes_no_row_smaller(row_format, nullable, size):
    columns: dict[str, Column] = {}
    for number in range(20):
        more = {**columns, f"c{number}": Column(size, nullable=nullable)}
        assert row_bytes(row_format, more, []) > row_bytes(row_format, columns, [])
        columns = more


@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("key_block_size", [None, 1024, 2048, 4096, 8192, 16384])
def test_compression_never_makes_room(page_size, key_block_size):
    assert row_limit(COMPRESSED, key_block_size, page_size) <= row_limit("dynamic", None, page_size)

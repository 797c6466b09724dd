# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How large rows and keys may become by their declarations, beside the limits of each page size. Pure.

These are early and cheap warnings. What a server really takes, only that server says: the rehearsal asks it.
The limits were measured with MariaDB 10.5, 10.11, 11.8 and MySQL 5.6, 9.7; they differ by two bytes at most where one figure is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from .engines import MARIADB, MYSQL, PERCONA

#: From this part of a limit on a table is told.
NEAR_SHARE = 0.9

COMPACT = "compact"
DYNAMIC = "dynamic"
REDUNDANT = "redundant"
COMPRESSED = "compressed"

_SINCE_COMPACT = {4096: 1981, 8192: 4029, 16384: 8125, 32768: 16317, 65536: 16383}
#: The largest record in bytes, its header and hidden columns included, by row format and page size in bytes.
ROW_LIMITS: dict[str, dict[int, int]] = {
    REDUNDANT: {4096: 1978, 8192: 4026, 16384: 8122, 32768: 16314, 65536: 16382},
    COMPACT: _SINCE_COMPACT,
    DYNAMIC: _SINCE_COMPACT,
    COMPRESSED: _SINCE_COMPACT,
}
#: The same for ROW_FORMAT=COMPRESSED by KEY_BLOCK_SIZE in bytes, where that is less. From 32k on there are no compressed tables.
COMPRESSED_ROW_LIMITS = {1024: 890, 2048: 1906, 4096: 3938, 8192: 8002}
LARGEST_COMPRESSED_PAGE = 16384

_MYSQL_KEYS = {4096: 768, 8192: 1536, 16384: 3072, 32768: 3072, 65536: 3072}
#: The largest key in bytes, the sum of its columns, by engine and page size in bytes. That one column of a REDUNDANT or COMPACT
#: table has at most 767 bytes in a key, and that small KEY_BLOCK_SIZEs have limits of their own, holds at every page size.
KEY_LIMITS: dict[str, dict[int, int]] = {
    MARIADB: {4096: 1173, 8192: 1536, 16384: 3072, 32768: 3072, 65536: 3072},
    MYSQL: _MYSQL_KEYS,
    PERCONA: _MYSQL_KEYS,
}

#: Numbers of types and flags as InnoDB has them in its dictionary (mtype and prtype of INNODB_SYS_COLUMNS).
FIXED_TYPES = (2, 3, 6, 8, 9, 10)  # CHAR in latin1, BINARY and the like, INT, SYS, FLOAT, DOUBLE
LARGE_OBJECT_TYPES = (5, 14)  # BLOB and TEXT, GEOMETRY
NOT_NULL = 256
VIRTUAL = 8192
UNLIMITED = 1 << 32

#: Up to this many bytes a column of any type stays in the record: there is no room for the mark of a column that lies outside.
ALWAYS_INSIDE_BYTES = 255
#: What is at most left of a longer column in the record, by row format, when the rest lies on other pages, with its length.
#: DYNAMIC leaves 20 bytes of a column outside, but takes up to 40 bytes in as they are, which is the worse case.
LEFT_INSIDE_BYTES = {DYNAMIC: 40 + 1, COMPRESSED: 40 + 1, COMPACT: 768 + 20 + 2, REDUNDANT: 768 + 20}

HIDDEN_BYTES = 6 + 7  # transaction number and undo pointer
ROW_NUMBER_BYTES = 6  # stands in for a primary key that is not there
HEADER_BYTES = {DYNAMIC: 5, COMPRESSED: 5, COMPACT: 5, REDUNDANT: 6}


class Column(NamedTuple):
    """A column as far as its size goes. bytes: the largest value. fixed: every value has this size."""

    bytes: int
    fixed: bool = False
    nullable: bool = False
    large_object: bool = False
    virtual: bool = False


class Key(NamedTuple):
    """An index: its columns, and the bytes of each that count where only a beginning of the column is in the index (else None)."""

    name: str
    columns: tuple[str, ...]
    clustered: bool = False
    prefixes: tuple[int | None, ...] = ()


@cache
def innodb_column(mtype: int, prtype: int, length: int) -> Column:
    """A column from InnoDB's own dictionary."""
    large = mtype in LARGE_OBJECT_TYPES
    return Column(
        bytes=UNLIMITED if large else length,
        fixed=mtype in FIXED_TYPES and length <= ALWAYS_INSIDE_BYTES,
        nullable=not prtype & NOT_NULL,
        large_object=large,
        virtual=bool(prtype & VIRTUAL),
    )


def row_bytes(row_format: str, columns: Mapping[str, Column], primary_key: Iterable[str]) -> int:
    """Bytes of the largest record the declaration allows, when all that can lie on other pages lies there."""
    stored = [(name, column) for name, column in columns.items() if not column.virtual]
    keys = set(primary_key)
    total = HEADER_BYTES[row_format] + HIDDEN_BYTES + (0 if keys else ROW_NUMBER_BYTES)
    total += sum(inside_bytes(row_format, column, name in keys) for name, column in stored)
    if row_format == REDUNDANT:
        # The end of every field, hidden ones as well, in one byte each, or two in a longer record.
        fields = len(stored) + 2 + (0 if keys else 1)
        return total + fields * (2 if total > 127 else 1)
    return total + math.ceil(sum(column.nullable for _name, column in stored) / 8)


@cache
def inside_bytes(row_format: str, column: Column, in_key: bool) -> int:
    """Bytes of a column's largest value in the record, with its length where that is written beside it."""
    length = 0
    if row_format != REDUNDANT and not column.fixed:
        length = 1 if column.bytes <= ALWAYS_INSIDE_BYTES else 2
    if in_key and not column.large_object or column.bytes <= ALWAYS_INSIDE_BYTES:
        return column.bytes + length
    return min(column.bytes + length, LEFT_INSIDE_BYTES[row_format])


def key_bytes(key: Key, columns: Mapping[str, Column]) -> int | None:
    """Bytes of the largest value of a key; None when a column's share of it is not known (a large object without its prefix)."""
    total = 0
    for position, name in enumerate(key.columns):
        prefix = key.prefixes[position] if key.prefixes else None
        column = columns.get(name)
        if prefix is None and (column is None or column.large_object):
            return None
        total += column.bytes if prefix is None else prefix
    return total


def row_limit(row_format: str, key_block_size: int | None, page_size: int) -> int:
    """The largest record in bytes at a page size. A KEY_BLOCK_SIZE (bytes) that does not fit the page size counts for nothing here."""
    limit = ROW_LIMITS[row_format][page_size]
    if row_format == COMPRESSED and page_size <= LARGEST_COMPRESSED_PAGE and (key_block_size or 0) <= page_size:
        limit = min(limit, COMPRESSED_ROW_LIMITS.get(key_block_size or 0, limit))
    return limit


class Declared(NamedTuple):
    """What a table's declaration allows. row_bytes, key_bytes (its widest key): None when not known."""

    table: str
    row_format: str
    key_block_size: int | None
    row_bytes: int | None
    key_bytes: int | None


def near_limits(engine: str, page_sizes: Iterable[int], tables: Iterable[Declared]) -> list[dict[str, Any]]:
    """Tables whose rows or keys come near a limit or pass it, at each page size; those farthest past it first."""
    found = []
    sizes = list(page_sizes)
    least_key = NEAR_SHARE * min(KEY_LIMITS[engine][size] for size in sizes)
    least_row = NEAR_SHARE * min((*COMPRESSED_ROW_LIMITS.values(), *(limits[size] for limits in ROW_LIMITS.values() for size in sizes)))
    for table in tables:
        if table.row_format in ROW_LIMITS and (table.row_bytes or 0) >= least_row:
            limits = [row_limit(table.row_format, table.key_block_size, size) for size in sizes]
            found += [(table, size, "row", table.row_bytes, limit) for size, limit in zip(sizes, limits)]
        if (table.key_bytes or 0) >= least_key:
            found += [(table, size, "key", table.key_bytes, KEY_LIMITS[engine][size]) for size in sizes]
    near = [
        {"table": table.table, "page_size": size, "kind": kind, "declared_bytes": declared, "limit_bytes": limit}
        for table, size, kind, declared, limit in found
        if declared >= NEAR_SHARE * limit
    ]
    return sorted(near, key=lambda each: (-each["declared_bytes"] / each["limit_bytes"], each["table"], each["page_size"]))

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A sample of a table's rows, by ranges of its primary key, written to a file by the running server itself.

The running server serves its clients meanwhile: one session, short ranges through the primary key, a limit to every statement, and
a rest after each one that is as long as the statement took.
"""

from __future__ import annotations

import datetime
import decimal
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from . import processes
from .engines import Engine
from .errors import StatementError
from .instance import Instance
from .session import Session, quote
from .size_prediction import Stretch
from .tables import Table, dump_statement

RANGES = 8
STATEMENT_SECONDS = 5
LOCK_WAIT_SECONDS = 1
#: A table's rows are taken for this wide at least, so that no estimate of the server asks for endless many.
LEAST_ROW_BYTES = 20
#: Text is interpolated by so many characters after what two values have in common.
TEXT_DIGITS = 4
BINARY_DIGITS = 8
FIRST_PRINTABLE, LAST_PRINTABLE = 0x20, 0x7E


class Wanted(NamedTuple):
    """A table to be sampled. columns: its primary key, empty when it can't be read by ranges.

    size_bytes: of its files. row_bytes: of its rows as far as known, rather too much.
    """

    table: Table
    columns: tuple[str, ...]
    size_bytes: int
    row_bytes: float


@dataclass
class Sample:
    """Rows of a table in a file. widths: bytes per row of each range. whole: these are all its rows.

    stretches: what is known of the rows of each range, where a table was read by ranges.
    """

    table: Table
    path: str
    rows: int = 0
    size_bytes: int = 0
    widths: list[float] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    whole: bool = True


def between(lowest: Any, highest: Any, count: int) -> list[Any]:
    """count values between two ends, in order and as evenly as their type lets us; none when it does not."""
    if isinstance(lowest, bool) or type(lowest) is not type(highest):
        return []
    steps = range(1, count + 1)
    if isinstance(lowest, int):
        return [lowest + (highest - lowest) * step // (count + 1) for step in steps]
    if isinstance(lowest, (float, decimal.Decimal, datetime.datetime, datetime.date)):
        return [lowest + (highest - lowest) * step / (count + 1) for step in steps]
    if isinstance(lowest, bytes):
        return _digits_between(lowest, highest, count, BINARY_DIGITS, 0, 255)
    if isinstance(lowest, str) and lowest.isascii() and highest.isascii():
        found = _digits_between(lowest.encode(), highest.encode(), count, TEXT_DIGITS, FIRST_PRINTABLE, LAST_PRINTABLE)
        return [value.decode("ascii") for value in found]
    return []


def _digits_between(lowest: bytes, highest: bytes, count: int, digits: int, first: int, last: int) -> list[bytes]:
    """Byte strings between two others, taken for numbers whose digits are the bytes from first to last."""
    common = len(os.path.commonprefix([lowest, highest]))
    base = last - first + 1

    def number(text: bytes) -> int:
        value = 0
        for byte in text[common : common + digits].ljust(digits, bytes([first])):
            value = value * base + min(max(byte, first), last) - first
        return value

    def text(value: int) -> bytes:
        found = []
        for _digit in range(digits):
            value, digit = divmod(value, base)
            found.append(digit + first)
        return lowest[:common] + bytes(reversed(found))

    low, high = number(lowest), number(highest)
    return [text(low + (high - low) * step // (count + 1)) for step in range(1, count + 1)] if low < high else []


def literal(value: Any) -> str:
    """A value of a key in a statement; text as hexadecimal digits, whatever is in it."""
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        return f"_utf8mb4 X'{value.encode('utf-8', 'surrogateescape').hex()}'"
    if isinstance(value, (datetime.datetime, datetime.date)):
        return f"'{value}'"
    return str(value)


def _beyond(columns: Sequence[str], point: Sequence[Any], sign: str, last_sign: str) -> str:
    """A comparison of a key with a point, spelled so that the server makes ranges of the index of it."""
    cases = []
    for number, value in enumerate(point):
        equal = [f"{quote(column)} = {literal(other)}" for column, other in zip(columns, point[:number])]
        own = last_sign if number == len(point) - 1 else sign
        cases.append(" AND ".join([*equal, f"{quote(columns[number])} {own} {literal(value)}"]))
    return f"({' OR '.join(f'({case})' for case in cases)})"


def range_condition(columns: Sequence[str], start: Sequence[Any], end: Sequence[Any]) -> str:
    """WHERE of the rows from start up to, but without, end; an empty start or end is the table's own."""
    conditions = [_beyond(columns, start, ">", ">=")] if start else []
    conditions += [_beyond(columns, end, "<", "<")] if end else []
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def range_clause(columns: Sequence[str], start: Sequence[Any], end: Sequence[Any], limit: int) -> str:
    """The same with ORDER BY and LIMIT."""
    order = f" ORDER BY {', '.join(quote(column) for column in columns)}" if columns else ""
    return f"{range_condition(columns, start, end)}{order} LIMIT {limit}"


def starting_points(session: Session, table: Table, columns: Sequence[str], count: int) -> list[tuple]:
    """Beginnings of keys at which ranges start, in order and spread over the table; the first range starts before all of them."""
    try:
        return _points(session, table, tuple(columns), count - 1, ())
    except StatementError as error:
        if error.code == 0:
            raise
        # A key of a type that can't be compared with what was computed, or an index that is too slow: one range from the start.
        return []


def _points(session: Session, table: Table, columns: tuple[str, ...], count: int, fixed: tuple) -> list[tuple]:
    if count < 1 or len(fixed) == len(columns):
        return [fixed] if fixed else []
    column = quote(columns[len(fixed)])
    known = [f"{quote(name)} = {literal(value)}" for name, value in zip(columns, fixed)]
    where = f" WHERE {' AND '.join(known)}" if known else ""
    ends = session.row(f"SELECT MIN({column}) lowest, MAX({column}) highest FROM {table.source}{where}")
    values: list[Any] = []
    for guess in between(ends["lowest"], ends["highest"], count):
        condition = " AND ".join([*known, f"{column} >= {literal(guess)}"])
        value = session.value(f"SELECT {column} FROM {table.source} WHERE {condition} ORDER BY {column} LIMIT 1")
        if value is not None and value not in values:
            values.append(value)
    if len(values) * 2 > count or len(fixed) + 1 == len(columns):
        return [(*fixed, value) for value in values]
    # Few values, such as the numbers of tenants: go on inside each of them.
    groups = list(dict.fromkeys([ends["lowest"], *values]))
    inner = [_points(session, table, columns, count // len(groups), (*fixed, value)) for value in groups]
    return [point for points in inner for point in points]


def why_not(session: Session, instance: Instance, directory: str) -> str | None:
    """Why the running server can't write to directory, None when nothing is known against it."""
    allowed = session.variables("secure_file_priv").get("secure_file_priv")
    if allowed is None or allowed == "NULL":
        return "secure_file_priv forbids the running server to write files"
    if allowed and not f"{os.path.realpath(directory)}/".startswith(f"{os.path.realpath(allowed)}/"):
        return f"secure_file_priv lets the running server write to {allowed} only; name a directory there"
    for pid in processes.servers_in(instance.datadir):
        # A service with a /tmp, or other mounts, of its own sees another directory under the same name, or none.
        try:
            same = os.path.samefile(f"/proc/{pid}/root{directory}", directory)
        except OSError:
            same = False
        if not same:
            return f"the running server does not see {directory}; name a directory that it sees"
    return None


def prepare_session(session: Session, engine: Engine) -> None:
    """Limits for a session on the running server: it waits for nobody for long, and no statement takes long."""
    session.execute(f"SET SESSION lock_wait_timeout={LOCK_WAIT_SECONDS}, innodb_lock_wait_timeout={LOCK_WAIT_SECONDS}")
    session.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    limit = engine.trait("statement_limit")
    if limit:
        session.execute(limit.format(seconds=STATEMENT_SECONDS, milliseconds=STATEMENT_SECONDS * 1000))


def allowed_directory(session: Session) -> str | None:
    """The only directory to which the running server writes files, None when there is no such limit."""
    allowed = session.variables("secure_file_priv").get("secure_file_priv")
    return allowed if allowed and allowed != "NULL" and os.path.isdir(allowed) else None


def take(session: Session, wanted: Wanted, path: str, budget_bytes: int) -> Sample:
    """Write rows of a table to path; StatementError when the server does not. A table whose files are within the budget is read whole."""
    sample = Sample(wanted.table, path)
    points: list[tuple] = []
    whole = wanted.size_bytes <= budget_bytes
    if wanted.columns and not whole:
        points = starting_points(session, wanted.table, wanted.columns, RANGES)
    starts: list[tuple] = [(), *points]
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], ()])):
        left = (budget_bytes - sample.size_bytes) / (len(starts) - number)
        width = sample.size_bytes / sample.rows if sample.rows else wanted.row_bytes
        limit = int(left / (LEAST_ROW_BYTES if whole else max(width, LEAST_ROW_BYTES)))
        if limit < 1:
            sample.whole = False
            continue
        rows = _take_range(session, sample, range_clause(wanted.columns, start, end, limit), limit)
        if points:
            sample.stretches += _stretch(session, wanted, start, end, rows, limit)
    return sample


def _stretch(session: Session, wanted: Wanted, start: tuple, end: tuple, rows: int, limit: int) -> list[Stretch]:
    """What is known of a range of which so many rows were read; empty where the server does not say."""
    if rows < limit:
        return [Stretch(rows)]
    columns = ", ".join(quote(column) for column in wanted.columns)
    last_row = range_clause(wanted.columns, start, end, 1)
    try:
        last = tuple(session.row(f"SELECT {columns} FROM {wanted.table.source}{last_row} OFFSET {rows - 1}").values())
        read, whole = (_estimate(session, wanted, start, each) for each in (last, end))
    except StatementError as error:
        if error.code == 0:
            raise
        return []
    return [Stretch(rows, read, whole)] if read and whole else []


def _estimate(session: Session, wanted: Wanted, start: tuple, end: tuple) -> int:
    """Rows of a range as the server guesses them from some pages at its two ends."""
    condition = range_condition(wanted.columns, start, end)
    query = f"SELECT COUNT(*) FROM {wanted.table.source} FORCE INDEX (PRIMARY){condition}"
    return int(session.row(f"EXPLAIN FORMAT=TRADITIONAL {query}")["rows"] or 0)


def discard(path: str) -> None:
    """Remove what a sample that failed has left."""
    for name in (path, f"{path}.part"):
        if os.path.exists(name):
            os.unlink(name)


def _take_range(session: Session, sample: Sample, clause: str, limit: int) -> int:
    part = f"{sample.path}.part" if os.path.exists(sample.path) else sample.path
    began = time.monotonic()
    rows = session.execute(dump_statement(sample.table, part) + clause)
    size = os.path.getsize(part)
    if part != sample.path:
        append_file(part, sample.path)
    sample.rows += rows
    sample.size_bytes += size
    sample.whole = sample.whole and rows < limit
    if rows:
        sample.widths.append(size / rows)
    time.sleep(time.monotonic() - began)
    return rows


def append_file(source: str, target: str) -> None:
    """Append a file to another, inside the kernel, and remove it."""
    with open(source, "rb") as reader, open(target, "r+b") as writer:
        left, offset = os.fstat(reader.fileno()).st_size, 0
        writer.seek(0, os.SEEK_END)
        while left:
            sent = os.sendfile(writer.fileno(), reader.fileno(), offset, left)
            offset, left = offset + sent, left - sent
    os.unlink(source)

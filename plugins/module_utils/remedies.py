# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What may make a table fit that a server refused, as a table of tries: each changes a definition and says the ALTER TABLE for it.

Nothing here knows whether a try helps. The throw-away server is asked, and only what it takes is told to the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Callable, NamedTuple

ROW_TOO_LARGE = 1118
KEY_TOO_LONG = 1071
COLUMN_OF_KEY_TOO_LONG = 1709
WRONG_OPTIONS = (1005, 1031, 1478)
#: Columns whose values can take more bytes than this may lie outside the page where the row format is DYNAMIC.
LONGEST_INSIDE_BYTES = 255
LARGEST_COMPRESSED_PAGE = 16384
#: What the text of a remedy names of many clauses.
CLAUSES_SHOWN = 4
BYTES_PER_CHARACTER = {"utf8mb4": 4, "utf8mb3": 3, "utf8": 3, "ucs2": 2, "utf16": 4, "utf16le": 4, "utf32": 4, "gbk": 2, "sjis": 2}

ROW_FORMAT = re.compile(r" ROW_FORMAT=(\w+)", re.IGNORECASE)
BLOCK_SIZE = re.compile(r" `?KEY_BLOCK_SIZE`?=(\d+)", re.IGNORECASE)
NAME = r"`(?:[^`]|``)+`"
COLUMN = re.compile(rf"^  ({NAME}) (\w+)(?:\((\d+)\))?(.*?),?$", re.MULTILINE)
PLAIN_KEY = re.compile(rf"^  KEY ({NAME}) \((.*)\)(.*?)(,?)$", re.MULTILINE)
ANY_KEY = re.compile(r"^  (?:(?:PRIMARY|UNIQUE|FULLTEXT|SPATIAL) )?(?:KEY|CONSTRAINT) .*$", re.MULTILINE)
KEY_PART = re.compile(rf"({NAME})(?:\((\d+)\))?( DESC)?")
CHARSET = re.compile(r"(?:CHARACTER SET|CHARSET=)\s*(\w+)", re.IGNORECASE)
MOST_BYTES = re.compile(r"max key length is (\d+) bytes")
TEXT_TYPES = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
BINARY_TYPES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
BLOBS = ("tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob")
#: Bytes of a key's part of any other type, at most.
OTHER_BYTES = 16


class Refusal(NamedTuple):
    """A definition that a server with pages of size bytes refused, with its error number and text."""

    definition: str
    code: int
    reason: str
    size: int


class Try(NamedTuple):
    """A changed definition, and the clauses of the ALTER TABLE that makes the same change."""

    definition: str
    clauses: tuple[str, ...]

    def statement(self, table: str) -> str:
        """The ALTER TABLE; of many clauses only the first ones."""
        shown = ", ".join(self.clauses[:CLAUSES_SHOWN])
        more = len(self.clauses) - CLAUSES_SHOWN
        return f"ALTER TABLE {table} {shown}" + (f" and {more} more columns likewise" if more > 0 else "")


def tail(definition: str) -> int:
    """Where the options of a table begin in its definition, after the last bracket of its columns and keys."""
    found = re.search(r"^\) ENGINE=", definition, re.MULTILINE)
    return found.start() if found else len(definition)


def _replace_option(definition: str, pattern: re.Pattern, text: str) -> str:
    begin = tail(definition)
    return definition[:begin] + pattern.sub(text, definition[begin:])


def dynamic(refusal: Refusal) -> Try | None:
    """Row format DYNAMIC, which puts long values outside the page as a whole and lets keys have long columns."""
    options = refusal.definition[tail(refusal.definition) :]
    if refusal.code in WRONG_OPTIONS and not ROW_FORMAT.search(options) and not BLOCK_SIZE.search(options):
        return None
    changed = _replace_option(refusal.definition, BLOCK_SIZE, "")
    if ROW_FORMAT.search(options):
        changed = _replace_option(changed, ROW_FORMAT, " ROW_FORMAT=DYNAMIC")
    else:
        begin = changed.find("\n", tail(changed))
        end = len(changed) if begin < 0 else begin
        changed = f"{changed[:end]} ROW_FORMAT=DYNAMIC{changed[end:]}"
    clauses = ["ROW_FORMAT=DYNAMIC"] + (["KEY_BLOCK_SIZE=0"] if BLOCK_SIZE.search(options) else [])
    return Try(changed, tuple(clauses))


def smaller_blocks(refusal: Refusal) -> Try | None:
    """The largest KEY_BLOCK_SIZE that this page size has."""
    found = BLOCK_SIZE.search(refusal.definition, tail(refusal.definition))
    if not found or refusal.size > LARGEST_COMPRESSED_PAGE or int(found.group(1)) * 1024 <= refusal.size:
        return None
    text = f"KEY_BLOCK_SIZE={refusal.size // 1024}"
    return Try(_replace_option(refusal.definition, BLOCK_SIZE, f" {text}"), (text,))


def larger_blocks(refusal: Refusal) -> Try | None:
    """Compressed pages as large as the page size: a row must fit a compressed page as well."""
    found = BLOCK_SIZE.search(refusal.definition, tail(refusal.definition))
    if not found or refusal.size > LARGEST_COMPRESSED_PAGE or int(found.group(1)) * 1024 >= refusal.size:
        return None
    text = f"KEY_BLOCK_SIZE={refusal.size // 1024}"
    return Try(_replace_option(refusal.definition, BLOCK_SIZE, f" {text}"), (text,))


def share(sizes: Sequence[int], budget: int) -> list[int]:
    """Parts of a budget for things of these sizes: the small ones get all they need, the others as much as one another."""
    parts = [0] * len(sizes)
    left = budget
    for rank, number in enumerate(sorted(range(len(sizes)), key=lambda number: sizes[number])):
        parts[number] = min(sizes[number], left // (len(sizes) - rank))
        left -= parts[number]
    return parts


def column_bytes(kind: str, length: str | None, rest: str, charset: str) -> int:
    """Most bytes of a column's value, as far as a key counts them."""
    kind = kind.lower()
    if kind in TEXT_TYPES:
        own = CHARSET.search(rest)
        width = BYTES_PER_CHARACTER.get((own.group(1) if own else charset).lower(), 1)
        return int(length or 65535) * width
    if kind in BINARY_TYPES:
        return int(length or 65535)
    return OTHER_BYTES


def _table_charset(definition: str) -> str:
    found = CHARSET.search(definition, tail(definition))
    return found.group(1) if found else "latin1"


def _widened(refusal: Refusal, kinds: Sequence[str]) -> Try | None:
    """Short text columns made so long that their values may lie outside the page. No value changes by it.

    Columns of keys stay as they are, and so do those that others are computed from, since they can't be told apart from here.
    """
    definition = refusal.definition
    keys = "\n".join(ANY_KEY.findall(definition))
    charset = _table_charset(definition)
    clauses = []

    def widen(match: re.Match) -> str:
        name, kind, length, rest = match.groups()
        width = column_bytes(kind, "1", rest, charset)
        fits = kind.lower() in kinds and length and int(length) * width <= LONGEST_INSIDE_BYTES
        if not fits or name in keys or definition.count(name) > 1 or "GENERATED" in rest.upper():
            return match.group(0)
        new = "varbinary" if "binary" in kind.lower() else "varchar"
        clause = f"{name} {new}({LONGEST_INSIDE_BYTES // width + 1}){rest}"
        clauses.append(f"MODIFY {clause}")
        return f"  {clause}{',' if match.group(0).endswith(',') else ''}"

    begin = tail(definition)
    changed = COLUMN.sub(widen, definition[:begin]) + definition[begin:]
    return Try(changed, tuple(clauses)) if clauses else None


def widen_variable(refusal: Refusal) -> Try | None:
    return _widened(refusal, ("varchar", "varbinary"))


def widen_all(refusal: Refusal) -> Try | None:
    return _widened(refusal, ("varchar", "varbinary", "char"))


def shorter_prefixes(refusal: Refusal) -> Try | None:
    """Keys on the beginnings of their columns. Not for unique keys: these would forbid rows that are there."""
    limit = MOST_BYTES.search(refusal.reason)
    if not limit:
        return None
    charset = _table_charset(refusal.definition)
    begin = tail(refusal.definition)
    columns = {match.group(1): match.groups()[1:] for match in COLUMN.finditer(refusal.definition[:begin])}
    clauses = []

    def shorten(match: re.Match) -> str:
        name, parts, rest, comma = match.groups()
        shorter = _shorter_parts(parts, columns, charset, int(limit.group(1)))
        if shorter == parts:
            return match.group(0)
        clauses.extend((f"DROP KEY {name}", f"ADD KEY {name} ({shorter}){rest}"))
        return f"  KEY {name} ({shorter}){rest}{comma}"

    changed = PLAIN_KEY.sub(shorten, refusal.definition[:begin]) + refusal.definition[begin:]
    return Try(changed, tuple(clauses)) if clauses else None


def _shorter_parts(parts: str, columns: dict[str, tuple], charset: str, limit: int) -> str:
    """The parts of a key, the longest ones cut so that all together have no more bytes than the limit."""
    found = [match.groups() for match in KEY_PART.finditer(parts)]
    if any(name not in columns for name, _length, _order in found):
        return parts
    sizes = [column_bytes(columns[name][0], length or columns[name][1], columns[name][2], charset) for name, length, _order in found]
    if sum(sizes) <= limit:
        return parts
    texts = []
    for (name, length, order), size, room in zip(found, sizes, share(sizes, limit)):
        kind, _length, rest = columns[name]
        width = column_bytes(kind, "1", rest, charset)
        if room < size and kind.lower() in TEXT_TYPES + BINARY_TYPES:
            length = room // width
        texts.append(name + (f"({length})" if length else "") + (order or ""))
    return ",".join(texts)


#: What is tried for which errors, the mildest change first; changes of one row are made together.
TRIES: tuple[tuple[tuple[int, ...], tuple[Callable[[Refusal], Try | None], ...]], ...] = (
    (WRONG_OPTIONS, (smaller_blocks,)),
    (WRONG_OPTIONS, (dynamic,)),
    ((ROW_TOO_LARGE,), (larger_blocks,)),
    ((ROW_TOO_LARGE, COLUMN_OF_KEY_TOO_LONG), (dynamic,)),
    ((ROW_TOO_LARGE,), (widen_variable,)),
    ((ROW_TOO_LARGE,), (dynamic, widen_variable)),
    ((ROW_TOO_LARGE,), (widen_all,)),
    ((ROW_TOO_LARGE,), (dynamic, widen_all)),
    ((KEY_TOO_LONG,), (shorter_prefixes,)),
)


def tries(refusal: Refusal) -> Iterator[Try]:
    """Changed definitions that may be accepted, the mildest change first, each of them once."""
    seen = {refusal.definition}
    for codes, changes in TRIES:
        if refusal.code not in codes:
            continue
        clauses: tuple[str, ...] = ()
        current = refusal
        for change in changes:
            made = change(current)
            if made:
                clauses += made.clauses
                current = current._replace(definition=made.definition)
        if current.definition not in seen:
            seen.add(current.definition)
            yield Try(current.definition, clauses)

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Statements of a server's own work: out of its logs, which of them only read, and what kinds there are. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

#: So many statements of one kind, and so many kinds, are replayed.
OF_A_KIND = 50
KINDS = 200

#: A line that begins an entry of the general log: time or blanks, the connection, the command.
GENERAL = re.compile(r"^(?:\d{6}\s+\d{1,2}:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+)?\s+(\d+)\s+([A-Z][A-Za-z ]+)\t(.*)$")
LITERAL = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"", re.DOTALL)
COMMENT = re.compile(r"/\*(?!!).*?\*/|(?:--[ \t]|#)[^\n]*", re.DOTALL)
NUMBER = re.compile(r"\b(?:0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)\b", re.IGNORECASE)
#: What makes a statement more than a question for rows of tables.
NOT_PLAIN = re.compile(
    r"\bINTO\b|\bFOR\s+(UPDATE|SHARE)\b|\bLOCK\s+IN\b|\bNEXT\s+VALUE\b"
    r"|\b(SLEEP|BENCHMARK|GET_LOCK|RELEASE_LOCK|LOAD_FILE|NEXTVAL|SETVAL|LASTVAL)\s*\("
    r"|\b(information_schema|performance_schema|mysql|sys)\b\W*\.|/\*!|:=|;",
    re.IGNORECASE,
)
READS = re.compile(r"^\(*\s*(SELECT|WITH)\b.*\bFROM\b", re.IGNORECASE | re.DOTALL)
WRITES_AFTER_WITH = re.compile(r"^\(*\s*WITH\b.*\b(UPDATE|DELETE|INSERT|REPLACE)\b", re.IGNORECASE | re.DOTALL)
USE = re.compile(r"^use\s+`?([^`;]+)`?;?$", re.IGNORECASE)


class Statement(NamedTuple):
    """A statement with the schema it was sent in, and how often."""

    schema: str
    sql: str
    weight: int = 1


class Choice(NamedTuple):
    """What is replayed. left_out: how many statements were left out, by the reason."""

    statements: list[Statement]
    left_out: dict[str, int]
    kinds: list[tuple[str, int]]


def parse_log(text: str) -> Iterator[Statement]:
    """The statements of a slow log or a general log."""
    return parse_slow_log(text) if "\n# User@Host" in f"\n{text}" else parse_general_log(text)


def parse_general_log(text: str) -> Iterator[Statement]:
    """The statements of a general log; a statement may have several lines."""
    schemas: dict[str, str] = {}
    current: tuple[str, list[str]] | None = None
    for line in text.splitlines():
        match = GENERAL.match(line)
        if not match:
            if current:
                current[1].append(line)
            continue
        yield from _ended(current)
        connection, word, rest = match.groups()
        current = None
        if word == "Connect":
            on = re.search(r"@\S* (?:as \S+ )?on (\S+)", rest)
            schemas[connection] = on.group(1) if on and on.group(1) != "using" else ""
        elif word == "Init DB" or (word == "Query" and USE.match(rest.strip())):
            schemas[connection] = USE.sub(r"\1", rest.strip())
        elif word in ("Query", "Execute"):
            current = schemas.get(connection, ""), [rest]
    yield from _ended(current)


def parse_slow_log(text: str) -> Iterator[Statement]:
    """The statements of a slow log. The schema stands in a comment (MariaDB) or in a statement that comes before."""
    schema = ""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("#"):
            yield from _ended((schema, lines))
            lines = []
            named = re.search(r"\bSchema: (\S+)", line)
            if named and named.group(1) != "QC_hit:":
                schema = named.group(1)
            continue
        use = USE.match(line.strip()) if not lines else None
        if use:
            schema = use.group(1)
        elif lines or not re.match(r"SET timestamp=|/\S+, Version: |Tcp port: |Time\s+Id", line):
            lines.append(line)
    yield from _ended((schema, lines))


def _ended(entry: tuple[str, list[str]] | None) -> Iterator[Statement]:
    if entry:
        sql = "\n".join(entry[1]).strip().rstrip(";").strip()
        if sql:
            yield Statement(entry[0], sql)


def plain(sql: str) -> str:
    """The statement without comments and with nothing in its texts, so that words in it are words of SQL."""
    return COMMENT.sub(" ", LITERAL.sub("''", sql)).strip()


def why_not(statement: Statement) -> str | None:
    """Why a statement is not replayed; none when it only reads rows of tables."""
    text = plain(statement.sql)
    if not READS.match(text) or WRITES_AFTER_WITH.match(text):
        return "it is no question for rows of a table"
    if NOT_PLAIN.search(text):
        return "it does more than read rows of tables of a user"
    if statement.sql.endswith("...") and not text.endswith("''"):
        return "the server has kept its beginning only"
    return None


def kind_of(sql: str) -> str:
    """The statement with a mark in place of each value: statements of the same kind are the same."""
    text = NUMBER.sub("?", plain(sql).replace("''", "?"))
    text = re.sub(r"\s+", " ", text)
    return re.sub(r"\(\s*\?(?:\s*,\s*\?)+\s*\)", "(?, ...)", text)


def choose(statements: Iterable[Statement], limit_of_kind: int = OF_A_KIND, limit_of_kinds: int = KINDS) -> Choice:
    """Statements that only read, some of each kind, weighted so that the kinds are as frequent as they were."""
    left_out: Counter[str] = Counter()
    by_kind: dict[tuple[str, str], list[Statement]] = {}
    total: Counter[tuple[str, str]] = Counter()
    for each in statements:
        reason = why_not(each)
        if reason:
            left_out[reason] += each.weight
            continue
        key = each.schema, kind_of(each.sql)
        total[key] += each.weight
        known = by_kind.setdefault(key, [])
        if len(known) < limit_of_kind:
            known.append(each)
    chosen = []
    for key, weight in total.most_common(limit_of_kinds):
        own = by_kind[key]
        chosen += [each._replace(weight=max(1, round(weight / len(own)))) for each in own]
    for _key, weight in total.most_common()[limit_of_kinds:]:
        left_out["its kind is rare"] += weight
    return Choice(chosen, dict(left_out), [(key[1], weight) for key, weight in total.most_common(limit_of_kinds)])


def written(statements: Iterable[Statement]) -> str:
    """The file that the script for sysbench reads: schema, weight and statement on a line, with texts as hexadecimal digits."""
    return "".join(f"{_hexadecimal(each.schema)} {each.weight} {_hexadecimal(each.sql)}\n" for each in statements)


def _hexadecimal(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").hex()

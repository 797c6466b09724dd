# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""InnoDB's own dictionary as a running server shows it: tables, columns and indexes, without opening a table.

It knows everything that counts for the size of rows and keys, but for one: of which columns only a beginning is in a key. For that the
server opens the table, so it is asked for few of them.

On a server with very many tables nearly all the time goes into taking rows apart in the client. So the server strings the rows together,
some hundred tables in one, and what many tables have in common is worked out once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from . import table_files
from .engines import MARIADB, Engine
from .errors import StatementError
from .facts import Limited, Omitted
from .size_limits import ROW_LIMITS, Column, Key, innodb_column, key_bytes, row_bytes
from .table_files import FULLTEXT, PASSING, SYSTEM_DIRECTORIES, without_partition
from .tables import STRAY_PREFIX

#: Between the values of a row and between rows: no name has a NUL, and no value is empty.
BETWEEN_VALUES = "\0"
BETWEEN_ROWS = "\0\0"
STRUNG_BYTES = 16 << 20
STRUNG_TOGETHER = 100
CUT_OFF_CODE = 1260
#: Bits of the type of an index: it holds the rows, or it is no B-tree of the declared columns.
CLUSTERED = 1
NOT_A_TREE = 32 | 64
#: Bits of a table's flags in MariaDB. Without rollback are sequences.
PAGE_COMPRESSED = 1 << 7
NO_ROLLBACK = 3 << 12
NAMES_AT_ONCE = 500
DECODED = "CONVERT(CAST(CAST(%s AS BINARY) AS CHAR CHARACTER SET filename) USING utf8mb4)"


@dataclass(eq=False)
class Structure:
    """Columns and keys, as many tables may have them in common."""

    columns: Mapping[str, Column] = field(default_factory=dict)
    keys: tuple[Key, ...] = ()

    def __post_init__(self) -> None:
        self._row_bytes: dict[str, int | None] = {}
        self.large_objects = any(column.large_object for column in self.columns.values())
        self.widest_key = self.widest(self.keys)
        # The widths of keys of which a beginning of a column may be all that is in them; None where only that can be.
        self.doubtful = [
            key_bytes(key, self.columns)
            for key in self.keys
            if any(not self.columns[name].fixed for name in key.columns if name in self.columns)
        ]

    def widest(self, keys: Iterable[Key]) -> int | None:
        """Bytes of the widest of some keys on these columns, None when that of none is known."""
        return max((width for width in (key_bytes(key, self.columns) for key in keys if key.columns) if width is not None), default=None)

    def row_bytes(self, row_format: str) -> int | None:
        """Bytes of the largest record the declaration allows, None for a row format that is not known."""
        if row_format not in self._row_bytes:
            known = row_format in ROW_LIMITS and self.columns
            primary = [name for key in self.keys if key.clustered for name in key.columns]
            self._row_bytes[row_format] = row_bytes(row_format, self.columns, primary) if known else None
        return self._row_bytes[row_format]

    def doubtful_above(self, width: float) -> bool:
        """Whether a key may be wider than this only because the whole of a column was counted of which a beginning is in it."""
        return any(each is None or each >= width for each in self.doubtful)


NOTHING_KNOWN = Structure()


@dataclass
class Definition:
    """A table of InnoDB, its partitions together. directory, stem: its schema and name as file names spell them.

    numbers, spaces: numbers of the table and of its tablespaces, one for each partition. key_block_size in bytes.
    """

    directory: str
    stem: str
    schema: str
    table: str
    row_format: str
    key_block_size: int | None
    compressed: bool
    sequence: bool = False
    numbers: list[int] = field(default_factory=list)
    spaces: list[int] = field(default_factory=list)
    structure: Structure = NOTHING_KNOWN

    @property
    def title(self) -> str:
        return f"{self.schema}.{self.table}"


def read_strung(limited: Limited, values: Sequence[str], source: str, together: str) -> Iterator[list[str]]:
    """Values of all rows of a source, as text. together: an expression that is equal for the rows to be strung together."""
    joined = ", '\\0', ".join(values)
    rows = limited.rows(f"SELECT COUNT(*) AS n, GROUP_CONCAT({joined} SEPARATOR '\\0\\0') AS strung FROM {source} GROUP BY {together}")
    for row in rows:
        parts = row["strung"].split(BETWEEN_ROWS)
        if len(parts) != int(row["n"]):
            raise StatementError(f"the server cut off rows of {source}", CUT_OFF_CODE, f"rows of {source} were cut off")
        for part in parts:
            yield part.split(BETWEEN_VALUES, len(values) - 1)


def read_definitions(limited: Limited, omitted: Omitted) -> list[Definition]:
    """All tables of the user's schemas in InnoDB, by name."""
    prefix = limited.engine.trait("dictionary_prefix")
    limited.rows(f"SET SESSION group_concat_max_len={STRUNG_BYTES}")
    found: dict[tuple[str, str], Definition] = {}
    values = ("table_id", "flag", "space", "zip_page_size", "row_format", "name")
    rows = read_strung(limited, values, f"information_schema.{prefix}tables", f"table_id DIV {STRUNG_TOGETHER}")
    for number, flags, space, zipped, row_format, name in rows:
        directory, slash, file = name.partition("/")
        stem = without_partition(file)
        if not slash or directory in SYSTEM_DIRECTORIES or stem.startswith(PASSING) or FULLTEXT.match(stem):
            continue
        entry = found.get((directory, stem))
        if entry is None:
            entry = found[directory, stem] = definition_of(limited.engine, directory, stem, row_format, int(flags), int(zipped))
        entry.numbers.append(int(number))
        entry.spaces.append(int(space))
    names = decode_names(limited, omitted, {part for key in found for part in key})
    with omitted.part("schema.columns"):
        add_structures(limited, prefix, found.values())
    for entry in found.values():
        entry.schema, entry.table = names[entry.directory], names[entry.stem]
    return sorted(found.values(), key=lambda entry: (entry.schema, entry.table))


def definition_of(engine: Engine, directory: str, stem: str, row_format: str, flags: int, zipped: int) -> Definition:
    """A table from InnoDB's list of tables; zipped: the size in bytes of its pages when they are compressed."""
    key_block_size = zipped if row_format == "Compressed" else 0
    flags = flags if engine.name == MARIADB else 0
    return Definition(
        directory=directory,
        stem=stem,
        schema="",
        table="",
        row_format=row_format,
        key_block_size=key_block_size or None,
        compressed=bool(key_block_size or flags & PAGE_COMPRESSED),
        sequence=bool(flags & NO_ROLLBACK),
    )


def add_structures(limited: Limited, prefix: str, definitions: Iterable[Definition]) -> None:
    """Columns and keys of all tables."""
    together = f"table_id DIV {STRUNG_TOGETHER}"
    of_table = "(SELECT table_id, GROUP_CONCAT(name, '\\0', mtype, '\\0', prtype, '\\0', len SEPARATOR '\\0') AS columns_strung"
    source = f"{of_table} FROM information_schema.{prefix}columns GROUP BY table_id) AS tables_strung"
    columns = dict(read_strung(limited, ("table_id", "columns_strung"), source, together))
    fields: dict[str, list[str]] = defaultdict(list)
    source = f"information_schema.{prefix}fields"
    for index, name in read_strung(limited, ("index_id", "name"), source, f"index_id DIV {STRUNG_TOGETHER}"):
        fields[index].append(name)
    keys: dict[str, list[Key]] = defaultdict(list)
    source = f"information_schema.{prefix}indexes"
    for table, index, kind, name in read_strung(limited, ("table_id", "index_id", "type", "name"), source, together):
        if not int(kind) & NOT_A_TREE:
            keys[table].append(Key(name, tuple(fields[index]), bool(int(kind) & CLUSTERED)))
    for entry in definitions:
        number = str(entry.numbers[0])
        entry.structure = structure_of(columns.get(number, ""), tuple(keys[number]))


@cache
def structure_of(strung_columns: str, keys: tuple[Key, ...]) -> Structure:
    """A structure, one for all tables that have it. strung_columns: name, type, flags and length of each."""
    return Structure(parse_columns(strung_columns), keys)


def parse_columns(strung: str) -> dict[str, Column]:
    """Columns by name from one string of names, types, flags and lengths."""
    parts = strung.split(BETWEEN_VALUES) if strung else []
    kinds = zip(map(int, parts[1::4]), map(int, parts[2::4]), map(int, parts[3::4]))
    return {name: innodb_column(*kind) for name, kind in zip(parts[::4], kinds)}


def decode_names(limited: Limited, omitted: Omitted, spelled: Iterable[str]) -> dict[str, str]:
    """Names as SQL has them from the spelling in file names; what only the server can read, it is asked for."""
    names = {each: table_files.decoded(each) for each in spelled}
    unknown = sorted(filter(table_files.needs_server, names))
    if not unknown:
        return names
    with omitted.part("schema.names"):
        if limited.engine.trait("definitions_in_dictionary"):
            names.update(match_names(limited, omitted, unknown))
            return names
        for begin in range(0, len(unknown), NAMES_AT_ONCE):
            part = unknown[begin : begin + NAMES_AT_ONCE]
            asked = ", ".join(f"{DECODED} AS n{number}" for number in range(len(part)))
            answer = limited.row(f"SELECT {asked}", part)
            names.update({each: answer[f"n{number}"] for number, each in enumerate(part)})
    return names


def match_names(limited: Limited, omitted: Omitted, unknown: Iterable[str]) -> dict[str, str]:
    """The same where the server does not know the spelling of its own files in SQL: by the names that may be meant."""
    rows = limited.rows("SELECT table_schema, table_name FROM information_schema.tables")
    # Names without a letter beyond ASCII need no server.
    candidates = sorted({name for row in rows for name in (row["table_schema"], row["table_name"]) if not name.isascii()})
    found = {each: table_files.matching(each, candidates) for each in unknown}
    unclear = sum(name is None for name in found.values())
    if unclear:
        omitted["schema.names"] = f"{unclear} names are told as file names have them: more than one may be meant"
    return {each: name for each, name in found.items() if name is not None}


def read_prefixes(limited: Limited, definitions: Iterable[Definition]) -> dict[str, dict[tuple[str, str], int]]:
    """Of which columns only a beginning is in a key, for these tables: title -> (key, column) -> bytes. The server opens them."""
    by_schema: dict[str, list[Definition]] = defaultdict(list)
    for each in definitions:
        if not each.schema.startswith(STRAY_PREFIX):
            by_schema[each.schema].append(each)
    if not by_schema:
        return {}
    widths = {
        row["character_set_name"]: int(row["maxlen"])
        for row in limited.rows("SELECT character_set_name, maxlen FROM information_schema.character_sets")
    }
    found: dict[str, dict[tuple[str, str], int]] = {}
    for schema, entries in by_schema.items():
        for begin in range(0, len(entries), NAMES_AT_ONCE):
            found.update(_prefixes_of(limited, schema, [each.table for each in entries[begin : begin + NAMES_AT_ONCE]], widths))
    return found


def _prefixes_of(limited: Limited, schema: str, names: list[str], widths: Mapping[str, int]) -> dict[str, dict[tuple[str, str], int]]:
    """The same for some tables of a schema. widths: bytes of a character by character set."""
    # The condition is on names alone, so that the server opens no other table.
    where = f"table_schema=%s AND table_name IN ({', '.join(['%s'] * len(names))})"
    wanted = (schema, *names)
    keys = limited.rows(f"SELECT table_name, index_name, column_name, sub_part FROM information_schema.statistics WHERE {where}", wanted)
    columns = limited.rows(f"SELECT table_name, column_name, character_set_name FROM information_schema.columns WHERE {where}", wanted)
    sets = {(row["table_name"], row["column_name"]): row["character_set_name"] for row in columns}
    found: dict[str, dict[tuple[str, str], int]] = {f"{schema}.{row['table_name']}": {} for row in keys}
    for row in keys:
        if row["sub_part"] is not None:
            width = widths.get(sets.get((row["table_name"], row["column_name"])), 1)
            found[f"{schema}.{row['table_name']}"][row["index_name"], row["column_name"]] = int(row["sub_part"]) * width
    return found


def with_prefixes(keys: Iterable[Key], prefixes: Mapping[tuple[str, str], int]) -> list[Key]:
    """The keys with the beginnings that were asked for."""
    return [key._replace(prefixes=tuple(prefixes.get((key.name, column)) for column in key.columns)) for key in keys]

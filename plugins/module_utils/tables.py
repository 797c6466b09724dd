# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The tables of a server and how the rows of each are read and written inside the server, without loss."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from .engines import Engine
from .errors import InnodbError
from .session import Session, apply_settings, quote, table_name
from .tablespace_files import read_files

SYSTEM_SCHEMA = "mysql"
VIRTUAL_SCHEMAS = ("information_schema", "performance_schema")
SPELLED = "CAST(CONVERT({} USING filename) AS BINARY)"
STRAY_PREFIX = "#mysql50#"  # how the server shows a directory whose name is no encoded schema name

#: How a value is written to a file so that reading it gives the same value back. All others are written as they are, in
#: their own character set. Measured: FLOAT prints 6 digits; BIT is written raw but not escaped; UUID and INET are read as
#: raw bytes when the file's character set is binary; ENUM's empty error value (number 0) becomes a member of that name.
EXPRESSIONS = {
    "enum": "{column}+0",
    "set": "{column}+0",
    "float": "{column}+0e0",
    "bit": "CONCAT({column})",
    "uuid": "CAST({column} AS BINARY(16))",
    "inet6": "CAST({column} AS BINARY(16))",
    "inet4": "CAST({column} AS BINARY(4))",
}

#: Types that are not read as what was written and need to be told how: as numbers, as text.
ASSIGNMENTS = {
    "enum": "CAST({value} AS UNSIGNED)",
    "set": "CAST({value} AS UNSIGNED)",
    "json": "CONVERT({value} USING utf8mb4)",
}

JSON = "json"  # of MySQL; a MariaDB server tells of a text
TEXT = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
#: Character sets in which no byte of a longer character can be taken for a tab, a newline or a backslash. The server does not
#: escape such bytes inside a character of another multi-byte set, so those texts are written as the bytes they are.
SELF_DELIMITING = ("utf8", "utf8mb3", "utf8mb4", "eucjpms", "ujis", "euckr", "gb2312")

TIMESTAMP = "timestamp"
TRANSACTION = "transaction"


@dataclass(frozen=True)
class Column:
    """A column. period is 'START' or 'END' for the two columns of a system-versioned table's period.

    wide_text: text in a character set whose characters may contain the bytes that delimit values in a file.
    """

    name: str
    data_type: str
    generated: bool = False
    period: str | None = None
    wide_text: bool = False

    @property
    def digest_expression(self) -> str:
        """The value as bytes. The text of a JSON document does not tell a date from a string, but its size in binary form does."""
        template = "CAST({expression} AS BINARY)"
        if self.data_type == JSON:
            template = "CONCAT(CAST({expression} AS BINARY),'/',JSON_STORAGE_SIZE(JSON_EXTRACT({expression},'$')))"
        return template.format(expression=self.expression)

    @property
    def expression(self) -> str:
        template = "CAST({column} AS BINARY)" if self.wide_text else EXPRESSIONS.get(self.data_type, "{column}")
        return template.format(column=quote(self.name))


@dataclass(frozen=True)
class Table:
    """A table. kind says how its rows are carried (see the trait storage_engines), versioning by what its history is kept.

    size_bytes: of data and indexes, by the server's own estimate or by its files. compressed: its rows take less room in the table than in
    a dump.
    """

    schema: str
    name: str
    engine: str
    kind: str
    columns: tuple[Column, ...] = field(default=(), repr=False)
    versioning: str | None = None
    sequence: bool = False
    size_bytes: int = 0
    primary_key: bool = False
    compressed: bool = False
    carry_history: bool = False

    @property
    def sql(self) -> str:
        return table_name(self.schema, self.name)

    @property
    def title(self) -> str:
        return f"{self.schema}.{self.name}"

    def carried_columns(self) -> list[Column]:
        """The columns that are written and read: not the computed ones, and the period only when the history is carried."""
        columns = [column for column in self.columns if not column.generated and column.period is None]
        if self.carry_history:
            explicit = [column for column in self.columns if column.period]
            columns += explicit or [Column("row_start", "timestamp"), Column("row_end", "timestamp")]
        return columns

    @property
    def source(self) -> str:
        """The table in a FROM clause: with its history, and in the order of the primary key where rows are stored in it."""
        text = self.sql
        if self.carry_history:
            text += " FOR SYSTEM_TIME ALL"
        elif self.primary_key and self.engine.lower() == "innodb":
            text += " FORCE INDEX (PRIMARY)"
        return text


def dump_statement(table: Table, path: str) -> str:
    """The server writes all rows of the table to a new file of its own, each value in its own character set."""
    expressions = ", ".join(column.expression for column in table.carried_columns())
    return f"SELECT {expressions} INTO OUTFILE '{_literal(path)}' CHARACTER SET binary FROM {table.source}"


def load_statement(table: Table, path: str) -> str:
    """The server reads the rows that dump_statement() wrote into an empty table."""
    targets, assignments = [], []
    for number, column in enumerate(table.carried_columns()):
        if column.data_type in ASSIGNMENTS:
            targets.append(f"@v{number}")
            assignments.append(f"{quote(column.name)}={ASSIGNMENTS[column.data_type].format(value=f'@v{number}')}")
        else:
            targets.append(quote(column.name))
    statement = f"LOAD DATA INFILE '{_literal(path)}' INTO TABLE {table.sql} CHARACTER SET binary ({', '.join(targets)})"
    return f"{statement} SET {', '.join(assignments)}" if assignments else statement


def digest_statement(table: Table, row_hash: str = "MD5({row})") -> str:
    """Row count and the sum, over all rows, of 64 bits of the hash of each row's values with their lengths.

    A sum does not depend on the order and does not cancel equal rows; lengths keep ('a','bc') and ('ab','c') apart.
    """
    parts = []
    for column in table.carried_columns():
        value = column.digest_expression
        parts.append(f"IFNULL(CONCAT(LENGTH({value}),':',{value}),'N')")
    row = f"CONCAT({','.join(parts)})"
    return f"SELECT COUNT(*) n, SUM(CAST(CONV(LEFT({row_hash.format(row=row)},16),16,10) AS UNSIGNED)) s FROM {table.source}"


def _literal(path: str) -> str:
    if any(character in path for character in "'\\\n"):
        raise InnodbError(f"the work directory's path {path!r} has a character that can't be used")
    return path


def schema_names(session: Session) -> list[str]:
    """Everything that the server takes for a schema."""
    return sorted(row["schema_name"] for row in session.rows("SELECT schema_name FROM information_schema.schemata"))


def user_schemas(session: Session) -> list[str]:
    """Schemas to be carried: all but the system's own and directories that are no schema."""
    others = (SYSTEM_SCHEMA, *VIRTUAL_SCHEMAS)
    return [name for name in schema_names(session) if name not in others and not name.startswith(STRAY_PREFIX)]


def stray_directories(session: Session) -> list[str]:
    """Directories in the data directory that the server takes for schemas but that can't have been made as such."""
    return sorted(name[len(STRAY_PREFIX) :] for name in schema_names(session) if name.startswith(STRAY_PREFIX))


def read_plugins(session: Session, engine: Engine) -> list[dict[str, str]]:
    """Name and library of the plugins that were installed by statement."""
    return session.rows("SELECT name, dl FROM mysql.plugin") if engine.trait("plugin_table") else []


def encoded(session: Session, name: str) -> str:
    """A schema's or table's name as the server spells it in the file system."""
    return session.value(f"SELECT {SPELLED.format('%s')}", (name,)).decode("ascii")


def read_stems(session: Session) -> dict[str, set[str]]:
    """Names of the user's schemas as the server spells them in the file system, with those of their tables and views."""
    stems: dict[str, set[str]] = {}
    for schema in user_schemas(session):
        rows = session.rows(
            f"SELECT {SPELLED.format('table_name')} AS stem FROM information_schema.tables WHERE table_schema=%s", (schema,)
        )
        stems[encoded(session, schema)] = {row["stem"].decode("ascii") for row in rows}
    return stems


def read_tables(session: Session, engine: Engine) -> list[Table]:
    """Every base table and sequence of the user's schemas and of the system schema, but for those that stay behind."""
    apply_settings(session, engine.trait("read_session"))
    kinds = engine.trait("storage_engines")
    left = engine.trait("system_tables_left")
    columns = _read_columns(session)
    primary = {
        (row["table_schema"], row["table_name"])
        for row in session.rows(
            "SELECT table_schema, table_name FROM information_schema.statistics WHERE index_name='PRIMARY' AND seq_in_index=1"
        )
    }
    sizes = _read_sizes(session, engine)
    tables = []
    for row in session.rows("SELECT table_schema, table_name, table_type, engine FROM information_schema.tables"):
        schema, name = row["table_schema"], row["table_name"]
        if schema in VIRTUAL_SCHEMAS or row["table_type"] in ("VIEW", "SYSTEM VIEW") or (schema == SYSTEM_SCHEMA and name in left):
            continue
        own = columns.get((schema, name), ())
        versioning = None
        if row["table_type"] == "SYSTEM VERSIONED":
            versioning = TRANSACTION if any(column.period and column.data_type == "bigint" for column in own) else TIMESTAMP
        storage = row["engine"] or "unknown"
        tables.append(
            Table(
                schema=schema,
                name=name,
                engine=storage,
                kind=kinds.get(storage.lower(), "unknown"),
                columns=own,
                versioning=versioning,
                sequence=row["table_type"] == "SEQUENCE",
                size_bytes=sizes.get((schema, name), (0, False))[0],
                compressed=sizes.get((schema, name), (0, False))[1],
                primary_key=(schema, name) in primary,
                carry_history=versioning == TIMESTAMP and engine.trait("history_loadable"),
            )
        )
    return sorted(tables, key=lambda table: (table.schema, table.name))


def _read_columns(session: Session) -> dict[tuple[str, str], tuple[Column, ...]]:
    columns = defaultdict(list)
    wide = {
        row["character_set_name"]
        for row in session.rows("SELECT character_set_name, maxlen FROM information_schema.character_sets")
        if int(row["maxlen"]) > 1 and row["character_set_name"] not in SELF_DELIMITING
    }
    for row in session.rows(
        "SELECT table_schema, table_name, column_name, data_type, extra, generation_expression, character_set_name"
        " FROM information_schema.columns ORDER BY table_schema, table_name, ordinal_position"
    ):
        expression = row["generation_expression"] or ""
        period = expression[len("ROW ") :] if expression in ("ROW START", "ROW END") else None
        generated = period is None and "GENERATED" in row["extra"].upper().split("DEFAULT_GENERATED")[-1]
        wide_text = row["data_type"] in TEXT and row["character_set_name"] in wide
        columns[row["table_schema"], row["table_name"]].append(Column(row["column_name"], row["data_type"], generated, period, wide_text))
    return {key: tuple(value) for key, value in columns.items()}


def _read_sizes(session: Session, engine: Engine) -> dict[tuple[str, str], tuple[int, bool]]:
    """Bytes of data and indexes, and whether the table is compressed; no table of another server is opened.

    The server's estimate lags behind the rows, by as much as the whole table where statistics are not kept up. So where more of a table's
    files is in use than that, the files count.
    """
    rows = session.rows(
        "SELECT table_schema, table_name, data_length, index_length, data_free, row_format, create_options FROM information_schema.tables"
        " WHERE engine IN ('InnoDB','MyISAM','Aria','CSV','ARCHIVE')"
    )
    # Only now, when their tables have been opened, are all files known to the server.
    files = read_files(session, engine) if engine.knows("table_files") else {}
    sizes = {}
    for row in rows:
        schema, name = row["table_schema"], row["table_name"]
        estimate = int(row["data_length"] or 0) + int(row["index_length"] or 0)
        used = sum(files.get(f"{schema}.{name}", {}).values()) - int(row["data_free"] or 0)
        compressed = "compress" in f"{row['row_format']} {row['create_options']}".lower() or row["row_format"] == "Archive"
        sizes[schema, name] = max(estimate, used), compressed
    return sizes

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a rehearsal knows of the running server: its schema, and figures of its tables that cost no look at their rows."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from . import row_sample
from .census import Census, read_definitions
from .dictionary_objects import read_objects, read_statements
from .errors import InnodbError, StatementError
from .instance import Instance
from .rehearsal import Schema
from .remedies import BLOBS
from .session import Session, apply_settings
from .size_prediction import TableFigures
from .tables import Table, read_plugins, read_tables
from .tablespace_files import is_part, read_files

#: Columns of text and of binary strings leave so many bytes in the page at most, whatever the row format.
MOST_INSIDE_BYTES = 768
OTHER_COLUMN_BYTES = 8
LARGE_OBJECTS = (*BLOBS, "json", "geometry")


class Statistics(NamedTuple):
    """What the server knows of a table without looking at its rows. width: bytes that a row may take in its page."""

    rows: int
    row_bytes: float
    width: int
    indexes: int
    key: tuple[str, ...]


@dataclass
class Source:
    """The running server: its schema, statistics of InnoDB's tables, their files with bytes, and what could not be read."""

    page_size: int
    schema: Schema
    statistics: dict[str, Statistics]
    files: dict[str, dict[str, int]]
    encrypted: bool
    notes: list[str] = field(default_factory=list)

    def figures(self, table: Table) -> TableFigures:
        files, known = self.files.get(table.title, {}), self.statistics[table.title]
        parts = sum(1 for name in files if is_part(name))
        large_objects = any(column.data_type in LARGE_OBJECTS for column in table.columns)
        return TableFigures(sum(files.values()) or table.size_bytes, known.rows, known.indexes, max(parts, 1), large_objects)


def read_source(session: Session, instance: Instance) -> Source:
    """Look at the running server, without a scan of a table or a wait for a lock."""
    row_sample.prepare_session(session, instance.engine)
    apply_settings(session, instance.engine.trait("read_session"))
    variables = session.variables("datadir", "innodb_page_size", "innodb_encrypt_tables")
    if os.path.realpath((variables["datadir"] or "").rstrip("/")) != os.path.realpath(instance.datadir):
        raise InnodbError(
            f"the server that answers works in {variables['datadir']}, but the instance that was found works in {instance.datadir}",
            remedy="Say which instance is meant in innodb_instance, or which socket in innodb_login",
        )
    notes: list[str] = []
    statements = read_statements(session, instance.engine)
    tables = read_tables(session, instance.engine)
    census = _read_definitions(session, tables, notes)
    census.update(read_objects(session, instance.engine))
    tables = [table for table in tables if f"table {table.title}" in census]
    known = [table for table in tables if table.kind in ("rows", "volatile") or table.sequence]
    others = [table.title for table in tables if table not in known]
    if others:
        notes.append(f"tables of storage engines that keep their rows elsewhere: {listed(others)}")
    return Source(
        page_size=int(variables["innodb_page_size"] or 0),
        schema=Schema(tables, read_plugins(session, instance.engine), census, [each for each in statements if each.object in census]),
        statistics=_read_statistics(session),
        files=read_files(session, instance.engine),
        encrypted=(variables.get("innodb_encrypt_tables") or "OFF") != "OFF",
        notes=notes,
    )


def _read_definitions(session: Session, tables: list[Table], notes: list[str]) -> Census:
    """Definitions of all tables that can be opened; of the others the server's reason."""
    try:
        return read_definitions(session, tables)
    except StatementError as error:
        if error.code == 0:
            raise
    census: Census = {}
    for table in tables:
        try:
            census.update(read_definitions(session, [table]))
        except StatementError as error:
            if error.code == 0:
                raise
            notes.append(f"table {table.title}, which can't be read: {error.reason} (error {error.code})")
    return census


def _read_statistics(session: Session) -> dict[str, Statistics]:
    keys, indexes = defaultdict(list), defaultdict(set)
    unusable = set()
    for row in session.rows(
        "SELECT table_schema, table_name, index_name, column_name, sub_part, collation FROM information_schema.statistics"
        " ORDER BY table_schema, table_name, index_name, seq_in_index"
    ):
        name = f"{row['table_schema']}.{row['table_name']}"
        indexes[name].add(row["index_name"])
        if row["index_name"] == "PRIMARY":
            keys[name].append(row["column_name"])
            if row["sub_part"] or row["collation"] != "A":
                unusable.add(name)
    widths = {
        f"{row['table_schema']}.{row['table_name']}": int(row["width"])
        for row in session.rows(
            "SELECT table_schema, table_name,"
            f" SUM(LEAST(COALESCE(character_octet_length, {OTHER_COLUMN_BYTES}), {MOST_INSIDE_BYTES})) width"
            " FROM information_schema.columns GROUP BY table_schema, table_name"
        )
    }
    found = {}
    for row in session.rows(
        "SELECT table_schema, table_name, table_rows, avg_row_length FROM information_schema.tables WHERE engine='InnoDB'"
    ):
        name = f"{row['table_schema']}.{row['table_name']}"
        key = () if name in unusable else tuple(keys[name])
        count = len(indexes[name]) + ("PRIMARY" not in indexes[name])
        found[name] = Statistics(int(row["table_rows"] or 0), float(row["avg_row_length"] or 0), widths.get(name, 0), count, key)
    return found


def listed(names: Iterable[str], shown: int = 10) -> str:
    """The first of some names, and how many more there are."""
    names = list(names)
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")

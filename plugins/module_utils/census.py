# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The census: what is in a server, object by object, and how two servers differ.

A census is a dictionary: object ("table app.orders") -> aspect ("definition") -> value. Values of accounts, routines and
servers are hashes, since the rows hold passwords.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from .engines import Engine
from .errors import StatementError
from .session import Session, quote, table_name
from .tables import SYSTEM_SCHEMA, Table, user_schemas

Census = dict

#: Tables of the system schema that are compared row by row: kind of object, table, the columns that name the object.
CATALOGUE = (
    ("account", "global_priv", ("user", "host")),
    ("account", "user", ("user", "host")),
    ("grant on schema", "db", ("user", "host", "db")),
    ("grant on table", "tables_priv", ("user", "host", "db", "table_name")),
    ("grant on column", "columns_priv", ("user", "host", "db", "table_name", "column_name")),
    ("grant on routine", "procs_priv", ("user", "host", "db", "routine_name")),
    ("grant of proxy", "proxies_priv", ("user", "host", "proxied_user", "proxied_host")),
    ("role", "roles_mapping", ("user", "host", "role")),
    ("role", "role_edges", ("to_user", "to_host", "from_user", "from_host")),
    ("default role", "default_roles", ("user", "host", "default_role_user", "default_role_host")),
    ("dynamic grant", "global_grants", ("user", "host", "priv")),
    ("former password", "password_history", ("user", "host", "password_timestamp")),
    ("component", "component", ("component_urn",)),
    ("routine", "proc", ("db", "name", "type")),
    ("event", "event", ("db", "name")),
    ("server", "servers", ("server_name",)),
    ("plugin", "plugin", ("name",)),
    ("loadable function", "func", ("name",)),
)

#: Columns of these tables that the server writes by itself. They are carried, and are part of the digest of their table.
NO_CONTENT = ("last_executed",)


class Difference(NamedTuple):
    """One difference. id is what a user names to allow it: object and aspect."""

    object: str
    aspect: str
    before: Any
    after: Any

    @property
    def id(self) -> str:
        return f"{self.object} {self.aspect}"

    def as_dict(self) -> dict[str, Any]:
        return {"id": self.id, "object": self.object, "aspect": self.aspect, "before": self.before, "after": self.after}


def read_definitions(session: Session, tables: Iterable[Table]) -> Census:
    """Schemas and tables: what depends on the page size, and what can be read on a busy server."""
    census: Census = {}
    for schema in user_schemas(session):
        row = session.row(f"SHOW CREATE DATABASE {quote(schema)}")
        census[f"schema {schema}"] = {"definition": row["create database"]}
    properties = {
        (row["table_schema"], row["table_name"]): row
        for row in session.rows(
            "SELECT table_schema, table_name, engine, row_format, table_collation FROM information_schema.tables"
            " WHERE engine IN ('InnoDB','MyISAM','Aria','CSV','ARCHIVE','MEMORY')"
        )
    }
    for table in tables:
        if table.sequence:
            aspects = {"definition": session.row(f"SHOW CREATE SEQUENCE {table.sql}")["create table"]}
            state = session.row(f"SELECT * FROM {table.sql}")
            aspects["state"] = ", ".join(f"{name}={value}" for name, value in state.items())
        else:
            aspects = {"definition": table_definition(session, table)}
            row = properties.get((table.schema, table.name), {})
            for aspect in ("engine", "row_format", "table_collation"):
                aspects[aspect] = row.get(aspect) or ""
        census[f"table {table.title}"] = aspects
    return census


def table_definition(session: Session, table: Table) -> str:
    """SHOW CREATE TABLE, or the server's reason why the table can't be opened."""
    try:
        return session.row(f"SHOW CREATE TABLE {table.sql}")["create table"]
    except StatementError as error:
        if table.kind == "rows":
            raise
        return f"not to be opened: error {error.code}"


def read_census(session: Session, engine: Engine, tables: Iterable[Table]) -> Census:
    """Everything there is, on a server that nobody else uses, but for the objects of dictionary_objects."""
    tables = list(tables)
    census = read_definitions(session, tables)
    if not engine.trait("definitions_in_dictionary"):
        census.update(_read_views(session))
        census.update(_read_triggers(session))
    identity = {aspect: str(session.value(f"SELECT @@GLOBAL.{name}")) for aspect, name in engine.trait("server_identity").items()}
    if identity:
        census["server"] = identity
    names = {table.name for table in tables if table.schema == SYSTEM_SCHEMA}
    for kind, table, keys in CATALOGUE:
        if table in names:
            census.update(_read_rows(session, kind, table, keys))
    return census


def _read_views(session: Session) -> Census:
    census: Census = {}
    for row in session.rows("SELECT table_schema, table_name FROM information_schema.views"):
        shown = session.row(f"SHOW CREATE VIEW {table_name(row['table_schema'], row['table_name'])}")
        census[f"view {row['table_schema']}.{row['table_name']}"] = {
            "definition": shown["create view"],
            "character set": f"{shown['character_set_client']} {shown['collation_connection']}",
        }
    return census


def _read_triggers(session: Session) -> Census:
    names = (
        "event_manipulation, event_object_table, action_order, action_statement, action_timing, created, sql_mode, definer,"
        " character_set_client, collation_connection, database_collation"
    )
    census: Census = {}
    for row in session.rows(f"SELECT trigger_schema, trigger_name, {names} FROM information_schema.triggers"):
        aspects = {name: str(value) for name, value in row.items() if name not in ("trigger_schema", "trigger_name")}
        census[f"trigger {row['trigger_schema']}.{row['trigger_name']}"] = aspects
    return census


def _read_rows(session: Session, kind: str, table: str, keys: tuple[str, ...]) -> Census:
    census: Census = {}
    for row in session.rows(f"SELECT * FROM {table_name(SYSTEM_SCHEMA, table)}"):
        name = " ".join(_text(row[key]) or "''" for key in keys)
        content = repr([(column, row[column]) for column in row if column not in NO_CONTENT])
        census[f"{kind} {name}"] = {"content": hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()}
    return census


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def compare(before: Census, after: Census) -> list[Difference]:
    """All differences, sorted by object; an object that is there only once differs in its existence."""
    differences = []
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            differences.append(Difference(name, "existence", "present", "missing"))
        elif name not in before:
            differences.append(Difference(name, "existence", "missing", "present"))
        else:
            for aspect in sorted(before[name].keys() | after[name].keys()):
                old, new = before[name].get(aspect), after[name].get(aspect)
                if old != new:
                    differences.append(Difference(name, aspect, old, new))
    return differences


def refused(differences: Iterable[Difference], allowed: Iterable[str]) -> list[Difference]:
    """The differences that the user did not allow by exactly their id."""
    permitted = set(allowed)
    return [difference for difference in differences if difference.id not in permitted]

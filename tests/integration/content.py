# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is in a server, read with SQL of the tests' own, so that a mistake of the product's comparison does not hide here as well.

The result is a dictionary: object -> text. Rows are compared value by value in hexadecimal, with their history; long texts as hashes.
Statistics of InnoDB are left out: the server makes them anew by itself.
"""

from __future__ import annotations

import hashlib
from typing import Any

import pymysql

VIRTUAL = ("information_schema", "performance_schema", "sys")
# Rows of these lie elsewhere, or nowhere.
WITHOUT_ROWS = ("blackhole", "federated", "spider")
CATALOGUE = ("plugin", "servers", "func", "time_zone", "time_zone_name", "time_zone_transition", "time_zone_transition_type")
STATISTICS = ("table_stats", "column_stats", "index_stats")
GRANTS = ("db", "tables_priv", "columns_priv", "procs_priv", "proxies_priv", "roles_mapping", "global_priv")
TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "binary", "varbinary", "enum", "set")
BYTES = ("tinyblob", "blob", "mediumblob", "longblob")
SHAPES = ("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection")
LONG = 2000
# What the server says of a table of the engine MERGE whose parts do not fit together.
NOT_MERGEABLE = 1168

Content = dict


def read_content(connection: pymysql.connections.Connection) -> Content:
    """Everything that is to be the same after a migration."""
    with connection.cursor() as cursor:
        reader = Reader(cursor)
        for part in (reader.schemas, reader.tables, reader.views, reader.triggers, reader.routines, reader.events, reader.accounts):
            part()
        reader.server()
    return reader.content


def differences(before: Content, after: Content) -> list[str]:
    """One line for each object that is not the same."""
    lines = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, "missing"), after.get(name, "missing")
        if old != new:
            lines.append(f"{name}: {old[:LONG]} -> {new[:LONG]}")
    return lines


def require_equal(before: Content, after: Content) -> None:
    lines = differences(before, after)
    assert not lines, "\n".join(["not the same:", *lines])


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def hexadecimal(name: str, kind: str) -> str:
    """An expression for the exact bytes, or the exact number, of a column."""
    column = quote(name)
    if kind == "float":
        return f"HEX(CONCAT({column}+0e0))"
    if kind == "bit":
        return f"HEX({column}+0)"
    if kind in TEXTS or kind in BYTES or kind in SHAPES:
        return f"HEX({column})"
    return f"HEX(CONCAT({column}))"


class Reader:
    def __init__(self, cursor: Any) -> None:
        self.cursor = cursor
        self.content: Content = {}
        self.query("SET SESSION time_zone='+00:00', sql_mode='', lock_wait_timeout=20, max_statement_time=60")

    def query(self, sql: str, *params: Any) -> list[tuple]:
        self.cursor.execute(sql, params or None)
        return list(self.cursor.fetchall())

    def add(self, name: str, value: Any) -> None:
        assert name not in self.content, f"{name} twice"
        self.content[name] = str(value)

    def user_schemas(self) -> list[str]:
        rows = self.query("SELECT schema_name FROM information_schema.schemata ORDER BY 1")
        return [name for (name,) in rows if name not in (*VIRTUAL, "mysql") and not name.startswith("#mysql50#")]

    def schemas(self) -> None:
        for schema in self.user_schemas():
            self.add(f"schema {schema}", self.query(f"SHOW CREATE DATABASE {quote(schema)}"))

    def tables(self) -> None:
        for schema in self.user_schemas():
            rows = self.query(
                "SELECT table_name, table_type, engine FROM information_schema.tables"
                " WHERE table_schema=%s AND table_type<>'VIEW' ORDER BY 1",
                schema,
            )
            for name, kind, engine in rows:
                try:
                    self.table(schema, name, kind, (engine or "").lower())
                except pymysql.OperationalError as error:
                    if error.args[0] != NOT_MERGEABLE:
                        raise
                    self.add(f"table {schema}.{name}", error.args)

    def table(self, schema: str, name: str, kind: str, engine: str) -> None:
        title, sql = f"table {schema}.{name}", f"{quote(schema)}.{quote(name)}"
        if kind == "SEQUENCE":
            self.add(title, self.query(f"SHOW CREATE SEQUENCE {sql}"))
            self.add(f"{title} state", self.query(f"SELECT * FROM {sql}"))
            return
        self.add(title, self.query(f"SHOW CREATE TABLE {sql}")[0][1])
        if engine in WITHOUT_ROWS:
            return
        # The checksums of Aria's pages are on, whether somebody said so or not.
        self.add(
            f"{title} properties",
            self.query(
                "SELECT engine, row_format, table_collation, REPLACE(create_options, 'page_checksum=1 ', ''), table_comment, auto_increment"
                " FROM information_schema.tables WHERE table_schema=%s AND table_name=%s",
                schema,
                name,
            ),
        )
        self.add(f"{title} rows", self.rows(schema, name, sql, kind == "SYSTEM VERSIONED"))

    def rows(self, schema: str, name: str, sql: str, versioned: bool) -> str:
        columns = self.query(
            "SELECT column_name, data_type, generation_expression FROM information_schema.columns"
            " WHERE table_schema=%s AND table_name=%s ORDER BY ordinal_position",
            schema,
            name,
        )
        expressions = [hexadecimal(column, kind) for column, kind, _expression in columns]
        # The period of a versioned table may be columns of its own, or hidden ones.
        if versioned and not any(expression == "ROW START" for _column, _kind, expression in columns):
            expressions += ["HEX(CONCAT(row_start))", "HEX(CONCAT(row_end))"]
        history = " FOR SYSTEM_TIME ALL" if versioned else ""
        return summary(self.query(f"SELECT {', '.join(expressions)} FROM {sql}{history}"))

    def views(self) -> None:
        rows = self.query("SELECT table_schema, table_name FROM information_schema.views")
        for schema, name in rows:
            if schema in VIRTUAL:
                continue
            self.add(f"view {schema}.{name}", self.query(f"SHOW CREATE VIEW {quote(schema)}.{quote(name)}"))
        for row in self.query("SELECT * FROM information_schema.views ORDER BY table_schema, table_name"):
            if row[1] not in VIRTUAL:
                self.add(f"view {row[1]}.{row[2]} properties", row)

    def triggers(self) -> None:
        rows = self.query("SELECT * FROM information_schema.triggers ORDER BY trigger_schema, trigger_name")
        for row in rows:
            if row[1] not in VIRTUAL:
                self.add(f"trigger {row[1]}.{row[2]}", row)

    def routines(self) -> None:
        rows = self.query(
            "SELECT db, name, type, specific_name, language, sql_data_access, is_deterministic, security_type, param_list, returns, body,"
            " definer, created, modified, sql_mode, comment, character_set_client, collation_connection, db_collation, aggregate"
            " FROM mysql.proc WHERE db NOT IN ('sys','mysql')"
        )
        for row in rows:
            self.add(f"routine {row[0]}.{row[1]} {row[2]}", row)

    def events(self) -> None:
        for row in self.query("SELECT * FROM information_schema.events ORDER BY event_schema, event_name"):
            self.add(f"event {row[1]}.{row[2]}", row)
            self.add(f"event {row[1]}.{row[2]} definition", self.query(f"SHOW CREATE EVENT {quote(row[1])}.{quote(row[2])}"))

    def accounts(self) -> None:
        rows = self.query("SELECT user, host, JSON_VALUE(priv, '$.is_role') FROM mysql.global_priv ORDER BY 1, 2")
        for user, host, is_role in rows:
            account = "'{}'".format(user.replace("'", "''")) + ("" if is_role else f"@'{host}'")
            if not is_role:
                self.add(f"account {account}", self.query(f"SHOW CREATE USER {account}"))
            self.add(f"grants {account}", sorted(self.query(f"SHOW GRANTS FOR {account}")))
        for table in GRANTS:
            self.add(f"mysql.{table}", sorted(map(repr, self.query(f"SELECT * FROM mysql.{table}"))))

    def server(self) -> None:
        for table in CATALOGUE + STATISTICS:
            self.add(f"mysql.{table}", summary(self.query(f"SELECT * FROM mysql.{table}")))
        self.add("plugins", self.query("SELECT plugin_name, plugin_status, plugin_type FROM information_schema.plugins ORDER BY 1"))
        self.add("gtid_slave_pos", self.query("SELECT @@GLOBAL.gtid_slave_pos"))


def summary(rows: list[tuple]) -> str:
    """The rows in an order of their own; many of them as their number and a hash."""
    lines = sorted(map(repr, rows))
    text = "\n".join(lines)
    return text if len(text) <= LONG else f"{len(lines)} rows, {hashlib.sha256(text.encode()).hexdigest()}"

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Objects that a server keeps in its dictionary and not in files or tables that clients can write: carried by statements.

MySQL 8 and later keep tablespaces, spatial reference systems, routines, views, triggers, events and histograms there. Where
definitions lie in files (trait definitions_in_dictionary), there are none of these here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .census import Census, Difference
from .engines import Engine
from .errors import InnodbError, StatementError
from .session import Session, quote, table_name
from .tables import SYSTEM_SCHEMA, VIRTUAL_SCHEMAS

#: When an object is made: before the tables, after the rows of the tables are loaded.
FIRST, LAST = "first", "last"

#: Ranges of numbers of the spatial reference systems that MySQL makes itself: those of EPSG, and its own.
OWN_SYSTEMS = "srs_id<=32767 OR srs_id BETWEEN 60000000 AND 69999999"

#: Aspects that a throw-away server in another place can't have.
OF_THE_PLACE = ("path",)

ROUTINE_COLUMNS = (
    "routine_type, dtd_identifier, routine_body, external_language, is_deterministic, sql_data_access, security_type, sql_mode,"
    " routine_comment, definer, character_set_client, collation_connection, database_collation, created"
)
EVENT_COLUMNS = (
    "definer, time_zone, event_definition, event_type, execute_at, interval_value, interval_field, sql_mode, starts, ends, status,"
    " on_completion, event_comment, originator, character_set_client, collation_connection, database_collation, created"
)
TRIGGER_COLUMNS = (
    "event_manipulation, event_object_table, action_order, action_statement, action_timing, created, sql_mode, definer,"
    " character_set_client, collation_connection, database_collation"
)
NOT_OURS = ", ".join(f"'{name}'" for name in (SYSTEM_SCHEMA, *VIRTUAL_SCHEMAS))


@dataclass
class Statement:
    """How one object is made again. object is its name in the census.

    text: the statement with the bytes of the client that gave it, undecodable ones as surrogates; {path} stands for the file of a
    tablespace. session: settings of the session it needs; timestamp in seconds since 1970. database_collation: what the schema had.
    """

    object: str
    phase: str
    text: str
    schema: str | None = None
    session: dict[str, Any] = field(default_factory=dict)
    database_collation: str | None = None
    path: str | None = None


def read_statements(session: Session, engine: Engine) -> list[Statement]:
    """The statements that make all these objects again, in the order of making; those of views may depend on one another."""
    if not engine.trait("definitions_in_dictionary"):
        return []
    require_no_schema(session)
    statements = _tablespaces(session) + _spatial_systems(session)
    session.execute("SET character_set_results=binary")
    try:
        statements += _routines(session) + _views(session) + _triggers(session) + _events(session)
    finally:
        session.execute("SET NAMES utf8mb4")
    return statements + _histograms(session)


def read_objects(session: Session, engine: Engine) -> Census:
    """The census of these objects, from the server's own tables and not from the statements."""
    if not engine.trait("definitions_in_dictionary"):
        return {}
    require_no_schema(session)
    census: Census = {}
    for row in _general_tablespaces(session):
        census[f"tablespace {row['name']}"] = {name: str(value) for name, value in row.items() if name != "name"}
    census["spatial reference systems"] = {"content": _hash(session.rows(_ALL_SYSTEMS))}
    views = (
        "SELECT table_schema, table_name, check_option, is_updatable, definer, security_type, character_set_client, collation_connection"
        f" FROM information_schema.views WHERE table_schema NOT IN ({NOT_OURS})"
    )
    for row in session.rows(views):
        schema, name = row["table_schema"], row["table_name"]
        census[f"view {schema}.{name}"] = {
            **_aspects(row, "table_schema", "table_name"),
            "definition": session.row(f"SHOW CREATE VIEW {table_name(schema, name)}")["create view"],
        }
    for row in session.rows(
        f"SELECT routine_schema, routine_name, routine_definition, {ROUTINE_COLUMNS} FROM information_schema.routines"
        f" WHERE routine_schema NOT IN ({NOT_OURS})"
    ):
        census[f"routine {row['routine_schema']}.{row['routine_name']} {row['routine_type']}"] = {
            **_aspects(row, "routine_schema", "routine_name"),
            "parameters": _hash(
                session.rows(
                    "SELECT ordinal_position, parameter_mode, parameter_name, dtd_identifier FROM information_schema.parameters"
                    " WHERE specific_schema=%s AND specific_name=%s AND routine_type=%s ORDER BY ordinal_position",
                    (row["routine_schema"], row["routine_name"], row["routine_type"]),
                )
            ),
        }
    for kind, columns in (("trigger", TRIGGER_COLUMNS), ("event", EVENT_COLUMNS)):
        for row in session.rows(
            f"SELECT {kind}_schema, {kind}_name, {columns} FROM information_schema.{kind}s WHERE {kind}_schema NOT IN ({NOT_OURS})"
        ):
            name = f"{kind} {row[f'{kind}_schema']}.{row[f'{kind}_name']}"
            census[name] = _aspects(row, f"{kind}_schema", f"{kind}_name")
    return census


def require_no_schema(session: Session) -> None:
    """InnodbError when a session has a default schema, whose name the server would leave out of definitions."""
    schema = session.value("SELECT DATABASE()")
    if schema is not None:
        raise InnodbError(f"definitions are read by a session in the schema {schema}", state="")


def read_statistics(session: Session, engine: Engine) -> Census:
    """The census of what the server knows of the values in columns, which needs their rows."""
    if not engine.trait("definitions_in_dictionary"):
        return {}
    census: Census = {}
    for row in session.rows("SELECT schema_name, table_name, column_name, histogram FROM information_schema.column_statistics"):
        histogram = json.loads(row["histogram"])
        # The time of its making is the one thing that its statement does not set.
        histogram.pop("last-updated", None)
        name = f"histogram {row['schema_name']}.{row['table_name']} {row['column_name']}"
        census[name] = {"content": json.dumps(histogram, sort_keys=True)}
    return census


def make_objects(session: Session, statements: Iterable[Statement], phase: str, in_place: bool) -> list[Difference]:
    """Make the objects of a phase, and return what the server refused.

    Whatever depends on something that comes later is tried again after it. in_place: tablespaces get the files they had.
    """
    waiting = [statement for statement in statements if statement.phase == phase]
    while waiting:
        refused: list[tuple[Statement, StatementError]] = []
        for number, statement in enumerate(waiting):
            try:
                _make(session, statement, in_place, number)
            except StatementError as error:
                if error.code == 0:
                    raise
                refused.append((statement, error))
        if len(refused) == len(waiting):
            return [
                Difference(statement.object, "existence", "present", f"{error.reason} (error {error.code})") for statement, error in refused
            ]
        waiting = [statement for statement, _error in refused]
    return []


def make_events_again(session: Session, statements: Iterable[Statement]) -> None:
    """Make events that replication switched off as their source has them; they keep everything but that."""
    off = session.rows(
        "SELECT event_schema, event_name FROM information_schema.events WHERE status IN ('REPLICA_SIDE_DISABLED','SLAVESIDE_DISABLED')"
    )
    for row in off:
        schema, name = row["event_schema"], row["event_name"]
        found = [statement for statement in statements if statement.object == f"event {schema}.{name}"]
        # One that the source has no more goes when its statement is applied.
        if found:
            session.execute(f"DROP EVENT {table_name(schema, name)}")
            refused = make_objects(session, found, LAST, True)
            if refused:
                raise InnodbError(f"{refused[0].object} was refused: {refused[0].after}", state="")


def _make(session: Session, statement: Statement, in_place: bool, number: int) -> None:
    schema, collation = statement.schema, None
    if schema:
        session.execute(f"USE {quote(schema)}")
        collation = session.value("SELECT default_collation_name FROM information_schema.schemata WHERE schema_name=%s", (schema,))
    text = statement.text
    if statement.path:
        text = text.replace("{path}", statement.path if in_place else f"pagesmith_{number}.ibd")
    other = statement.database_collation and statement.database_collation != collation
    before = session.row("SELECT @@sql_mode sql_mode, @@time_zone time_zone")
    try:
        if other:
            session.execute(f"ALTER DATABASE {quote(schema)} COLLATE {statement.database_collation}")
        for name, value in statement.session.items():
            session.execute(f"SET SESSION {name}=%s", (value,))
        session.execute(text.encode("utf-8", "surrogateescape"))
    finally:
        session.execute("SET NAMES utf8mb4")
        session.execute("SET SESSION sql_mode=%s, time_zone=%s, timestamp=DEFAULT", (before["sql_mode"], before["time_zone"]))
        if other:
            session.execute(f"ALTER DATABASE {quote(schema)} COLLATE {collation}")


def _aspects(row: dict[str, Any], *names: str) -> dict[str, str]:
    return {name: str(value) for name, value in row.items() if name not in names}


def _hash(rows: Sequence[dict[str, Any]]) -> str:
    return hashlib.sha256(repr([list(row.items()) for row in rows]).encode("utf-8", "surrogateescape")).hexdigest()


def _text(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def _literal(session: Session, value: str) -> str:
    return session.connection.escape(value)


_ALL_SYSTEMS = (
    "SELECT srs_id, srs_name, organization, organization_coordsys_id, definition, description"
    " FROM information_schema.st_spatial_reference_systems ORDER BY srs_id"
)


def _general_tablespaces(session: Session) -> list[dict[str, Any]]:
    return session.rows(
        "SELECT t.name, t.zip_page_size, t.autoextend_size, t.encryption, f.file_name AS path FROM information_schema.innodb_tablespaces t"
        " JOIN information_schema.files f ON f.tablespace_name=t.name WHERE t.space_type='General' AND t.name<>'mysql' ORDER BY t.name"
    )


def _tablespaces(session: Session) -> list[Statement]:
    found = []
    for row in _general_tablespaces(session):
        text = f"CREATE TABLESPACE {quote(row['name'])} ADD DATAFILE '{{path}}'"
        for option, value in (("FILE_BLOCK_SIZE", row["zip_page_size"]), ("AUTOEXTEND_SIZE", row["autoextend_size"])):
            text += f" {option}={value}" if int(value) else ""
        path = row["path"]
        found.append(Statement(f"tablespace {row['name']}", FIRST, text, path=path[2:] if path.startswith("./") else path))
    return found


def _spatial_systems(session: Session) -> list[Statement]:
    found = []
    for row in session.rows(
        "SELECT srs_id, srs_name, organization, organization_coordsys_id, definition, description"
        f" FROM information_schema.st_spatial_reference_systems WHERE NOT ({OWN_SYSTEMS}) ORDER BY srs_id"
    ):
        text = f"CREATE SPATIAL REFERENCE SYSTEM {row['srs_id']} NAME {_literal(session, row['srs_name'])}"
        text += f" DEFINITION {_literal(session, row['definition'])}"
        if row["organization"] is not None:
            text += f" ORGANIZATION {_literal(session, row['organization'])} IDENTIFIED BY {row['organization_coordsys_id']}"
        if row["description"] is not None:
            text += f" DESCRIPTION {_literal(session, row['description'])}"
        found.append(Statement("spatial reference systems", FIRST, text))
    return found


def _shown(session: Session, statement: str, column: str, name: str, schema: str, kind: str, **more: Any) -> Statement:
    """The statement of an object as SHOW CREATE gives it, with the session that made it."""
    row = session.row(statement)
    settings = {"sql_mode": _text(row["sql_mode"])} if "sql_mode" in row else {}
    if "time_zone" in row:
        settings["time_zone"] = _text(row["time_zone"])
    settings["character_set_client"] = _text(row["character_set_client"])
    settings["collation_connection"] = _text(row["collation_connection"])
    settings.update({key: value for key, value in more.items() if value is not None})
    collation = _text(row["database collation"]) if "database collation" in row else None
    return Statement(f"{kind} {schema}.{name}", LAST, _text(row[column]), schema, settings, collation)


def _routines(session: Session) -> list[Statement]:
    found = []
    for row in _listed(session, "routine", "routine_type", "routine_schema, routine_name"):
        schema, name, kind = _text(row["routine_schema"]), _text(row["routine_name"]), _text(row["routine_type"])
        shown = f"SHOW CREATE {kind} {table_name(schema, name)}"
        statement = _shown(session, shown, f"create {kind.lower()}", name, schema, "routine", timestamp=_moment(row))
        statement.object += f" {kind}"
        found.append(statement)
    return found


def _views(session: Session) -> list[Statement]:
    found = []
    for row in session.rows(
        f"SELECT table_schema, table_name FROM information_schema.views WHERE table_schema NOT IN ({NOT_OURS}) ORDER BY 1, 2"
    ):
        schema, name = _text(row["table_schema"]), _text(row["table_name"])
        found.append(_shown(session, f"SHOW CREATE VIEW {table_name(schema, name)}", "create view", name, schema, "view"))
    return found


def _triggers(session: Session) -> list[Statement]:
    found = []
    order = "trigger_schema, event_object_table, action_timing, event_manipulation, action_order"
    for row in _listed(session, "trigger", "event_object_table", order):
        schema, name = _text(row["trigger_schema"]), _text(row["trigger_name"])
        shown = f"SHOW CREATE TRIGGER {table_name(schema, name)}"
        found.append(_shown(session, shown, "sql original statement", name, schema, "trigger", timestamp=_moment(row)))
    return found


def _events(session: Session) -> list[Statement]:
    found = []
    for row in _listed(session, "event", "event_type", "event_schema, event_name"):
        schema, name = _text(row["event_schema"]), _text(row["event_name"])
        shown = f"SHOW CREATE EVENT {table_name(schema, name)}"
        found.append(_shown(session, shown, "create event", name, schema, "event", timestamp=_moment(row)))
    return found


def _listed(session: Session, kind: str, column: str, order: str) -> list[dict[str, Any]]:
    return session.rows(
        f"SELECT {kind}_schema, {kind}_name, {column}, UNIX_TIMESTAMP(created) AS moment FROM information_schema.{kind}s"
        f" WHERE {kind}_schema NOT IN ({NOT_OURS}) ORDER BY {order}"
    )


def _moment(row: dict[str, Any]) -> float | None:
    """Seconds since 1970, with a millisecond more: the server cuts what is behind its digits off."""
    return None if row["moment"] is None else float(_text(row["moment"])) + 0.001


def _histograms(session: Session) -> list[Statement]:
    found = []
    for row in session.rows(
        "SELECT schema_name, table_name, column_name, histogram FROM information_schema.column_statistics ORDER BY 1, 2, 3"
    ):
        schema, table, column = row["schema_name"], row["table_name"], row["column_name"]
        text = f"ANALYZE TABLE {table_name(schema, table)} UPDATE HISTOGRAM ON {quote(column)} USING DATA"
        text += f" {_literal(session, row['histogram'])}"
        found.append(Statement(f"histogram {schema}.{table} {column}", LAST, text))
    return found

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The restore: a dump into an empty server that nobody else can reach. Any statement that fails, or warns, is a failure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Callable

from .carriers import Reader
from .census import Difference
from .data_directory import copy_file
from .dictionary_objects import FIRST, LAST, Statement, make_objects
from .digest import digest
from .engines import Engine
from .errors import InnodbError, StatementError
from .logical_dump import DEFINITIONS
from .manifest import DumpFile, Manifest
from .private_server import PrivateServer
from .session import Session, apply_settings, quote
from .tables import SYSTEM_SCHEMA, Table
from .transfer import Job, run_jobs

LOAD_SQL_MODE = "NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION"
WARNINGS_SHOWN = 3
DEFAULT_ROW_FORMATS = ("redundant", "compact", "dynamic")


class Refused(InnodbError):
    """The target server does not take an object; difference says which and why, as the comparison would."""

    def __init__(self, difference: Difference) -> None:
        self.difference = difference
        super().__init__(f"{difference.object} is refused by the target server: {difference.after}", state="")


def create_schema(
    session: Session,
    engine: Engine,
    manifest_plugins: Iterable[dict],
    tables: list[Table],
    census: dict,
    allowed: Iterable[str],
    in_place: bool,
    statements: Iterable[Statement] = (),
) -> list[Difference]:
    """Make all schemas, sequences and tables, with the objects that come before them, and return what the server refused.

    A table whose refusal the user allowed is made with innodb_strict_mode off. in_place: DATA DIRECTORY is honoured.
    """
    allowed = set(allowed)
    apply_settings(session, engine.trait("create_session"))
    mode = "NO_ENGINE_SUBSTITUTION" if in_place else "NO_ENGINE_SUBSTITUTION,NO_DIR_IN_CREATE"
    session.execute("SET SESSION sql_mode=%s, foreign_key_checks=0, unique_checks=0", (mode,))
    install_plugins(session, manifest_plugins)
    refused = make_objects(session, statements, FIRST, in_place)
    session.execute("DROP DATABASE IF EXISTS sys")
    session.execute("DROP DATABASE IF EXISTS test")
    present = {
        (row["table_schema"], row["table_name"]) for row in session.rows("SELECT table_schema, table_name FROM information_schema.tables")
    }
    # A directory that an option names inside the data directory looks like a schema from the start.
    schemas = {row["schema_name"] for row in session.rows("SELECT schema_name FROM information_schema.schemata")}
    for name, aspects in census.items():
        if name.startswith("schema ") and name[len("schema ") :] not in schemas:
            session.execute(aspects["definition"])
    for table in sorted(tables, key=lambda table: (not table.sequence, table.schema, table.name)):
        if (table.schema, table.name) in present or table.kind in ("definition", "files"):
            continue
        aspects = census[f"table {table.title}"]
        strict = f"table {table.title} creation" not in allowed
        session.execute(f"SET SESSION innodb_strict_mode={int(strict)}")
        session.execute(f"USE {quote(table.schema)}")
        set_default_row_format(session, table, aspects)
        try:
            session.execute(aspects["definition"])
        except StatementError as error:
            reason = _refusal_reason(session, error)
            refused.append(Difference(f"table {table.title}", "creation", "accepted", reason))
            continue
        if table.sequence:
            _set_sequence(session, table, aspects["state"])
    return refused


def set_default_row_format(session: Session, table: Table, aspects: dict) -> None:
    """A table made when the server had another default has its row format, but no definition says so."""
    row_format = aspects.get("row_format", "").lower()
    if table.engine.lower() == "innodb" and row_format in DEFAULT_ROW_FORMATS and "ROW_FORMAT=" not in aspects["definition"]:
        session.execute("SET GLOBAL innodb_default_row_format=%s", (row_format,))


def _refusal_reason(session: Session, error: StatementError) -> str:
    """The server's error with the warnings that explain it ("Wrong create options" alone tells nobody anything)."""
    if error.code == 0:
        raise error
    texts = [row["message"] for row in session.rows("SHOW WARNINGS") if int(row["code"]) != error.code]
    return f"{error.reason} (error {error.code})" + "".join(f"; {text}" for text in texts[:WARNINGS_SHOWN])


def install_plugins(session: Session, plugins: Iterable[dict]) -> None:
    active = {row["plugin_name"].lower() for row in session.rows("SELECT plugin_name FROM information_schema.plugins")}
    for plugin in plugins:
        if plugin["name"].lower() not in active:
            session.execute(f"INSTALL PLUGIN {quote(plugin['name'])} SONAME %s", (plugin["dl"],))


def _set_sequence(session: Session, table: Table, state: str) -> None:
    values = dict(part.split("=", 1) for part in state.split(", "))
    session.value(f"SELECT SETVAL({table.sql}, %s, 0, %s)", (int(values["next_not_cached_value"]), int(values["cycle_count"])))


def load(
    server: PrivateServer,
    engine: Engine,
    manifest: Manifest,
    directory: str,
    workers: int,
    tick: Callable[[int], None],
    allowed: Iterable[str] = (),
) -> None:
    """Load all rows, the accounts last, so that the sessions of this run keep their rights to the end.

    The files were checked by who read the manifest; that their content arrived is proven by the comparison.
    """
    tables = {table.title: table for table in manifest.tables}
    accounts = {f"{SYSTEM_SCHEMA}.{name}" for name in engine.trait("account_tables")}
    user_files, system_files, account_files = [], [], []
    for file in manifest.files:
        if file.carrier is None:
            continue
        if file.table in accounts:
            account_files.append(file)
        elif tables[file.table].schema == SYSTEM_SCHEMA:
            system_files.append(file)
        else:
            user_files.append(file)

    def open_session() -> Session:
        session = server.session()
        prepare_load_session(session, engine)
        return session

    def load_user_table(session: Session, file: DumpFile) -> None:
        table = tables[file.table]
        load_table(session, engine, manifest, table, file, reader)
        set_counter(session, table, manifest.census[f"table {table.title}"]["definition"])
        session.rows(f"ANALYZE TABLE {table.sql}")

    reader = Reader(engine, directory, server.datadir)
    with open_session() as session:
        reader.prepare(session, {file.carrier for file in user_files})
    jobs = [Job(file, file.size_bytes) for file in user_files]
    run_jobs(jobs, workers, open_session, load_user_table, tick, small_beside=True)
    with open_session() as session:
        reader.finish(session)
        for difference in make_objects(session, manifest.statements, LAST, in_place=True):
            if difference.id not in allowed:
                raise Refused(difference)
        for file in system_files + account_files:
            session.execute(engine.trait("empty_table").format(table=tables[file.table].sql))
            load_table(session, engine, manifest, tables[file.table], file, reader)
        if manifest.coordinates.get("gtid_executed"):
            reset, purge = engine.trait("set_gtid_executed")
            session.execute(reset)
            session.execute(purge, (manifest.coordinates["gtid_executed"],))


def prepare_load_session(session: Session, engine: Engine) -> None:
    session.execute("SET SESSION sql_mode=%s, time_zone='+00:00', unique_checks=0, foreign_key_checks=0", (LOAD_SQL_MODE,))
    apply_settings(session, engine.trait("load_session"))


def load_table(session: Session, engine: Engine, manifest: Manifest, table: Table, file: DumpFile, reader: Reader) -> None:
    """Load one file into its empty table. A warning is forgiven only when the digest shows that the content is right."""
    if file.rows == 0:
        return
    with reader.statement(session, table, file.name, file.carrier) as statement:
        try:
            rows = session.execute(statement)
        except StatementError as error:
            raise InnodbError(
                f"the rows of {table.title} are refused by the target server: {error.reason} (error {error.code})", state=""
            ) from error
        warnings = session.rows(f"SHOW WARNINGS LIMIT {WARNINGS_SHOWN}")
    wanted = manifest.digests[f"table {table.title}"]
    if rows != file.rows or (warnings and digest(session, engine, table, wanted["method"]) != wanted):
        reason = "; ".join(row["message"] for row in warnings) or f"{rows} rows instead of {file.rows}"
        raise InnodbError(f"the rows of {table.title} were changed by loading: {reason}", state="")


def set_counter(session: Session, table: Table, definition: str) -> None:
    """Keep the counter of a table with rows that never counted (id 0): after a bulk load a restart would find another one.

    A counter that stands in the definition outlives the load by itself (measured).
    """
    counts = re.search(r" AUTO_INCREMENT[,\n]", definition) and not re.search(r"\) ENGINE=\S+ AUTO_INCREMENT=\d+", definition)
    if table.engine.lower() == "innodb" and counts:
        session.execute(f"ALTER TABLE {table.sql} AUTO_INCREMENT=1")


def put_definition_files(manifest: Manifest, directory: str, datadir: str) -> None:
    """Copy views, triggers and tables of other engines into the data directory of a server that is down."""
    for file in manifest.files:
        if file.table is None:
            target = os.path.join(datadir, os.path.relpath(file.name, DEFINITIONS))
            copy_file(os.path.join(directory, file.name), target)

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The copy of a running server into its successor, from one state of it, while clients go on reading and writing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from . import census, dictionary_objects, digest, logical_dump
from .binary_log import Position
from .census import Census
from .engines import Engine
from .errors import InnodbError, StatementError
from .facts import require_own
from .following import current_position
from .live_options import Throttle
from .manifest import Manifest
from .session import Session, connect
from .source_snapshot import SourceSnapshot, definitions_wait
from .steps import XA_REMEDY, Context
from .tables import SYSTEM_SCHEMA, Table, read_plugins, read_tables

#: The counter of a table moves with every insert; it is compared when nothing moves any more.
COUNTER = re.compile(r"(\n\) ENGINE=\S+) AUTO_INCREMENT=\d+")
#: A table of the snapshot has another definition now, is gone, or is locked by who changes it.
CHANGED_CODES = (1412, 1146, 1205)
#: Schemas of the server's own, some of whose tables no snapshot covers. What is in them is read twice, or compared later.
OWN_SCHEMAS = (SYSTEM_SCHEMA, "sys")
#: What one server has of its own and another can't have while both run.
OWN = "server"


@dataclass(frozen=True)
class Objects:
    """What was read of a server besides rows."""

    tables: list[Table]
    plugins: list[dict[str, str]]
    census: Census
    statements: list[dictionary_objects.Statement]


def read_objects_of(session: Session, engine: Engine) -> Objects:
    """Everything but rows, each object as it is at the moment it is read."""
    tables = read_tables(session, engine)
    found = logical_dump.read_everything(session, engine, tables)
    return Objects(tables, read_plugins(session, engine), found, dictionary_objects.read_statements(session, engine))


def steady(objects: Census, sequences: dict[str, str] | None = None) -> Census:
    """A census without what moves while clients write, and with the sequences as they were at a certain moment, if given."""
    result: Census = {}
    for name, aspects in objects.items():
        if name == OWN:
            continue
        kept = {aspect: value for aspect, value in aspects.items() if aspect != "state"}
        if "definition" in kept:
            kept["definition"] = COUNTER.sub(r"\1", kept["definition"])
        if sequences and name in sequences:
            kept["state"] = sequences[name]
        result[name] = kept
    return result


def source_session(context: Context) -> Session:
    """A session to the running server, checked to be the one that is migrated."""
    session = connect(context.instance.login(context.login))
    try:
        require_own(session.variables("datadir"), context.instance)
        session.execute(f"SET SESSION lock_wait_timeout={context.live.lock_seconds}")
    except BaseException:
        session.close()
        raise
    return session


class CopyInterrupted(InnodbError):
    """Somebody changes definitions while the rows are copied."""


class Copy:
    """One attempt to copy everything. snapshot is the state that is copied, objects what was there besides rows.

    begun_at: a position before anything was read.
    """

    def __init__(self, context: Context, directory: str) -> None:
        self.context = context
        self.engine = context.instance.engine
        self.directory = directory
        self.control = source_session(context)
        self.begun_at = current_position(self.control, self.engine)
        self.objects = read_objects_of(self.control, self.engine)
        self.snapshot = SourceSnapshot(
            lambda: source_session(context), self.engine, context.workers, context.live.lock_seconds, self.objects.tables
        )

    def __enter__(self) -> Copy:
        try:
            self.snapshot.__enter__()
            if self.control.rows("XA RECOVER"):
                # What was prepared before the copy could not be committed in the successor.
                raise CopyInterrupted("a prepared XA transaction waits for its outcome", state="", remedy=XA_REMEDY)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_details: object) -> None:
        self.snapshot.close()
        self.control.close()

    @property
    def position(self) -> Position:
        return self.snapshot.position

    def dump(self) -> Manifest:
        """Write everything to files; CopyInterrupted when a definition was changed under it."""
        try:
            return self._dump()
        except StatementError as error:
            if error.code not in CHANGED_CODES:
                raise
            raise CopyInterrupted(
                f"a definition was changed while the copy was made: {error.reason}",
                state="",
                remedy="Run again when no definitions are changed",
            ) from error

    def _dump(self) -> Manifest:
        """Write all rows to files. What no snapshot covers is written first and must be the same afterwards."""
        context, tables = self.context, self.objects.tables
        partial = self.directory + logical_dump.PARTIAL_SUFFIX
        system = [table for table in tables if table.schema in OWN_SCHEMAS]
        files, digests = self._rows(lambda: source_session(context), system, partial, 1)
        definitions = logical_dump.copy_definition_files(self.control, self.engine, tables, context.paths.datadir, partial)
        digests.update(logical_dump.file_digests(definitions))
        self.require_same()
        others = [table for table in tables if table.schema not in OWN_SCHEMAS]
        more, sums = self._rows(self.snapshot.session, others, partial, len(system) + 1)
        found = {name: {**aspects, **self._state(name)} for name, aspects in self.objects.census.items()}
        coordinates: dict[str, Any] = {"binlog_file": self.position.file, "binlog_position": self.position.offset}
        return Manifest(
            self.engine.title,
            context.before,
            coordinates,
            tables,
            files + definitions + more,
            found,
            {**digests, **sums},
            self.objects.plugins,
            statements=self.objects.statements,
        )

    def _state(self, name: str) -> dict[str, str]:
        state = self.snapshot.sequences.get(name)
        return {"state": state} if state is not None else {}

    def _rows(self, open_session: Any, tables: list[Table], directory: str, first: int) -> tuple[list, dict]:
        context = self.context
        throttle = Throttle(context.work.path, context.live.max_load, self._counters, context.progress.say)
        return logical_dump.dump_rows(
            open_session,
            self.engine,
            tables,
            directory,
            context.workers,
            context.digest_method,
            self._tick,
            context.progress.expect,
            throttle.wait,
            first,
        )

    def _counters(self) -> dict[str, str]:
        with source_session(self.context) as session:
            return {row["variable_name"].lower(): row["value"] for row in session.rows("SHOW GLOBAL STATUS")}

    def _tick(self, done: int) -> None:
        self.context.progress.report(done)
        if definitions_wait(self.control):
            # Whoever waits keeps everybody else from that table.
            raise CopyInterrupted(
                "a statement that changes a definition waits for the copy, which was given up for it",
                state="",
                remedy="Run again when no definitions are changed",
            )

    def require_same(self) -> None:
        """InnodbError when accounts, definitions or other objects changed around the state that is copied."""
        again = logical_dump.read_everything(self.control, self.engine, read_tables(self.control, self.engine))
        differences = census.compare(steady(self.objects.census), steady(again))
        if differences:
            raise CopyInterrupted(
                f"{differences[0].object} changed while the copy began", state="", remedy="Run again when no definitions are changed"
            )


def compared_tables(tables: Iterable[Table], engine: Engine) -> list[Table]:
    """Tables whose rows two running servers must have alike: not those that a server which follows writes for itself."""
    own = engine.trait("follower_tables")
    return [table for table in digest.with_content(tables) if not (table.schema == SYSTEM_SCHEMA and table.name in own)]

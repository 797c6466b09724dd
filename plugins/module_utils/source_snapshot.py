# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Several sessions that see one state of a running server, with the position of its binary log that belongs to that state."""

from __future__ import annotations

import queue
from collections.abc import Iterable
from typing import Any, Callable

from .binary_log import Position
from .engines import Engine
from .errors import InnodbError, StatementError
from .following import current_position
from .session import Session
from .tables import Table

LOCK_WAIT_CODE = 1205
#: A table that somebody wants to alter, or that is altered, waits for us or we for it.
DEFINITION_WAITS = "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE '%%metadata lock%%'"
BEGIN = "START TRANSACTION WITH CONSISTENT SNAPSHOT"


class PooledSession(Session):
    """A session that goes back to its snapshot instead of being closed."""

    def __init__(self, session: Session, give_back: Callable[[Session], None]) -> None:
        super().__init__(session.connection, session.title)
        self.give_back = give_back

    def close(self) -> None:
        self.give_back(self)


class SourceSnapshot:
    """A state of the server, seen by count sessions, as a context manager; commits wait while the sessions are opened.

    lock_seconds: how long the lock that is taken for a moment may wait, and clients with it. sequences: their rows at that state,
    since a sequence shows the same to every session.
    """

    def __init__(self, open_session: Callable[[], Session], engine: Engine, count: int, lock_seconds: int, tables: Iterable[Table]) -> None:
        self.open_session = open_session
        self.engine = engine
        self.count = count
        self.lock_seconds = lock_seconds
        self.tables = list(tables)
        self.sessions: list[Session] = []
        self.free: queue.SimpleQueue = queue.SimpleQueue()
        self.position = Position("", 0)
        self.gtid_executed: str | None = None
        self.sequences: dict[str, str] = {}

    def __enter__(self) -> SourceSnapshot:
        try:
            # One more than there are workers: it ends their statements when one of them fails.
            self.sessions = [self.open_session() for _number in range(self.count + 1)]
            for session in self.sessions:
                session.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            with self.open_session() as control:
                take_lock(control, self.lock_seconds)
                for session in self.sessions:
                    session.execute(BEGIN)
                self.position = current_position(control, self.engine)
                self.sequences = sequence_states(control, self.tables)
                if self.engine.trait("set_gtid_executed"):
                    self.gtid_executed = control.value("SELECT @@GLOBAL.gtid_executed").replace("\n", "")
                control.execute("UNLOCK TABLES")
        except BaseException:
            self.close()
            raise
        for session in self.sessions:
            self.free.put(PooledSession(session, self.free.put))
        return self

    def __exit__(self, *_details: object) -> None:
        self.close()

    def session(self) -> Session:
        """One of the sessions that see the state."""
        return self.free.get(timeout=60)

    def close(self) -> None:
        for session in self.sessions:
            session.close()


def take_lock(session: Session, seconds: int) -> None:
    """Hold all commits and changes of all accounts in this session; InnodbError when it can't be had in time."""
    session.execute(f"SET SESSION lock_wait_timeout={seconds}")
    try:
        session.execute("FLUSH TABLES WITH READ LOCK")
    except StatementError as error:
        if error.code != LOCK_WAIT_CODE:
            raise
        raise LockTimeout(
            f"a statement that changes data, or a lock, kept the server from being held still within {seconds} s",
            remedy="Let it end (SHOW PROCESSLIST), and run again",
        ) from error


class LockTimeout(InnodbError):
    """The lock was not to be had in time; nothing is held."""


def sequence_states(session: Session, tables: Iterable[Table]) -> dict[str, str]:
    """The rows of the sequences, as the census tells them."""
    return {f"table {table.title}": sequence_state(session, table) for table in tables if table.sequence}


def sequence_state(session: Session, table: Table) -> str:
    row: dict[str, Any] = session.row(f"SELECT * FROM {table.sql}") or {}
    return ", ".join(f"{name}={value}" for name, value in row.items())


def definitions_wait(session: Session) -> bool:
    """Whether some statement waits for the lock on a table's definition."""
    return int(session.value(DEFINITION_WAITS)) > 0

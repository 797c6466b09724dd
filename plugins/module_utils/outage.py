# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The time in which clients can't write: its parts and its limit, and the stop of a server that one of our sessions holds still."""

from __future__ import annotations

import time

from .errors import InnodbError, StatementError
from .session import Session
from .steps import Context

OTHERS = (
    "SELECT id FROM information_schema.processlist WHERE id<>CONNECTION_ID() AND user NOT IN ('system user','event_scheduler')"
    " AND command NOT LIKE 'Binlog Dump%%' AND command<>'Daemon'"
)
RECEIVERS = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%%'"
NO_SUCH_THREAD = 1094


class Parts:
    """The parts of the outage in seconds, and what is left of the time it may take."""

    def __init__(self, limit: float) -> None:
        self.begun = self.last = time.monotonic()
        self.limit = limit
        self.seconds: dict[str, float] = {}

    def mark(self, name: str) -> None:
        """The part of this name ends now."""
        now = time.monotonic()
        self.seconds[name] = round(now - self.last, 4)
        self.last = now

    def left(self) -> float:
        return self.limit - (time.monotonic() - self.begun)

    def require_left(self) -> None:
        if self.left() <= 0:
            raise InnodbError(
                f"the cut-over took longer than {self.limit:g} s: {self.seconds}",
                state="",
                remedy="Run again when less is written, or raise innodb_live.outage_seconds",
            )


def stop_held(context: Context, lock: Session, sockets: list[str]) -> None:
    """Stop the server that a session holds still. All other sessions are ended first, so that none commits when the lock goes.

    MySQL waits eight seconds and more while somebody receives its binary log (measured on 9.7), and lets no commit slip in, so there a
    successor that follows lets go first. A MariaDB server keeps what it says last for it. sockets: socket units that are stopped with it.
    """
    chosen, follower = [OTHERS], context.successor.follower
    if follower and context.instance.engine.trait("shutdown_waits_for_receivers"):
        follower.stop_receiving()
        chosen.append(RECEIVERS)
    for query in chosen:
        for row in lock.rows(query):
            end_session(lock, row["id"])
    # The server ends the session with the lock as well, when it takes no new connections any more.
    context.instance.stop(context.stop_timeout, sockets)
    lock.close()


def end_session(session: Session, number: str) -> None:
    try:
        session.execute(f"KILL {number}")
    except StatementError as error:
        # It has ended by itself.
        if error.code != NO_SUCH_THREAD:
            raise

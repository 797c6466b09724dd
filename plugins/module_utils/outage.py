# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The time in which clients can't write: its parts and its limit, and the stop of a server that one of our sessions holds still."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

from .errors import InnodbError, StatementError
from .session import Session
from .steps import Context

POLL_SECONDS = 0.005
GONE_CODE = 1094  # a session that has ended by itself
OTHERS = (
    "SELECT id FROM information_schema.processlist WHERE id<>CONNECTION_ID() AND user NOT IN ('system user','event_scheduler')"
    " AND command NOT LIKE 'Binlog Dump%%' AND command<>'Daemon'"
)


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


def stop_held(context: Context, lock: Session) -> None:
    """Stop the server that a session holds still. All other sessions are ended first, so that none commits when the lock goes."""
    for row in lock.rows(OTHERS):
        try:
            lock.execute(f"KILL {row['id']}")
        except StatementError as error:
            if error.code != GONE_CODE:
                raise
    with released_once_deaf(context.instance.socket, lock):
        context.instance.stop(context.stop_timeout)


@contextlib.contextmanager
def released_once_deaf(path: str, control: Session) -> Iterator[None]:
    """Close the session that holds the lock as soon as the server takes no new connections: MySQL would wait ten seconds for it."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(POLL_SECONDS):
            with socket.socket(socket.AF_UNIX) as knock:
                try:
                    knock.connect(path)
                except OSError:
                    break
        control.close()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()

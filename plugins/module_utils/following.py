# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A successor that follows the running server: told where to begin, started, waited for, stopped at a position."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .binary_log import Position
from .engines import Engine
from .errors import InnodbError
from .session import Session
from .socket_relay import SocketRelay

POLL_SECONDS = 0.02
FILTERS = ("replicate_do_db", "replicate_ignore_db", "replicate_do_table", "replicate_ignore_table", "replicate_wild_do_table")
FILTERS += ("replicate_wild_ignore_table", "replicate_rewrite_db", "replicate_do_domain_ids", "replicate_ignore_domain_ids")


@dataclass(frozen=True)
class Status:
    """How far a replica is. received and applied are positions in the binary log of its source; error is what stopped it."""

    received: Position
    applied: Position
    receiver: bool
    applier: bool
    error: str = ""


def parse_status(row: Mapping[str, Any]) -> Status:
    """From the row of SHOW SLAVE STATUS, or of SHOW REPLICA STATUS, whose names are of another word only."""
    names = {name.replace("source", "master").replace("replica", "slave"): value for name, value in row.items()}
    errors = [names.get("last_sql_error"), names.get("last_io_error")]
    return Status(
        received=Position(names["master_log_file"] or "", int(names["read_master_log_pos"] or 0)),
        applied=Position(names["relay_master_log_file"] or "", int(names["exec_master_log_pos"] or 0)),
        # 'Connecting' is no failure yet.
        receiver=names["slave_io_running"] != "No",
        applier=names["slave_sql_running"] == "Yes",
        error="; ".join(error for error in errors if error),
    )


def find_filters(row: Mapping[str, Any]) -> list[str]:
    """Names of the filters that are set."""
    return [name for name in FILTERS if row.get(name)]


def current_position(session: Session, engine: Engine) -> Position:
    """Where the binary log of a server ends; InnodbError when it has none, or leaves schemas out."""
    row = session.row(engine.trait("following")["position"])
    if row is None:
        raise InnodbError("the server writes no binary log", remedy="Switch log_bin on, or choose another innodb_strategy")
    filters = [name for name in ("binlog_do_db", "binlog_ignore_db") if row.get(name)]
    if filters:
        raise InnodbError(
            f"the binary log leaves schemas out ({', '.join(filters)})", remedy="Take these options out, or choose another innodb_strategy"
        )
    return Position(row["file"], int(row["position"]))


class Follower:
    """The replica of a session to the successor."""

    def __init__(self, session: Session, engine: Engine) -> None:
        self.session = session
        self.statements = engine.trait("following")

    def begin(self, relay: SocketRelay, user: str, password: str, at: Position) -> None:
        """Tell it its source, and let it receive from a position on, so that the log from there can't vanish any more."""
        statement = self.statements["change"].format(port=relay.port, offset=at.offset)
        self.session.execute(statement, (user, password, at.file))
        filters = find_filters(self.session.row(self.statements["status"]))
        if filters:
            raise InnodbError(
                f"the option files set replication filters ({', '.join(filters)}), which the successor would obey",
                remedy="Take them out, or choose another innodb_strategy",
            )
        self.session.execute(self.statements["start_receiver"])

    def start(self) -> None:
        self.session.execute(self.statements["start_receiver"])
        self.session.execute(self.statements["start_applier"])

    def status(self) -> Status:
        return parse_status(self.session.row(self.statements["status"]) or {})

    def require_running(self, applier: bool = True) -> Status:
        """The status; InnodbError with the server's own words when it has stopped."""
        status = self.status()
        if not status.receiver or (applier and not status.applier):
            raise InnodbError(f"the successor stopped following: {status.error or 'no reason is given'}", state="")
        return status

    def wait_applied(self, position: Position, seconds: float, running: bool = True) -> bool:
        """Wait until everything before a position is applied; whether that came to be in time."""
        deadline = time.monotonic() + seconds
        while True:
            status = self.require_running() if running else self.status()
            if reached(status.applied, position):
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_SECONDS)

    def pause(self) -> None:
        """Stop applying, between two transactions; receiving goes on."""
        self.session.execute(self.statements["stop_applier"])

    def stop_receiving(self) -> None:
        """Let go of the source; what was received is applied."""
        self.session.execute(self.statements["stop_receiver"])

    def apply_until(self, position: Position, seconds: float) -> None:
        """Apply what comes before a position, and stop there exactly."""
        if not reached(self.status().applied, position):
            self.session.execute(self.statements["start_applier_until"].format(offset=position.offset), (position.file,))
        if not self.wait_applied(position, seconds, running=False):
            raise InnodbError(f"the successor did not come to {position.file}:{position.offset} within {seconds:.0f} s", state="")
        # A server looks at the position it was told before the next event only, and there may be none for a long time.
        self.pause()
        status = self.status()
        if status.error or status.applied != position:
            raise InnodbError(
                f"the successor stopped at {status.applied.file}:{status.applied.offset} instead of {position.file}:{position.offset}:"
                f" {status.error or 'no reason is given'}",
                state="",
            )

    def resume(self) -> None:
        self.session.execute(self.statements["start_applier"])

    def forget(self) -> None:
        """Follow no more, and keep nothing of it."""
        self.session.execute(self.statements["stop"])
        self.session.execute(self.statements["forget"])


def reached(now: Position, wanted: Position) -> bool:
    """Whether a position is at or beyond another one of the same log."""
    return (_number(now), now.offset) >= (_number(wanted), wanted.offset)


def _number(position: Position) -> int:
    suffix = position.file.rpartition(".")[2]
    return int(suffix) if suffix.isdigit() else -1

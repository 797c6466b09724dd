# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The channels through which a server replicates, from what servers of several kinds show of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

#: One property by the names that servers gave it over the years; the first that is there counts.
NAMES = {
    "channel": ("connection_name", "channel_name"),
    "host": ("source_host", "master_host"),
    "port": ("source_port", "master_port"),
    "io": ("replica_io_running", "slave_io_running"),
    "sql": ("replica_sql_running", "slave_sql_running"),
    "lag": ("seconds_behind_source", "seconds_behind_master"),
    "gtid": ("gtid_slave_pos", "gtid_io_pos", "executed_gtid_set"),
    "error": ("last_io_error",),
    "sql_error": ("last_sql_error",),
    "by_gtid": ("using_gtid", "auto_position"),
    "applied_file": ("relay_source_log_file", "relay_master_log_file"),
    "applied_position": ("exec_source_log_pos", "exec_master_log_pos"),
    "read_file": ("source_log_file", "master_log_file"),
    "read_position": ("read_source_log_pos", "read_master_log_pos"),
    "delay": ("sql_delay",),
    "server_id": ("source_server_id", "master_server_id"),
    "server_uuid": ("source_uuid", "master_uuid"),
}
GROUP_CHANNELS = ("group_replication_applier", "group_replication_recovery")
LAG_SECONDS = 1
#: Values of a thread's state that mean that it was started.
STARTED = ("Yes", "Connecting", "Preparing")
BY_GTID = ("Slave_Pos", "Current_Pos", "1")


def named(row: Mapping[str, Any], what: str) -> Any:
    return next((row[name] for name in NAMES[what] if row.get(name) not in (None, "")), None)


def number(value: Any) -> int | None:
    return None if value in (None, "") else int(value)


class Channel(NamedTuple):
    """One source of a replica. io, sql: whether its threads were started. delay: seconds it is to stay behind.

    file and position: where in the source's binary log the next transaction begins that is to be applied; read_*: to be received.
    """

    name: str
    host: str | None
    port: int | None
    io: bool
    sql: bool
    by_gtid: bool
    file: str | None
    position: int | None
    gtid: str | None
    read_file: str | None
    read_position: int | None
    delay: int
    lag: int | None
    io_state: str
    sql_state: str
    error: str | None

    @property
    def title(self) -> str:
        return f"the channel '{self.name}' from {self.host}:{self.port}" if self.name else f"replication from {self.host}:{self.port}"

    @property
    def place(self) -> dict[str, Any]:
        """Up to where it was applied, in the terms in which it asks its source."""
        return {"gtid": self.gtid} if self.by_gtid else {"file": self.file, "position": self.position}

    def noted(self) -> dict[str, Any]:
        """What the journal keeps."""
        return {"channel": self.name, "host": self.host, "port": self.port, "io": self.io, "sql": self.sql, **self.place}


def channels_of(rows: Iterable[Mapping[str, Any]]) -> list[Channel]:
    """Channels from the rows of SHOW REPLICA STATUS and its elder forms."""
    return [
        Channel(
            name=named(row, "channel") or "",
            host=named(row, "host"),
            port=number(named(row, "port")),
            io=named(row, "io") in STARTED,
            sql=named(row, "sql") in STARTED,
            by_gtid=str(named(row, "by_gtid")) in BY_GTID,
            file=named(row, "applied_file"),
            position=number(named(row, "applied_position")),
            gtid=(named(row, "gtid") or "").replace("\n", "") or None,
            read_file=named(row, "read_file"),
            read_position=number(named(row, "read_position")),
            delay=number(named(row, "delay")) or 0,
            lag=number(named(row, "lag")),
            io_state=named(row, "io") or "No",
            sql_state=named(row, "sql") or "No",
            error=named(row, "error") or named(row, "sql_error"),
        )
        for row in rows
        if named(row, "channel") not in GROUP_CHANNELS and named(row, "host")
    ]


def trouble(channel: Channel) -> str | None:
    """Why it could not be proven that this replica goes on after a migration; None when it can."""
    if channel.sql and channel.sql_state != "Yes":
        return f"its applier is in the state {channel.sql_state}"
    if channel.io and channel.io_state != "Yes":
        return f"it does not reach its source ({channel.io_state}){_because(channel)}"
    if channel.error and not (channel.io and channel.sql):
        return f"it has stopped{_because(channel)}"
    return None


def counted_as_applied(channel: Channel) -> bool:
    """Whether a MariaDB replica will count transactions as applied in gtid_slave_pos that wait in its relay log.

    A receiver that asks by file and position gets the GTID of that place from its source each time it connects, and the server takes
    it for its gtid_slave_pos. A running applier soon sets it right; one that stands still does not.
    """
    return channel.io and not channel.sql and not channel.by_gtid and not applied(channel, channel.read_file, channel.read_position)


def _because(channel: Channel) -> str:
    return f": {channel.error}" if channel.error else ""


def behind(channel: Channel, wanted: Mapping[str, Any]) -> str | None:
    """What is missing until a channel replicates as it did, and has caught up; None when nothing is."""
    for thread, state in (("io", channel.io_state), ("sql", channel.sql_state)):
        if wanted[thread] and state != "Yes":
            return f"its {thread.upper()} thread is in the state {state}{_because(channel)}"
    if not (wanted["io"] and wanted["sql"]):
        return None
    if channel.lag is None:
        return "how far it is behind is not known yet"
    if channel.lag > channel.delay + LAG_SECONDS:
        return f"it is {channel.lag} s behind"
    return None


def lost(channel: Channel, wanted: Mapping[str, Any]) -> bool:
    """Whether waiting is of no use: a thread that was started has ended with an error."""
    ended = (wanted["io"] and channel.io_state == "No") or (wanted["sql"] and channel.sql_state == "No")
    return bool(ended and channel.error)


def applied(channel: Channel, file: str | None, position: int | None) -> bool:
    """Whether a channel has applied its source's binary log up to this place."""
    return (log_number(channel.file), channel.position or 0) >= (log_number(file), position or 0)


def log_number(file: str | None) -> int:
    suffix = (file or "").rpartition(".")[2]
    return int(suffix) if suffix.isdigit() else 0

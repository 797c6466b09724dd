# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A replica through a migration: stop it with its position noted, carry what it knows of its sources, let it go on, wait for it.

What a replica knows of its sources, passwords included, is in files or in tables of the server. Both are carried as they are, so nothing
of it passes through here. What is noted of a channel is what SHOW REPLICA STATUS tells, without account and password.
"""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterable, Mapping
from typing import Any, Callable

from .channels import Channel, applied, behind, channels_of, lost
from .data_directory import copy_file
from .durable import sync_directory
from .engines import Engine
from .errors import InnodbError
from .session import Session, table_name

TEMPORARY_TABLES_SECONDS = 60.0
POLL_SECONDS = 0.3
MEMORY_TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables WHERE engine='MEMORY'"
    " AND table_schema NOT IN ('information_schema','performance_schema','sys') ORDER BY table_schema, table_name"
)
#: So many looks in a row must find a channel caught up: between two bursts an applier may be idle for a moment.
LOOKS = 3
HOLD_REASON = "# The replica waits for its migration, which takes these lines away again."


def read_channels(session: Session, engine: Engine) -> list[Channel]:
    return channels_of(session.rows(engine.trait("replica_status")))


def statement(engine: Engine, verb: str, channel: str, threads: str = "") -> tuple[str, tuple[str]]:
    """START or STOP of a channel, and its parameters. threads: which, both when empty."""
    return engine.trait("replica_threads").format(verb=verb, threads=f"{threads} " if threads else ""), (channel,)


def read_state(session: Session, engine: Engine) -> dict[str, Any]:
    """What a server that is to be stopped is as a replica, for the journal."""
    found = read_channels(session, engine)
    variables = session.variables("relay_log_basename", *engine.trait("read_only_variables"))
    return {
        "channels": [channel.noted() for channel in found],
        "relay_log": variables.get("relay_log_basename"),
        "memory_tables": [table_name(row["table_schema"], row["table_name"]) for row in session.rows(MEMORY_TABLES)],
        "read_only": [name for name in engine.trait("read_only_variables") if variables.get(name) == "ON"],
    }


def stop(session: Session, engine: Engine, state: dict[str, Any]) -> dict[str, Any]:
    """Stop all channels, and return the state with the positions as they are then.

    A temporary table that a source's statements made lives in the applier only until the server ends. While there is one, the
    applier goes on; when there is no moment without one, replication goes on as it was, and InnodbError.
    """
    deadline = time.monotonic() + TEMPORARY_TABLES_SECONDS
    for channel in state["channels"]:
        session.execute(*statement(engine, "STOP", channel["channel"], "IO_THREAD"))
    while True:
        for channel in state["channels"]:
            session.execute(*statement(engine, "STOP", channel["channel"], "SQL_THREAD"))
        if not int(session.row("SHOW GLOBAL STATUS LIKE %s", (engine.trait("replica_temporary_tables"),))["value"]):
            break
        start(session, engine, state)
        if time.monotonic() > deadline:
            raise InnodbError(
                f"the replica has temporary tables of its source all the time for {TEMPORARY_TABLES_SECONDS:.0f} s, which would be lost",
                state="The server was not stopped, and replicates as it did.",
                remedy="Set binlog_format=ROW on the source, or migrate when its sessions use no temporary tables",
            )
        time.sleep(POLL_SECONDS)
    places = {channel.name: channel.place for channel in read_channels(session, engine)}
    return {**state, "channels": [{**channel, **places[channel["channel"]]} for channel in state["channels"]]}


def start(session: Session, engine: Engine, state: Mapping[str, Any]) -> None:
    """Start those threads that ran, of the channels that are there."""
    names = {channel.name for channel in read_channels(session, engine)}
    for channel in state["channels"]:
        if channel["channel"] not in names:
            continue
        if channel["io"] and channel["sql"]:
            session.execute(*statement(engine, "START", channel["channel"]))
        elif channel["io"] or channel["sql"]:
            session.execute(*statement(engine, "START", channel["channel"], "IO_THREAD" if channel["io"] else "SQL_THREAD"))


def require_places(session: Session, engine: Engine, state: Mapping[str, Any]) -> None:
    """InnodbError unless the replica has every channel of the state, at the very place where it was stopped or beyond."""
    found = {channel.name: channel for channel in read_channels(session, engine)}
    for wanted in state["channels"]:
        channel = found.get(wanted["channel"])
        if channel is None:
            raise InnodbError(f"the new server does not know the replication channel '{wanted['channel']}' from {wanted['host']}", state="")
        kept = all(channel.place.get(key) == wanted.get(key) for key in channel.place)
        if not kept and not (channel.io or channel.sql):
            raise InnodbError(f"{channel.title} is at {channel.place}, and was stopped at {wanted}", state="")


def wait_until_caught_up(
    session: Session, engine: Engine, state: Mapping[str, Any], seconds: float, tell: Callable[[str], None] = lambda text: None
) -> None:
    """Return when every channel replicates as it did and is not behind its source; InnodbError after seconds, or when it can't be."""
    deadline = time.monotonic() + seconds
    wanted = {channel["channel"]: channel for channel in state["channels"]}
    marks: dict[str, tuple[str | None, int | None]] = {}
    looks = 0
    said = None
    while looks < LOOKS:
        found = [channel for channel in read_channels(session, engine) if channel.name in wanted]
        missing = [f"the channel '{name}' is gone" for name in wanted.keys() - {channel.name for channel in found}]
        for channel in found:
            reason = behind(channel, wanted[channel.name])
            if reason is None and wanted[channel.name]["sql"]:
                mark = marks.setdefault(channel.name, (channel.read_file, channel.read_position))
                reason = None if channel.delay or applied(channel, *mark) else "it still applies what it has received"
            if reason is not None:
                missing.append(f"{channel.title}: {reason}")
            if lost(channel, wanted[channel.name]):
                raise not_replicating(f"{channel.title} has stopped: {reason}")
        looks = 0 if missing else looks + 1
        if missing and time.monotonic() > deadline:
            raise not_replicating(f"the replica has not caught up within {seconds:.0f} s: {'; '.join(missing)}")
        if missing and said is None:
            said = missing[0]
            tell(f"waiting: {said}")
        time.sleep(POLL_SECONDS)


def not_replicating(what: str) -> InnodbError:
    return InnodbError(
        what, state="", remedy="Look at the status of the replica, correct the cause, and run migrate again, which goes on waiting"
    )


def hold_lines(engine: Engine, suffix: str | None, state: Mapping[str, Any], init_file: str) -> str:
    """Lines of an option file that keep a replica from replicating, and from taking writes that it did not take before; pure."""
    options = [engine.trait("hold_option"), *(f"{name} = ON" for name in state["read_only"])]
    options += [f"init_file = {init_file}"] if state.get("memory_tables") else []
    return "\n".join(["", HOLD_REASON, f"[mysqld{suffix or ''}]", *options, ""])


def init_statements(own: str, state: Mapping[str, Any]) -> str:
    """What a held replica runs before any client gets to it, after the statements of its own init_file; pure.

    At the first use of a MEMORY table after a start the server writes a TRUNCATE to its binary log. Of a replica that is a transaction
    which its source has not, and with gtid_strict_mode the end of its replication. So the first use is one that is not logged.
    """
    lines = ["SET sql_log_bin=0;", *(f"SELECT 1 FROM {table} LIMIT 1;" for table in state.get("memory_tables", ()))]
    return "\n".join([own.rstrip("\n"), *lines, ""]).lstrip("\n")


def held(content: str | None, lines: str) -> str:
    """The content of our option file, which may not be there, with lines that hold a replica; pure."""
    return f"{without_hold(content, lines) or ''}{lines}"


def without_hold(content: str | None, lines: str) -> str | None:
    """The same without them; None when it was made for them alone. pure."""
    if content is None or not content.endswith(lines):
        return content
    return content[: -len(lines)] or None


def carried_names(datadir: str, engine: Engine, options: Mapping[str, Any], state: Mapping[str, Any]) -> list[str]:
    """Files of a stopped replica, by path in its data directory: what it knows of its sources, and its relay logs."""
    names = info_files(options)
    patterns = [pattern.format(**names) for pattern in engine.trait("replica_files")]
    found = {path for pattern in patterns for path in _files(datadir, pattern)}
    bases = [relay_log_of(path) for path in sorted(found) if os.path.basename(path).startswith(os.path.basename(names["relay"]))]
    for base in {base for base in [state.get("relay_log"), *bases] if base}:
        folder = os.path.relpath(os.path.realpath(os.path.dirname(os.path.join(datadir, base))), os.path.realpath(datadir))
        if folder.split(os.sep)[0] != os.pardir:
            stem = glob.escape(os.path.normpath(os.path.join(folder, os.path.basename(base))))
            found.update(path for pattern in (f"{stem}.*", f"{stem}-*") for path in _files(datadir, pattern))
    return sorted(os.path.relpath(path, datadir) for path in found)


def _files(directory: str, pattern: str) -> list[str]:
    paths = glob.glob(os.path.join(glob.escape(directory), pattern))
    return [path for path in paths if os.path.isfile(path) and not os.path.islink(path)]


def info_files(options: Mapping[str, Any]) -> dict[str, str]:
    """Where a server keeps what it knows of its sources, as patterns without the suffix .info."""
    names = {"source": options.get("master_info_file") or "master.info", "relay": options.get("relay_log_info_file") or "relay-log.info"}
    return {key: glob.escape(name[: -len(".info")] if name.endswith(".info") else name) for key, name in names.items()}


def relay_log_of(info_file: str) -> str | None:
    """The base of the relay logs that a file relay-log.info names: in its second line, after the number of its lines."""
    with open(info_file, encoding="utf-8", errors="surrogateescape") as file:
        lines = file.read().split("\n")
    return lines[1].rpartition(".")[0] if len(lines) > 1 else None


def carry(datadir: str, target: str, names: Iterable[str]) -> None:
    """Bring a replica's files into the new data directory. Relay logs are never written again, so a hard link is enough."""
    for name in names:
        source, copy = os.path.join(datadir, name), os.path.join(target, name)
        if os.path.lexists(copy):
            os.unlink(copy)
        if name.rpartition(".")[2].isdigit():
            os.link(source, copy)
        else:
            copy_file(source, copy)
    sync_directory(target)

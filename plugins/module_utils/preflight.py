# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Everything that stands against a migration, in one answer. Pure: facts in, blockers out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Callable

from .census import Difference
from .channels import counted_as_applied, trouble
from .errors import InnodbError
from .facts import Facts
from .option_file import Setting
from .option_values import MIB
from .page_size import label
from .space import needed_space


@dataclass(frozen=True)
class Blocker:
    """Something that stands against the migration. id is stable, object what it is about."""

    id: str
    object: str
    message: str
    remedy: str

    def as_dict(self) -> dict[str, str]:
        return {"id": self.id, "object": self.object, "message": self.message, "remedy": self.remedy}


@dataclass(frozen=True)
class Request:
    """What was asked for: target in bytes, ids of differences that are allowed, where the dump goes.

    sorted_at_once: of how many tables the rows may be put in order at the same time.
    """

    target: int
    allowed: frozenset[str]
    work_dir: str
    work_free_bytes: int
    same_file_system: bool
    other_run: bool = False
    overridden: tuple[tuple[Setting, Setting], ...] = ()
    drop_in: str | None = None
    server_files_unwritable: tuple[tuple[str, str], ...] = ()
    sorted_at_once: int = 0
    known_retained: frozenset[str] = frozenset()


def find_blockers(facts: Facts, request: Request) -> list[Blocker]:
    """All blockers, those of the request first. A difference of a table that the user allowed by its id is no blocker."""
    blockers: list[Blocker] = []
    for check in CHECKS:
        blockers += check(facts, request)
    return [blocker for blocker in blockers if not (blocker.id.startswith("table ") and blocker.id in request.allowed)]


def find_server_blockers(facts: Facts, request: Request) -> list[Blocker]:
    """Those that stand against an exchange of directories whatever the page size."""
    return [blocker for check in (_server, _activity, _layout, _placement) for blocker in check(facts, request)]


def already_there(facts: Facts, target: int) -> bool:
    """Whether the server itself runs at the target; files alone prove nothing."""
    return facts.server is not None and facts.server.variables.get("innodb_page_size") == str(target) and facts.page_size == target


def _engine(facts: Facts, request: Request) -> Iterable[Blocker]:
    engine = facts.instance.engine
    sizes = engine.trait("page_sizes")
    if request.target not in sizes:
        names = ", ".join(label(size) for size in sizes)
        yield Blocker("page_size", engine.title, f"{engine.title} has no {label(request.target)} pages", f"Choose one of {names}")
    if not engine.supported:
        yield Blocker(
            "engine",
            engine.title,
            f"{engine.title} can be looked at, but not migrated yet: no test was run on it",
            "See the support table in the documentation",
        )


def _server(facts: Facts, request: Request) -> Iterable[Blocker]:
    del request
    if facts.page_size is None:
        yield Blocker(
            "data_directory",
            facts.instance.datadir,
            f"{facts.instance.datadir} is no InnoDB data directory: {facts.instance.system_file} is missing or not understood",
            "Correct datadir in the option file, or name the instance in innodb_instance",
        )
    if not facts.running:
        yield Blocker(
            "server_down",
            facts.instance.name,
            "The server is not running",
            "Start it; what is in it can't be judged otherwise",
        )
    if facts.server is None:
        return
    server = facts.server
    reported = server.variables.get("innodb_page_size")
    if facts.page_size and reported != str(facts.page_size):
        yield Blocker(
            "page_size_unclear",
            facts.instance.system_file,
            f"The server says {reported} bytes, its first file {facts.page_size}",
            "Do nothing until it is clear which files the server uses",
        )
    for name in ("innodb_force_recovery", "innodb_read_only"):
        if server.variables.get(name) not in (None, "0", "OFF"):
            yield Blocker(name, name, f"{name} is {server.variables[name]}", "Repair the server first and take the option out")
    if not server.all_privileges:
        yield Blocker(
            "privileges",
            server.account,
            f"The account {server.account} has not all privileges, so it can't see and carry everything",
            "Log in with an account that has ALL PRIVILEGES ON *.*",
        )


def _activity(facts: Facts, request: Request) -> Iterable[Blocker]:
    if request.other_run:
        yield Blocker("locked", facts.instance.name, "Another run of this instance is in progress", "Wait for it to end")
    if facts.server is None:
        return
    server = facts.server
    if server.prepared_xa:
        yield Blocker(
            "prepared_xa",
            "XA",
            f"{server.prepared_xa} prepared XA transactions wait for their outcome",
            "Commit or roll back what XA RECOVER lists",
        )
    for text in server.long_transactions:
        yield Blocker("long_transaction", text, f"A transaction is open for long: {text}", "Let it end, or end it")
    for channel in server.channels:
        reason = trouble(channel)
        if reason:
            yield Blocker(
                f"replica {channel.name or 'default'}",
                channel.title,
                f"{channel.title} does not work, so it could not be proven that it goes on afterwards: {reason}",
                "Repair it, or stop it and empty its error (RESET SLAVE) if it is not to replicate",
            )
        elif facts.instance.engine.trait("gtid_slave_pos") and counted_as_applied(channel):
            yield Blocker(
                f"replica {channel.name or 'default'}",
                channel.title,
                f"{channel.title} has received transactions that its applier, which is stopped, has not applied, and its receiver runs:"
                " when that connects anew, by file and position, the server counts all of them as applied in gtid_slave_pos",
                f"Let the applier catch up (START SLAVE '{channel.name}' SQL_THREAD), or stop the receiver as well"
                f" (STOP SLAVE '{channel.name}' IO_THREAD) until the applier is to run",
            )
    if server.variables.get("wsrep_on") == "ON":
        yield Blocker(
            "galera",
            facts.instance.name,
            "The server is a node of a Galera cluster, and a node with another page size can't come back into it",
            "Stop all nodes but one, restart that one with wsrep_on=OFF, migrate it alone, and begin the cluster anew from it, as the"
            " section Galera of docs/fleet.md tells step by step",
        )


def _layout(facts: Facts, request: Request) -> Iterable[Blocker]:
    layout = facts.layout
    for path in layout.mounts_inside:
        yield Blocker("mount_inside", path, f"{path} is mounted inside the data directory, and a rename would carry it along", "Unmount it")
    for command in facts.sharing:
        yield Blocker(
            "shared_options",
            command,
            f"another server on this host, {command}, reads the same option files, and would be given the new page size",
            "Give each server an option file (--defaults-file) or a group suffix of its own",
        )
    for name in layout.system_files:
        if "/" in name:
            message = f"innodb_data_file_path names {name} by its path, so it can't be set aside with its directory"
            yield Blocker("data_file_path", name, message, "Use innodb_data_home_dir and plain file names")
    for path in layout.symbolic_links:
        yield Blocker(
            "symbolic_link",
            path,
            f"{path} is a symbolic link inside the data directory",
            "Move its target into the data directory",
        )
    for path, reason in request.server_files_unwritable:
        yield Blocker("unwritable", path, f"{path} can't be changed: {reason}", "Correct that and run again")
    others = {path: size for path, size in facts.leftovers.items() if path not in request.known_retained}
    if others and facts.server and facts.server.all_privileges and facts.page_size and not _has_tables(facts):
        path, size = sorted(others.items())[0]
        yield Blocker(
            "manual_attempt",
            path,
            f"The server has {label(facts.page_size)} pages but no tables, and {path} is a data directory with {label(size)} pages:"
            " this looks like an attempt by hand that was not finished",
            f"Put {path} back in its place, or load the data and move {path} elsewhere",
        )


def _placement(facts: Facts, request: Request) -> Iterable[Blocker]:
    """Places of files that an engine does not let us move."""
    del request
    layout = facts.layout
    trait = facts.instance.engine.trait
    for option, directory in layout.outside.items() if not trait("outside_directories") else ():
        yield Blocker(
            f"outside {option}",
            directory,
            f"{option} is {directory}, outside the data directory, which is not supported for {facts.instance.engine.title} yet",
            "Take the option out and let the server keep these files in its data directory",
        )
    if layout.mount_point and trait("finds_tablespaces_anywhere"):
        yield Blocker(
            "mount_point",
            layout.real_datadir,
            f"{layout.real_datadir} is a mount point, and this server would find the tablespaces that are kept inside it as well",
            "Mount the file system one directory higher, with the data directory in it",
        )
    scanned = [part for part in (facts.instance.options.get("innodb_directories") or "").split(";") if part]
    for directory in scanned:
        real = os.path.realpath(os.path.join(facts.instance.datadir, directory))
        if f"{os.path.dirname(layout.real_datadir)}/".startswith(f"{real.rstrip('/')}/"):
            yield Blocker(
                "innodb_directories",
                directory,
                f"innodb_directories names {directory}, in which the server would find the tablespaces that are kept as well",
                "Name directories that do not hold the data directory",
            )
    binlog = facts.server.variables.get("log_bin_basename") if facts.server else None
    if binlog and trait("definitions_in_dictionary") and os.path.realpath(binlog) != os.path.realpath(layout.binlog or "/"):
        yield Blocker(
            "binary_log",
            binlog,
            f"The server writes its binary log to {binlog}, its option files say {layout.binlog or 'that there is none'}",
            "Restart the server, so that it has the options of its files",
        )


def _has_tables(facts: Facts) -> bool:
    return any(table.schema not in ("mysql", "sys") for table in facts.server.tables)


def _objects(facts: Facts, request: Request) -> Iterable[Blocker]:
    del request
    if facts.server is None:
        return
    for table in facts.server.tables:
        if table.kind == "unknown":
            yield Blocker(
                f"engine of {table.title}",
                table.title,
                f"The storage engine {table.engine} of {table.title} is not known, so its rows can't be carried safely",
                "Convert it to InnoDB, or dump and drop it",
            )
    for path in facts.server.orphans:
        yield Blocker(
            f"orphan {path}",
            path,
            f"The file {path} belongs to no table that the server knows, so what is in it would not be carried",
            "Install the plugin of its storage engine again, or move the file out of the data directory",
        )
    for hazard in facts.server.hazards:
        yield Blocker(f"{hazard['id']} {hazard['object']}", hazard["object"], hazard["message"], hazard["remedy"])
    for title, reason in facts.server.unreadable.items():
        yield Blocker(f"table {title} unreadable", title, f"{title} can't be read: {reason}", "Repair or drop it")
    for title, rows in facts.server.memory_rows.items():
        yield Blocker(
            f"table {title} content",
            title,
            f"{title} is a MEMORY table with {rows} rows, which no restart of the server keeps",
            f"Empty it, or allow the loss with innodb_allow_differences: ['table {title} content']",
        )
    for title in facts.server.history:
        yield Blocker(
            f"table {title} history",
            title,
            f"The history of the system-versioned table {title} can't be written by any client of this server version",
            f"Allow its loss with innodb_allow_differences: ['table {title} history'], the current rows are carried",
        )


def _space(facts: Facts, request: Request) -> Iterable[Blocker]:
    if facts.server is None or "datadir" not in facts.storage:
        return
    need = needed_space(facts, request.target, request.sorted_at_once)
    free = facts.storage["datadir"]["free_bytes"]
    wanted = need.build + (need.dump if request.same_file_system else 0)
    remedy = "Free space, or put innodb_work_dir on another file system"
    if free < wanted:
        message = f"{wanted // MIB} MiB may be needed on the file system of {facts.layout.real_datadir}, {free // MIB} MiB are free"
        yield Blocker("space", facts.layout.real_datadir, message, remedy)
    if not request.same_file_system and request.work_free_bytes < need.dump:
        message = (
            f"{need.dump // MIB} MiB may be needed for the dump and temporary files in {request.work_dir},"
            f" {request.work_free_bytes // MIB} MiB are free"
        )
        yield Blocker("space", request.work_dir, message, remedy)


def _options(facts: Facts, request: Request) -> Iterable[Blocker]:
    if request.drop_in is None:
        yield Blocker(
            "option_files",
            facts.instance.defaults_file or "my.cnf",
            "The option files of the server include no directory where an option file of ours could be put",
            "Add a line '!includedir DIRECTORY' at the end of the server's option file",
        )
    for ours, winner in request.overridden:
        place = f"{winner.file}:{winner.line}" if winner.line else winner.file
        yield Blocker(
            "option_overridden",
            f"{ours.name} {place}",
            f"{ours.name}={winner.value} in {place} is read after our {ours.name}={ours.value} and wins",
            f"Take it out of {winner.file}",
        )
    pool = facts.server.variables.get("innodb_buffer_pool_size") if facts.server else None
    least = facts.instance.engine.trait("minimum_pool_mib")[request.target] * MIB
    if pool and int(pool) < least:
        yield Blocker(
            "buffer_pool",
            "innodb_buffer_pool_size",
            f"innodb_buffer_pool_size is {int(pool) // MIB} MiB, {label(request.target)} pages need {least // MIB}",
            "Raise it in the option file",
        )


CHECKS: tuple[Callable[[Facts, Request], Iterable[Blocker]], ...] = (
    _engine,
    _server,
    _activity,
    _layout,
    _placement,
    _objects,
    _space,
    _options,
)


def failed_rehearsal(target: int, error: InnodbError) -> Blocker:
    """No private server of this size came up at all, so the real one would not either."""
    message = f"A server with {label(target)} pages can't be made with these options: {error.failed}"
    return Blocker("rehearsal", f"{label(target)} pages", message, error.remedy or "Correct what it names and run again")


def blockers_of_rehearsal(refused: Iterable[Difference]) -> list[Blocker]:
    """What the private server at the target size refused or changed, as blockers."""
    blockers = []
    for difference in refused:
        if difference.aspect == "creation":
            message = f"{difference.object} is refused at the target page size: {difference.after}"
        else:
            before, after = _short(difference.before), _short(difference.after)
            message = f"{difference.object} comes out with another {difference.aspect}: {before} becomes {after}"
        blockers.append(
            Blocker(
                difference.id,
                difference.object,
                message,
                f"Change the table, or allow exactly this with innodb_allow_differences: ['{difference.id}']",
            )
        )
    return blockers


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 200 else text[:197] + "..."

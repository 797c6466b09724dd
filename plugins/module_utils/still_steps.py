# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The steps of the strategy side_by_side: writes stand still, reads go on, while everything is copied beside the running server.

The lock belongs to one session of ours. If that ends, for whatever reason, clients write again and the copy is worth nothing.
"""

from __future__ import annotations

from typing import Any

from . import binary_log, digest, logical_dump, logical_restore
from .errors import InnodbError
from .following import current_position
from .journal import Run as JournalRun
from .live_copy import OWN, source_session
from .live_steps import try_outfile
from .outage import Parts, stop_held
from .session import Login, Session
from .source_snapshot import take_lock
from .steps import XA_REMEDY, Context, carry_files, exchange_directory, load_into, load_options, note_stop, read_content, require_equal
from .successor import Successor, open_successor
from .tables import read_tables
from .transfer import Job, run_jobs

NO_LIMIT = float("inf")


class HeldServer:
    """The running server, as what is dumped. Its temporary tables lie where others' do."""

    temporary = None

    def __init__(self, context: Context) -> None:
        self.context = context
        self.datadir = context.instance.datadir

    def session(self) -> Session:
        return source_session(self.context)


def seed(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Hold writes still, and copy everything into the successor."""
    del run
    engine, directory = context.instance.engine, exchange_directory(context)
    logical_dump.prepare(directory, *context.instance.owner())
    lock = source_session(context)
    try_outfile(lock, directory)
    successor = open_successor(context, lock)
    successor.lock, successor.parts = lock, Parts(NO_LIMIT)
    take_lock(lock, context.live.lock_seconds)
    if lock.rows("XA RECOVER"):
        raise InnodbError("a prepared XA transaction, which no dump carries, came up", state="", remedy=XA_REMEDY)
    if context.layout.binlog:
        successor.position = current_position(lock, engine)
    manifest = logical_dump.dump(
        HeldServer(context),
        engine,
        context.before,
        directory,
        context.workers,
        context.digest_method,
        context.progress.report,
        context.progress.expect,
    )
    logical_dump.complete(directory, manifest, "")
    successor.start(load_options(context, directory), Login(user="root"))
    load_into(context, successor.server, manifest, directory)
    successor.stop()
    logical_restore.put_definition_files(manifest, directory, context.paths.build)
    logical_dump.remove_dump(directory)
    successor.manifest = manifest
    successor.parts.mark("copy")
    notes.update(bytes_moved=manifest.size_bytes(), tables=len(manifest.tables))


def compare(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Read the successor again from its files, and compare it with what was copied."""
    successor: Successor = context.successor
    manifest = successor.manifest
    successor.start([], context.login)
    found, digests = read_content(context, successor.server)
    successor.stop()
    # Files that only one server may have, and what it is by them, come when the old one is dead.
    found.pop(OWN, None)
    found.update({OWN: manifest.census[OWN]} if OWN in manifest.census else {})
    later = {name: value for name, value in manifest.digests.items() if not name.startswith("table ")}
    require_equal(context, run, notes, manifest, found, {**digests, **later})
    successor.parts.mark("compare")


def fence(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Stop the old server, and prove that nothing was written since the lock was taken."""
    successor: Successor = context.successor
    parts: Parts = successor.parts
    context.instance.service.guard(context.work.fence_file)
    require_locked(context, successor)
    sockets = context.instance.service.sockets()
    note_stop(context, run, "fence", sockets)
    stop_held(context, successor.lock, sockets)
    parts.mark("stop_old")
    if successor.position:
        written = binary_log.read_changes(context.layout.binlog, successor.position)
        if written.events:
            raise InnodbError(f"the old server wrote {written.transactions} transactions while it shut down", state="", remedy="Run again")
        notes["binlog_end"] = list(written.end)
    else:
        compare_dead(context, successor.manifest.digests)
    parts.mark("compare_old")
    successor.close()
    carry_files(context)
    parts.mark("carry_files")
    context.result["parts"] = parts


def require_locked(context: Context, successor: Successor) -> None:
    """InnodbError unless the session that took the lock still has it, and the binary log has not moved."""
    now = current_position(successor.lock, context.instance.engine) if successor.position else None
    successor.lock.value("SELECT 1")
    if now != successor.position:
        raise InnodbError(f"something was written although the server was held still: its binary log ends at {now}", state="")


def compare_dead(context: Context, wanted: dict[str, Any]) -> None:
    """Serve the old data once more on a private socket, and compare it with what was copied: there is no binary log to tell."""
    found: dict[str, Any] = {}
    engine = context.instance.engine
    with context.source_server() as server:
        with server.session() as session:
            tables = digest.with_content(read_tables(session, engine))

        def work(session: Session, table: Any) -> None:
            found[f"table {table.title}"] = digest.digest(session, engine, table, context.digest_method)

        jobs = [Job(table, max(table.size_bytes, 1)) for table in tables]
        run_jobs(jobs, context.workers, server.session, work, lambda done: None)
    changed = digest.compare({name: value for name, value in wanted.items() if name.startswith("table ")}, found)
    if changed:
        raise InnodbError(f"{changed[0].object} was written to while the old server shut down", state="", remedy="Run again")

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The moment in which nobody can write: the old server is held still and stopped, and the successor proven to lack nothing of it.

The lock that holds it still belongs to one session, so it goes with us, whatever becomes of us. A server may let commits slip in
while it shuts down (measured on MariaDB): the successor stays attached until the old one is dead, and is then compared with the
very end of its binary log.
"""

from __future__ import annotations

import time
from typing import Any

from . import binary_log, digest, eager_flushing
from .binary_log import Changes, Position
from .durable import sync_file_system
from .errors import InnodbError
from .following import Follower, current_position
from .journal import Run as JournalRun
from .live_copy import source_session
from .live_steps import Proof, catch_up, prove
from .outage import Parts, stop_held
from .session import Session
from .source_snapshot import LockTimeout, sequence_states, take_lock
from .steps import XA_REMEDY, Context, carry_files, note_stop

POLL_SECONDS = 0.005
PAUSE_SECONDS = 2.0
#: How long the successor may go on receiving and applying after the old server has ended, without getting any further.
SETTLE_SECONDS = 3.0
COUNTERS = "SELECT auto_increment AS n FROM information_schema.tables WHERE table_schema=%s AND table_name=%s"
LONG_WRITERS = (
    "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_rows_modified>0 AND trx_started < NOW() - INTERVAL {seconds} SECOND"
)


class NotNow(InnodbError):
    """Something that passes stands against the cut-over; nothing is held any more."""


def fence(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Hold the server still, stop it, and prove that the successor has everything; then stop the successor as well."""
    context.instance.service.guard(context.work.fence_file)
    sync_file_system(context.paths.build)
    # Asking for them takes time that clients would have to wait.
    sockets = context.instance.service.sockets()
    for attempt in range(1, context.live.attempts + 1):
        try:
            get_ready(context, run)
            parts = stop_old(context, run, sockets)
            break
        except (NotNow, LockTimeout) as error:
            if attempt == context.live.attempts:
                raise
            context.progress.say(f"cut-over {attempt} was put off: {error.failed}")
            time.sleep(PAUSE_SECONDS * attempt)
    settle(context, parts)
    finish_successor(context)
    parts.mark("stop_new")
    parts.require_left()
    context.result["parts"] = parts
    notes.update({name: context.result[name] for name in ("binlog_end", "compared_at_fence", "changed_since_comparison")})


def get_ready(context: Context, run: JournalRun) -> None:
    """Come as near as can be without holding anything; what changed definitions since the proof needs another one."""
    follower: Follower = context.successor.follower
    with source_session(context) as source:
        require_no_xa(source)
        long = int(source.value(LONG_WRITERS.format(seconds=int(context.live.outage_seconds))))
        if long:
            raise NotNow(f"{long} transactions have changed rows and are open for long", state="", remedy="Let them end, and run again")
        flush(context, run, source)
        catch_up(context, follower, source)
    read_on(context)
    if context.successor.proof.changes.definitions:
        context.progress.say("definitions were changed, both servers are compared again")
        context.successor.proof = prove(context, follower)
        with source_session(context) as source:
            catch_up(context, follower, source)


def flush(context: Context, run: JournalRun, source: Session) -> None:
    """Have both servers write their changed pages now instead of when they are stopped. The journal knows what was set before."""
    steering = context.successor.steering
    if eager_flushing.FLUSHING not in run.facts:
        before = eager_flushing.current(source)
        context.work.journal.record(run.id, "fence", "note", {eager_flushing.FLUSHING: before})
        run.facts[eager_flushing.FLUSHING] = before
        eager_flushing.begin(source, before)
        eager_flushing.begin(steering, eager_flushing.current(steering))
    left = eager_flushing.wait((source, steering))
    context.progress.say(f"changed pages left to write: {left[0]} of the running server, {left[1]} of the successor")


def require_no_xa(session: Session) -> None:
    """NotNow while a prepared transaction waits for its outcome, which the successor could not be given."""
    if session.rows("XA RECOVER"):
        raise NotNow("a prepared XA transaction waits for its outcome", state="", remedy=XA_REMEDY)


def read_on(context: Context) -> Changes:
    """What the binary log has got since the proof; what it has got since the copy began is read on as well."""
    for changes in (context.successor.changes, context.successor.proof.changes):
        changes.add(binary_log.read_changes(context.layout.binlog, changes.end))
    return context.successor.proof.changes


def stop_old(context: Context, run: JournalRun, sockets: list[str]) -> Parts:
    """Hold the server still, let the successor apply the last change, compare, and stop the server. The clock runs from here."""
    follower: Follower = context.successor.follower
    with source_session(context) as control:
        parts = Parts(context.live.outage_seconds)
        take_lock(control, context.live.lock_seconds)
        parts.mark("fence")
        require_no_xa(control)
        position = current_position(control, context.instance.engine)
        if not follower.wait_applied(position, parts.left()):
            raise NotNow("the successor did not apply the last changes in time", state="", remedy="Raise innodb_live.outage_seconds")
        parts.mark("drain")
        changes = read_on(context)
        if changes.definitions:
            raise NotNow(f"a definition was changed at the last moment: {changes.definitions[0]}", state="")
        compare_still(context, control, changes)
        parts.mark("compare")
        parts.require_left()
        note_stop(context, run, "fence", sockets)
        stop_held(context, control, sockets)
        parts.mark("stop_old")
    return parts


def compare_still(context: Context, control: Session, changes: Changes) -> None:
    """While nothing moves: counters and sequences, and as many of the tables that changed since the proof as there is time for."""
    successor, engine = context.successor, context.instance.engine
    proof: Proof = successor.proof
    for table in changed_tables(proof, successor.changes):
        old, new = (session.value(COUNTERS, (table.schema, table.name)) for session in (control, successor.steering))
        if old is not None and int(new or 0) < int(old):
            successor.require_own(successor.steering)
            successor.steering.execute(f"ALTER TABLE {table.sql} AUTO_INCREMENT={int(old)}")
    tables = list(proof.sequences)
    if sequence_states(control, tables) != sequence_states(successor.steering, tables):
        raise NotNow("a sequence of the successor is not where the running server's is", state="")
    changed = changed_tables(proof, changes)
    chosen = affordable(changed, proof.seconds, context.live.compare_seconds)
    for table in chosen:
        old, new = (digest.digest(session, engine, table, context.digest_method) for session in (control, successor.steering))
        if old != new:
            raise InnodbError(f"{table.title} differs from the running server at {changes.end.file}:{changes.end.offset}", state="")
    context.result["compared_at_fence"] = sorted(table.title for table in chosen)
    context.result["changed_since_comparison"] = sorted(table.title for table in changed)


def changed_tables(proof: Proof, changes: Changes) -> list[Any]:
    """The tables that a stretch of the binary log may have changed: all of them, when it holds statements instead of rows."""
    return [table for table in proof.tables.values() if (table.schema, table.name) in changes.tables or changes.row_statements]


def affordable(tables: list[Any], seconds: dict[str, float], budget: float) -> list[Any]:
    """The tables that can be compared within the budget by what they took before, the quickest first; pure."""
    chosen = []
    for table in sorted(tables, key=lambda table: seconds.get(table.title, 0.0)):
        budget -= seconds.get(table.title, 0.0)
        if budget < 0:
            break
        chosen.append(table)
    return chosen


def settle(context: Context, parts: Parts) -> None:
    """With the old server dead: wait until the successor has applied everything up to the very end of its binary log."""
    follower: Follower = context.successor.follower
    applied, deadline = Position("", 0), time.monotonic() + SETTLE_SECONDS
    while True:
        status = follower.status()
        missing = binary_log.read_changes(context.layout.binlog, status.applied)
        if not missing.events:
            break
        if status.applied != applied:
            applied, deadline = status.applied, time.monotonic() + SETTLE_SECONDS
        if time.monotonic() > deadline:
            raise InnodbError(
                f"the old server wrote {missing.transactions} transactions while it shut down that the successor did not get", state=""
            )
        parts.require_left()
        time.sleep(POLL_SECONDS)
    context.result["binlog_end"] = list(missing.end)
    parts.mark("last_changes")


def finish_successor(context: Context) -> None:
    """Take from the successor what it needed to follow, stop it, and give it the files that only one server may have."""
    successor = context.successor
    successor.require_own(successor.steering)
    successor.follower.forget()
    if context.instance.engine.trait("gtid_slave_pos"):
        successor.steering.execute("SET GLOBAL gtid_slave_pos=%s", (successor.gtid_slave_pos,))
    successor.close()
    carry_files(context)

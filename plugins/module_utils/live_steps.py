# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The steps of the strategy live: copy while clients write, follow until nothing is missing, stand still for a moment, exchange.

Until the step fence has stopped it, the old server runs as ever; whatever fails before that costs the copy and nothing else.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Any

from . import binary_log, census, dictionary_objects, digest, logical_dump, logical_restore
from . import manifest as manifests
from .binary_log import Changes, Position
from .errors import InnodbError, StatementError
from .following import Follower, current_position
from .journal import Run as JournalRun
from .live_copy import Copy, CopyInterrupted, compared_tables, read_objects_of, source_session, steady
from .session import Login
from .source_snapshot import LockTimeout, SourceSnapshot, sequence_states
from .steps import Context, exchange_directory, load_into, load_options
from .successor import Successor, open_successor
from .tables import Table
from .transfer import Job, run_jobs

ATTEMPTS = 5
PAUSE_SECONDS = 2.0
TICK_SECONDS = 0.5
UNTIL_SECONDS = 3600.0


@dataclass
class Proof:
    """What was found equal on both servers at one position. seconds: what comparing each table took, by title.

    changes: what the binary log has got since; sequences: compared by their rows, when nothing moves.
    """

    position: Position
    tables: dict[str, Table]
    sequences: list[Table]
    rows: int
    seconds: dict[str, float]
    changes: Changes = field(init=False)

    def __post_init__(self) -> None:
        self.changes = Changes(self.position)


def seed(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Copy one state of the running server into the successor, which receives the binary log from that state on."""
    directory = exchange_directory(context)
    context.work.journal.record(run.id, "seed", "note", {"exchange": directory})
    for attempt in range(1, ATTEMPTS + 1):
        try:
            manifest = copy_into(context, directory)
            break
        except CopyInterrupted as error:
            if attempt == ATTEMPTS:
                raise
            context.progress.say(f"copying begins again: {error.failed}")
            rebuild(context)
            time.sleep(PAUSE_SECONDS * attempt)
    notes["bytes_moved"] = manifest.size_bytes()
    notes["tables"] = len(manifest.tables)


def rebuild(context: Context) -> None:
    """An empty successor again."""
    from .steps import build

    if context.successor:
        context.successor.close()
    build(context, None, {})


def copy_into(context: Context, directory: str) -> manifests.Manifest:
    """One attempt of seed."""
    logical_dump.prepare(directory, *context.instance.owner())
    with source_session(context) as session:
        try_outfile(session, directory)
        successor = open_successor(context, session)
        user, password = session.credentials()
    with Copy(context, directory) as copy:
        # The directory gets its name only when the dump is complete, and a server starts only with one that is there.
        follower = successor.start(load_options(context, ""), Login(user="root"))
        if copy.snapshot.gtid_executed is not None:
            reset, purge = context.instance.engine.trait("set_gtid_executed")
            successor.steering.execute(reset)
            successor.steering.execute(purge, (copy.snapshot.gtid_executed,))
        successor.changes = Changes(copy.begun_at)
        follower.begin(successor.way_to_source(), user, password, copy.position)
        manifest = copy.dump()
        logical_dump.complete(directory, manifest, "")
    load_into(context, successor.server, manifest, directory)
    successor.stop()
    logical_restore.put_definition_files(manifest, directory, context.paths.build)
    logical_dump.remove_dump(directory)
    return manifest


def try_outfile(session: Any, directory: str) -> None:
    """InnodbError unless the server itself can write to the directory, which its unit or a security module may forbid."""
    path = os.path.join(directory + logical_dump.PARTIAL_SUFFIX, "trial")
    try:
        session.execute(f"SELECT 1 INTO OUTFILE '{path}'")
    except StatementError as error:
        raise InnodbError(
            f"the server can't write to {directory}: {error.reason}",
            remedy="Set innodb_work_dir to a directory that its unit, its secure_file_priv and its security module allow",
        ) from error
    os.unlink(path)


def follow(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Let the successor catch up, and compare everything at one position of both servers."""
    del run
    successor: Successor = context.successor
    follower = successor.start([], context.login)
    follower.start()
    with source_session(context) as source:
        catch_up(context, follower, source)
    successor.proof = prove(context, follower)
    notes["compared_rows"] = successor.proof.rows


def catch_up(context: Context, follower: Follower, source: Any) -> None:
    """Wait until less than lag_bytes of the binary log are left to apply."""
    deadline = time.monotonic() + context.live.follow_seconds
    while True:
        now, status = current_position(source, context.instance.engine), follower.require_running()
        left = distance(context, status.applied, now)
        if left <= context.live.lag_bytes:
            return
        if time.monotonic() > deadline:
            raise InnodbError(
                f"the successor did not catch up within {context.live.follow_seconds:.0f} s; {left} bytes of the binary log are left",
                state="",
                remedy="Run again when less is written, or raise innodb_live.follow_seconds",
            )
        time.sleep(TICK_SECONDS)


def distance(context: Context, applied: Position, now: Position) -> int:
    """Bytes of the binary log between two positions."""
    if applied.file == now.file:
        return now.offset - applied.offset
    paths = binary_log.files_from(context.layout.binlog, applied.file)
    between = [os.path.getsize(path) for path in paths if os.path.basename(path) != now.file]
    return sum(between) - applied.offset + now.offset


def prove(context: Context, follower: Follower) -> Proof:
    """Compare objects and rows of both servers at one position, while clients go on; InnodbError when anything differs.

    The successor stops applying just there; the sessions to the running server see its state there.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            follower.require_running()
            follower.pause()
            proof = prove_once(context, follower)
            break
        except (CopyInterrupted, LockTimeout) as error:
            if attempt == ATTEMPTS:
                raise
            context.progress.say(f"comparison {attempt} was put off: {error.failed}")
            time.sleep(PAUSE_SECONDS * attempt)
        finally:
            follower.resume()
    return proof


def prove_once(context: Context, follower: Follower) -> Proof:
    """One attempt; the successor stands still before it and after it."""
    engine = context.instance.engine
    with source_session(context) as control:
        before = read_objects_of(control, engine)
        with SourceSnapshot(lambda: source_session(context), engine, context.workers, context.live.lock_seconds, before.tables) as snapshot:
            follower.apply_until(snapshot.position, UNTIL_SECONDS)
            with context.successor.server.session() as session:
                enable_events(session, control, engine)
            found = read_objects_of(follower.session, engine)
            again = read_objects_of(control, engine)
            changed = census.compare(steady(before.census), steady(again.census))
            if changed:
                raise CopyInterrupted(
                    f"{changed[0].object} was changed meanwhile", state="", remedy="Run again when no definitions are changed"
                )
            states = sequence_states(follower.session, found.tables)
            require_equal(context, census.compare(steady(before.census, snapshot.sequences), steady(found.census, states)), "census")
            return compare_rows(context, snapshot, before.tables)


def enable_events(successor: Any, source: Any, engine: Any) -> None:
    """Events that are made or altered while a server follows are switched off there; those that are on in the source are on again."""
    statement = engine.trait("enable_event")
    if engine.trait("definitions_in_dictionary"):
        dictionary_objects.make_events_again(successor, dictionary_objects.read_statements(source, engine))
    elif statement:
        wanted = {(row["db"], row["name"]) for row in source.rows("SELECT db, name FROM mysql.event WHERE status='ENABLED'")}
        for row in successor.rows("SELECT db, name FROM mysql.event WHERE status='SLAVESIDE_DISABLED'"):
            if (row["db"], row["name"]) in wanted:
                successor.execute(statement, (row["db"], row["name"]))


def require_equal(context: Context, differences: list[census.Difference], kind: str) -> None:
    """InnodbError when something differs that the user did not allow."""
    differences = census.refused(differences, context.allowed)
    context.result[f"{kind}_differences"] = [difference.as_dict() for difference in differences]
    if differences:
        names = ", ".join(difference.id for difference in differences[:10])
        raise InnodbError(f"the successor differs from the running server in {len(differences)} places: {names}", state="")


def compare_rows(context: Context, snapshot: SourceSnapshot, tables: list[Table]) -> Proof:
    """Digests of all tables of both servers, in two pools of workers at once."""
    engine = context.instance.engine
    chosen = compared_tables(tables, engine)
    jobs = [Job(table, max(table.size_bytes, 1)) for table in chosen]
    seconds = dict.fromkeys((table.title for table in chosen), 0.0)
    total = sum(job.size_bytes for job in jobs)
    context.progress.expect(2 * total)

    def digests_of(open_session: Any, before: int) -> dict[str, Any]:
        digests: dict[str, Any] = {}

        def work(session: Any, table: Table) -> None:
            begun = time.monotonic()
            digests[f"table {table.title}"] = digest.digest(session, engine, table, context.digest_method)
            seconds[table.title] += time.monotonic() - begun

        run_jobs(jobs, context.workers, open_session, work, lambda done: context.progress.report(before + done))
        return digests

    old, new = digests_of(snapshot.session, 0), digests_of(context.successor.server.session, total)
    require_equal(context, digest.compare(old, new), "digest")
    rows = sum(value["rows"] for value in new.values())
    context.progress.say(f"equal at {snapshot.position.file}:{snapshot.position.offset}: {len(chosen)} tables, {rows} rows")
    sequences = [table for table in tables if table.sequence]
    return Proof(snapshot.position, {table.title: table for table in chosen}, sequences, rows, seconds)

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A migration as a whole: the plan, carrying it out or going on with it, rolling it back, retiring what it kept."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace

from . import census, data_directory, digest, logical_dump, preflight, processes, steps
from . import manifest as manifests
from .errors import InnodbError
from .facts import Facts
from .instance import Instance, find_instance
from .journal import BEGIN, MIGRATED, RETIRED, ROLLED_BACK, UNFINISHED
from .journal import Run as JournalRun
from .layout import RETAINED_INSIDE, Paths
from .page_size import label
from .private_server import PrivateServer, private_options
from .session import connect
from .steps import STEPS, Context
from .work_directory import WorkDirectory

STRATEGY = "dump_restore"
ROLLBACK = "rollback"
SECONDS_PER_DAY = 86400


@dataclass(frozen=True)
class Plan:
    """What a migration would do. outcome: 'migrate', 'already', 'refused', or 'resume' when an unfinished run goes on."""

    outcome: str
    blockers: list[preflight.Blocker]
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    space: preflight.Space | None = None


def new_run_id(target: int, moment: float) -> str:
    return f"{label(target)}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(moment))}"


def retained_label(before: int, moment: float) -> str:
    return f"{label(before)}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(moment))}"


def make_plan(facts: Facts, target: int, paths: Paths, blockers: list[preflight.Blocker]) -> Plan:
    """The plan as sentences; pure."""
    if blockers:
        return Plan("refused", blockers)
    if preflight.already_there(facts, target):
        return Plan("already", [])
    space = preflight.needed_space(facts, target)
    carried = sum(table.size_bytes for table in facts.server.tables if table.kind == "rows")
    lines = [f"{number}. {name}: {text}" for number, (name, _step, text) in enumerate(STEPS, 1)]
    notes = [
        f"{len(facts.server.tables)} tables, about {carried / preflight.MIB:.1f} MiB,"
        f" go from {label(facts.page_size)} to {label(target)} pages",
        f"up to {space.dump // preflight.MIB} MiB for the dump and {space.build // preflight.MIB} MiB"
        " for the new directory are needed meanwhile",
        f"the old data directory is kept as {paths.retained}",
        "clients can neither read nor write from step fence to step open",
    ]
    if facts.layout.binlog:
        notes.append(f"the binary log {facts.layout.binlog} goes on where it stops; the restore itself is not written to it")
    if facts.server.replicas:
        notes.append(f"{facts.server.replicas} replicas lose their connection meanwhile and go on from their position")
    engine = facts.instance.engine
    anew = [name for name in engine.trait("system_tables_left") if name not in engine.trait("log_tables")]
    notes.append(f"made anew by the server, not carried: {', '.join(anew)}")
    notes += [f"stays with the old data directory only: {path}" for path in facts.layout.strays]
    notes += [f"no schema, stays with the old data directory only: {name}" for name in facts.server.stray_directories]
    return Plan("migrate", [], lines, notes, space)


def is_unfinished(run: JournalRun) -> bool:
    """Whether a run was cut short after it stopped the server, or while it was rolled back."""
    return run.steps.get(ROLLBACK) == BEGIN or (run.status == UNFINISHED and run.begun("fence"))


def resumable(run: JournalRun | None, target: int) -> bool:
    """Whether an unfinished run goes on now; InnodbError when it must be ended first."""
    if run is None:
        return False
    if run.steps.get(ROLLBACK) == BEGIN:
        raise InnodbError(
            f"the rollback of the run {run.id} was cut short",
            state="The data is whole; the server may be down.",
            remedy="Run the playbook rollback, which goes on where it stopped",
        )
    if run.status != UNFINISHED:
        return False
    if run.facts.get("target") != target:
        raise InnodbError(
            f"the run {run.id} to {label(run.facts['target'])} pages was cut short",
            state="The data is whole; the server may be down.",
            remedy=f"Run migrate with innodb_page_size={label(run.facts['target'])} to go on, or the playbook rollback",
        )
    return True


def start_run(context: Context, moment: float) -> JournalRun:
    """Begin a run in the journal, with all that is needed to go on with it or to undo it."""
    run_id = new_run_id(context.target, moment)
    facts = {"target": context.target, "before": context.before, "strategy": STRATEGY, "paths": context.paths.as_dict()}
    context.work.journal.record(run_id, "plan", "note", facts)
    return context.work.journal.run(run_id)


def steps_left(run: JournalRun, dump_valid: bool) -> list[str]:
    """Names of the steps that a run has to do, in order; pure.

    Once the renames have begun it goes forward. Before that, what was half-loaded is built again, and a complete dump is
    taken as it is when the old server was not started since (dump_valid).
    """
    names = [name for name, _step, _text in STEPS]
    if run.facts.get("moves") is not None:
        return [name for name in names[names.index("swap") :] if not run.done(name)]
    return [name for name in names if not (name == "dump" and run.done("dump") and dump_valid)]


def dump_still_valid(context: Context) -> bool:
    """Whether the dump is complete and the old server was not started since."""
    try:
        manifest = manifests.read(context.work.dump)
    except InnodbError:
        return False
    return manifest.fingerprint == data_directory.fingerprint(context.paths)


def migrate(context: Context, run: JournalRun) -> None:
    """Carry out the steps that are left. A failure before the service is opened rolls everything back and is raised."""
    left = steps_left(run, run.done("dump") and dump_still_valid(context))
    for name, step, _text in STEPS:
        if name not in left:
            continue
        try:
            with context.work.journal.step(run.id, name) as notes:
                context.progress.begin(name)
                step(context, run, notes)
                context.progress.finish()
            context.done.add(name)
            run = context.work.journal.run(run.id)
        except InnodbError as error:
            raise after_failure(context, run.id, name, error) from error
        except Exception as error:
            # Whatever it is, the server must not stay down because of it.
            failure = InnodbError(f"the step {name} failed: {type(error).__name__}: {error}", state="")
            raise after_failure(context, run.id, name, failure) from error
    context.work.journal.record(run.id, "finish", "note", status=MIGRATED)


def after_failure(context: Context, run_id: str, step: str, error: InnodbError) -> InnodbError:
    """Roll back after a failed step, unless clients may be on the new server already; the error with the state of the host."""
    run = context.work.journal.run(run_id)
    if step == "finish" or (step == "open" and context.instance.running()):
        return error.with_state(
            f"The new server with {label(context.target)} pages runs and holds all data; the old directory is kept.",
            "Correct the cause and run migrate again, which finishes, or run the playbook rollback",
        )
    try:
        roll_back(context, run)
    except Exception as second:
        return error.with_state(
            f"Rolling back failed as well: {second}."
            f" All data is in {context.paths.datadir} or {context.paths.retained}, nothing was deleted.",
            "Correct the cause and run the playbook rollback",
        )
    context.result["outcome"] = ROLLED_BACK
    again = " again" if run.begun("fence") else " on"
    return error.with_state(
        f"Everything was rolled back: the old server with {label(context.before)} pages runs{again} with all its data.",
        error.remedy or "Correct the cause and run again",
    )


def roll_back(context: Context, run: JournalRun) -> None:
    """Put the old server back and start it. Before the service was opened the half-built new files are removed, after it kept.

    A run that did not get to the fence leaves the server as it is, running.
    """
    journal = context.work.journal
    context.work.release_reserve()
    if not run.begun("fence"):
        data_directory.remove_build(context.paths)
        journal.record(run.id, ROLLBACK, "end", status=ROLLED_BACK)
        return
    opened = run.begun("open")
    journal.record(run.id, ROLLBACK, BEGIN)
    stop_everything(context)
    context.instance.service.guard(context.work.fence_file)
    if opened:
        set_new_aside(context, run)
    elif run.facts.get("moves"):
        data_directory.undo([tuple(move) for move in run.facts["moves"]], _existing(context.paths))
    if not opened:
        data_directory.remove_half_built(context.paths)
        data_directory.undo(list(context.paths.external), context.paths.datadir)
        data_directory.remove_build(context.paths)
    steps.restore_config(run)
    logical_dump.remove_dump(context.work.dump)
    logical_dump.remove_dump(context.work.dump + logical_dump.PARTIAL_SUFFIX)
    _remove_empty_directories(context.paths)
    context.work.remove_temporary()
    reopen_old(context, run)
    journal.record(run.id, ROLLBACK, "end", status=ROLLED_BACK)


def _existing(paths: Paths) -> str:
    return next(path for path in (paths.datadir, paths.retained, paths.build) if os.path.isdir(path))


def _remove_empty_directories(paths: Paths) -> None:
    for directory in [paths.retained, *(entry.retained for entry in paths.outside)]:
        data_directory.remove_empty([directory])
        if os.path.basename(os.path.dirname(directory)) == RETAINED_INSIDE:
            data_directory.remove_empty([os.path.dirname(directory)])


def stop_everything(context: Context) -> None:
    """Stop the server, and private servers that a killed run left, wherever their directory is now."""
    context.instance.service.stop(context.stop_timeout)
    for directory in (context.paths.datadir, context.paths.build, context.paths.retained):
        if os.path.isdir(directory):
            for pid in processes.servers_in(directory):
                processes.stop_pid(pid, context.stop_timeout)
            processes.wait_stopped(directory, os.path.join(directory, "ibdata1"), context.stop_timeout)


def set_new_aside(context: Context, run: JournalRun) -> None:
    """After opening, the new files may hold what clients wrote since: they are renamed, not removed."""
    moves = run.facts.get("rollback_moves")
    if moves is None:
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        aside = steps.aside_paths(context.paths, context.target, moment)
        moves = data_directory.rollback_moves(context.paths, aside)
        data_directory.require_clear(moves)
        context.work.journal.record(run.id, ROLLBACK, "note", {"rollback_moves": moves, "aside": aside.as_dict()})
    data_directory.carry_out([tuple(move) for move in moves], _existing(context.paths))


def reopen_old(context: Context, run: JournalRun) -> None:
    """Start the old server and check that it is the one of before."""
    context.instance.service.release(context.work.fence_file)
    instance = find_instance(context.run, context.spec)
    instance.start(context.start_timeout, run.facts.get("sockets") or ())
    if instance.page_size_of_files() != context.before:
        raise InnodbError(f"the server's files have not {context.before} bytes per page", state="The old files are in their place.")
    with connect(instance.login(context.login)) as session:
        steps.require_identity(session.variables("innodb_page_size", "datadir"), replace(context, target=context.before))


def changes_since_opening(context: Context, run: JournalRun) -> list[str]:
    """What clients changed in the new server since it was opened, read from it under a fence; the server is down afterwards."""
    instance = context.instance
    instance.service.guard(context.work.fence_file)
    stop_and_note(context, run, ROLLBACK)
    snapshot = context.work.read_snapshot(run.id)
    server = PrivateServer(
        instance,
        context.paths.datadir,
        context.work.run_dir("new"),
        private_options(instance),
        context.login,
        context.stop_timeout,
        "the new server",
    )
    context.progress.begin("compare")
    with server:
        found, digests = steps.read_content(context, server)
    context.progress.finish()
    digests.update(steps.read_files(context.paths.datadir, snapshot["digests"]))
    differences = census.compare(snapshot["census"], found) + digest.compare(snapshot["digests"], digests)
    return [difference.id for difference in differences if difference.id not in context.allowed]


def stop_and_note(context: Context, run: JournalRun, step: str) -> None:
    """Stop the server and note which socket units have to be started again; those an earlier attempt noted count."""
    sockets = context.instance.service.sockets()
    if sockets:
        context.work.journal.record(run.id, step, "note", {"sockets": sockets})
    context.instance.stop(context.stop_timeout)


def roll_back_by_request(context: Context, run: JournalRun, discard_writes: bool) -> list[str]:
    """Roll back a run, finished or not. Writes since the opening are lost with it, so they must be given up explicitly."""
    lost: list[str] = []
    if run.begun("open") and run.steps.get(ROLLBACK) != BEGIN:
        try:
            lost = changes_since_opening(context, run)
            if lost and not discard_writes:
                raise InnodbError(
                    f"rolling back would lose what was written since the migration, in {len(lost)} places: {', '.join(lost[:10])}",
                    remedy="To give these writes up, run again with innodb_rollback_discard_writes=true;"
                    " the new directory is kept aside then",
                )
        except InnodbError as error:
            context.instance.service.release(context.work.fence_file)
            context.instance.start(context.start_timeout, context.work.journal.run(run.id).facts.get("sockets") or ())
            raise error.with_state(f"The server runs on with {label(context.target)} pages, nothing was changed") from error
    try:
        roll_back(context, context.work.journal.run(run.id))
    except InnodbError as error:
        raise error.with_state(
            f"The rollback stopped half-way. All data is in {context.paths.datadir} and {context.paths.retained}, nothing was deleted.",
            "Correct the cause and run the playbook rollback again, which goes on where it stopped",
        ) from error
    return lost


def retire(work: WorkDirectory, instance: Instance, run: JournalRun, confirmed: str, retention_days: float, now: float) -> int:
    """Delete what a run keeps and return the bytes freed; InnodbError while it is too early."""
    age = (now - run.times.get(ROLLBACK, run.times.get("finish", now))) / SECONDS_PER_DAY
    if age < retention_days:
        raise InnodbError(
            f"the run {run.id} ended {age:.1f} days ago and what it keeps is to stay {retention_days:g} days",
            remedy="Wait, or lower innodb_retention_days",
        )
    kept = run.kept()
    freed = data_directory.retire(kept, confirmed, instance.datadir)
    work.remove_snapshot(run.id)
    data_directory.remove_empty(os.path.dirname(path) for path in kept if os.path.basename(os.path.dirname(path)) == RETAINED_INSIDE)
    work.journal.record(run.id, "retire", "end", {"freed_bytes": freed}, RETIRED)
    return freed

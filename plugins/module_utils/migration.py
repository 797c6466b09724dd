# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A migration as a whole: the plan, carrying it out or going on with it, rolling it back, retiring what it kept."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Any

from . import config_file, data_directory, preflight
from . import manifest as manifests
from .errors import InnodbError
from .facts import Facts
from .instance import Instance
from .journal import BEGIN, END, MIGRATED, RETIRED, RETIRING, ROLLED_BACK, UNFINISHED
from .journal import Run as JournalRun
from .layout import RETAINED_INSIDE, Paths
from .option_file import read_option_file
from .option_values import MIB
from .page_size import label
from .rollback import ROLLBACK, roll_back
from .space import LOAD_LOG_BYTES, Space, needed_space
from .steps import Context
from .strategies import DUMP_RESTORE, LIVE, SIDE_BY_SIDE, steps_of
from .work_directory import WorkDirectory

SECONDS_PER_DAY = 86400


#: What clients notice.
CLIENTS = {
    DUMP_RESTORE: "clients can neither read nor write from step fence to step open",
    SIDE_BY_SIDE: "clients can't write from step seed to step open, and can't read from step fence to step open",
    LIVE: "clients go on until step fence; there everything is ready, and two servers are stopped and one started",
}


@dataclass(frozen=True)
class Plan:
    """What a migration would do. outcome: 'migrate', 'already', 'refused', or 'resume' when an unfinished run goes on."""

    outcome: str
    blockers: list[preflight.Blocker]
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    space: Space | None = None


def name_of(size: int, moment: float) -> str:
    """A name from a page size and a time: of a run, with the size it goes to, of a retained directory, with the one it has."""
    return f"{label(size)}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(moment))}"


def make_plan(facts: Facts, target: int, paths: Paths, blockers: list[preflight.Blocker], strategy: str, sorted_at_once: int) -> Plan:
    """The plan as sentences; pure."""
    if blockers:
        return Plan("refused", blockers)
    if preflight.already_there(facts, target):
        return Plan("already", [])
    space = needed_space(facts, target, sorted_at_once)
    carried = sum(table.size_bytes for table in facts.server.tables if table.kind == "rows")
    lines = [f"{number}. {name}: {text}" for number, (name, _step, text) in enumerate(steps_of(strategy), 1)]
    notes = [
        f"{len(facts.server.tables)} tables, about {carried / MIB:.1f} MiB, go from {label(facts.page_size)} to {label(target)} pages",
        f"up to {space.dump // MIB} MiB for the dump and temporary files, and {space.build // MIB} MiB"
        f" for the new directory ({LOAD_LOG_BYTES // MIB} of it for the log while loading) are needed meanwhile",
        f"the old data directory is kept as {paths.retained}",
        CLIENTS[strategy],
    ]
    if facts.layout.binlog:
        notes.append(f"the binary log {facts.layout.binlog} goes on where it stops; the restore itself is not written to it")
    for channel in facts.server.channels:
        notes.append(f"{channel.title} stops at step fence and goes on from its position at step open; the step catch_up waits for it")
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
    return run.steps.get(ROLLBACK) == BEGIN or (run.status == UNFINISHED and run.stopped())


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


def start_run(context: Context, moment: float, **more: Any) -> JournalRun:
    """Begin a run in the journal, with all that is needed to go on with it or to undo it, and what else is to be noted."""
    run_id = name_of(context.target, moment)
    facts = {"target": context.target, "before": context.before, "strategy": context.strategy, "paths": context.paths.as_dict(), **more}
    context.work.journal.record(run_id, "plan", "note", facts)
    return context.work.journal.run(run_id)


def strategy_of(run: JournalRun) -> str:
    return run.facts["strategy"]


def steps_left(run: JournalRun, dump_valid: bool) -> list[str]:
    """Names of the steps that a run has to do, in order; pure.

    Once the renames have begun it goes forward. Before that, what was half-loaded is built again, and a complete dump is
    taken as it is when the old server was not started since (dump_valid).
    """
    names = [name for name, _step, _text in steps_of(strategy_of(run))]
    if run.facts.get("moves") is not None:
        return [name for name in names[names.index("swap") :] if not run.done(name)]
    return [name for name in names if not (name == "dump" and run.done("dump") and dump_valid)]


def goes_on(run: JournalRun) -> bool:
    """Whether a run that was cut short can go on: what was copied from a running server is out of date once that server is started."""
    return strategy_of(run) == DUMP_RESTORE or run.facts.get("moves") is not None


def end_cut_short(context: Context, run: JournalRun) -> None:
    """Roll back a run that can't go on, first of all so that the server is there again; always raises."""
    roll_back(context, run)
    context.result["outcome"] = ROLLED_BACK
    raise InnodbError(
        f"the run {run.id} was cut short while the server stood still",
        state=f"It was rolled back: the old server with {label(context.before)} pages runs again with all its data.",
        remedy="Run again, which copies anew",
    )


def dump_still_valid(context: Context) -> bool:
    """Whether the dump is complete and the old server was not started since."""
    try:
        manifest = manifests.read(context.work.dump)
    except InnodbError:
        return False
    return manifest.fingerprint == data_directory.fingerprint(context.paths)


def migrate(context: Context, run: JournalRun) -> None:
    """Carry out the steps that are left. A failure before the service is opened rolls everything back and is raised."""
    in_place = run.facts.get("moves") is None
    left = steps_left(run, in_place and run.done("dump") and dump_still_valid(context))
    for name, step, _text in steps_of(strategy_of(run)):
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
    if step in ("catch_up", "finish") or (step == "open" and context.instance.running()):
        return error.with_state(
            f"The new server with {label(context.target)} pages runs and holds all data; the old directory is kept.",
            "Correct the cause and run migrate again, which finishes, or run the playbook rollback",
        )
    try:
        roll_back(context, run)
    except Exception as second:
        return error.with_state(
            f"Rolling back failed as well: {second}. The server may be down."
            f" All data is in {context.paths.datadir} or {context.paths.retained}, nothing was deleted.",
            "Correct the cause and run the playbook rollback",
        )
    context.result["outcome"] = ROLLED_BACK
    again = " again" if run.stopped() else " on"
    aside = context.work.journal.run(run_id).kept()
    kept = f" What was the new server for a moment is kept as {aside[0]}." if aside else ""
    return error.with_state(
        f"Everything was rolled back: the old server with {label(context.before)} pages runs{again} with all its data.{kept}",
        error.remedy or "Correct the cause and run again",
    )


def retire(work: WorkDirectory, instance: Instance, run: JournalRun, confirmed: str, retention_days: float, now: float) -> int:
    """Delete what a run keeps and return the bytes freed; InnodbError while it is too early."""
    age = (now - run.times.get(ROLLBACK, run.times.get("finish", now))) / SECONDS_PER_DAY
    if age < retention_days:
        raise InnodbError(
            f"the run {run.id} ended {age:.1f} days ago and what it keeps is to stay {retention_days:g} days",
            remedy="Wait, or lower innodb_retention_days",
            refusal=True,
        )
    kept = run.kept()
    # From here on nothing can be rolled back to it, even if the deletion is cut short.
    work.journal.record(run.id, "retire", BEGIN, {"retiring": kept}, RETIRING)
    freed = data_directory.retire(kept, confirmed, instance.datadir)
    work.remove_snapshot(run.id)
    data_directory.remove_empty_retained(kept)
    if not os.path.isdir(os.path.join(instance.datadir, RETAINED_INSIDE)):
        unhide(run)
    work.journal.record(run.id, "retire", END, {"freed_bytes": freed}, RETIRED)
    return freed


def unhide(run: JournalRun) -> None:
    """Take back what a rollback wrote to keep the server from seeing what it kept, unless somebody changed the file since."""
    hiding, path = run.facts.get("config_hiding"), run.facts.get("config_path")
    if hiding and os.path.exists(path) and read_option_file(path) == hiding:
        config_file.put_content(path, run.facts["config_shown"] if "config_shown" in run.facts else run.facts.get("config_before"))

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a user asks for, from the options to the result: plan, migrate, roll back, retire."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from . import config_file, layout, live_preflight, migration, option_file, preflight, rehearsal, rollback, scratch, server_config, way_back
from .census import read_definitions
from .dictionary_objects import read_objects, read_statements
from .digest import CHECKSUM
from .errors import InnodbError, told_to_end
from .facts import Facts, read_facts
from .instance import Instance, InstanceSpec, find_instance
from .journal import MIGRATED, ROLLED_BACK, UNFINISHED, lock_held, locked
from .journal import Run as JournalRun
from .live_options import LiveOptions
from .page_size import label
from .processes import Run
from .progress import Progress, to_file
from .run_report import figures_of, result_of
from .session import Login, apply_settings, connect
from .steps import Context
from .strategies import AUTO, BACK, DUMP_RESTORE
from .tables import read_plugins
from .work_directory import WorkDirectory, file_system_of, free_bytes, passable

DEFAULT_WORK_DIR = "/var/lib/pagesmith-innodb"
SCRATCH_DIR = "/var/tmp"
STILL_COUNTS = ("manual_attempt", "page_size_unclear", "data_directory", "option_overridden", "locked", "privileges")


@dataclass(frozen=True)
class Options:
    """The options of a migration. target in bytes, timeouts in seconds; config is the content of our option file."""

    spec: InstanceSpec
    login: Login
    target: int = 0
    config: str = ""
    work_dir: str = DEFAULT_WORK_DIR
    allowed: frozenset[str] = frozenset()
    workers: int = 0
    digest_method: str = CHECKSUM
    dump_keep: bool = False
    stop_timeout: float = 600
    start_timeout: float = 900
    catch_up_timeout: float = 3600
    progress_file: str | None = None
    strategy: str = AUTO
    live: LiveOptions = LiveOptions()


@dataclass
class Situation:
    """Where an instance stands: what it is, what its journal says."""

    instance: Instance
    facts: Facts
    work: WorkDirectory
    last: JournalRun | None
    unfinished: bool
    moment: float = field(default_factory=time.time)


def read_situation(run: Run, options: Options) -> Situation:
    """Look at the instance and its journal, and change nothing."""
    instance = find_instance(run, options.spec)
    work = WorkDirectory(options.work_dir, instance.name)
    guard = instance.service.guarded_by()
    if guard and guard != work.fence_file:
        raise InnodbError(
            f"an unfinished run of this instance has its journal in {os.path.dirname(guard)}",
            state="Nothing was changed; the server is kept down by that run.",
            remedy=f"Run again with innodb_work_dir={os.path.dirname(os.path.dirname(guard))}",
        )
    last = work.journal.last()
    unfinished = last is not None and migration.is_unfinished(last)
    facts = read_facts(instance, None if unfinished else options.login)
    return Situation(instance, facts, work, last, unfinished)


def plan(run: Run, options: Options, situation: Situation) -> migration.Plan:
    """The plan, with everything that stands against it; nothing of what it tries out stays on the host."""
    if situation.unfinished and migration.resumable(situation.last, options.target):
        names = [name for name, state in situation.last.steps.items() if state == "end"]
        return migration.Plan("resume", [], [f"go on with the run {situation.last.id}, which ended after: {', '.join(names) or 'nothing'}"])
    facts = situation.facts
    blockers = find_blockers(options, situation)
    if preflight.already_there(facts, options.target):
        blockers = [blocker for blocker in blockers if blocker.id in STILL_COUNTS or blocker.id.endswith(" unreadable")]
        return migration.Plan("refused" if blockers else "already", blockers)
    paths = new_paths(situation)
    can_rehearse = facts.server is not None and facts.server.all_privileges
    if can_rehearse and not any(blocker.object == situation.instance.engine.title for blocker in blockers):
        with scratch_directory() as directory:
            blockers += rehearsal_blockers(run, options, situation, directory)
    return migration.make_plan(facts, options.target, paths, blockers, strategy(options), sorted_at_once(options))


def find_blockers(options: Options, situation: Situation, own_lock: bool = False) -> list[preflight.Blocker]:
    """What stands against a migration by this strategy."""
    blockers = preflight.find_blockers(situation.facts, request(options, situation, own_lock))
    return blockers + live_preflight.find_blockers(situation.facts, strategy(options))


def new_paths(situation: Situation) -> layout.Paths:
    return layout.plan_paths(situation.facts.layout, migration.name_of(situation.facts.page_size or 0, situation.moment))


@contextlib.contextmanager
def scratch_directory() -> Iterator[str]:
    """A directory for a rehearsal, away from all that lasts, so that a plan leaves no trace."""
    with scratch.scratch_directory(SCRATCH_DIR) as directory:
        yield os.path.join(directory, "rehearsal")


def require_unchanged(options: Options, situation: Situation) -> None:
    """InnodbError when what was planned without the lock does not hold any more, now that we have it."""
    blockers = [] if situation.unfinished else find_blockers(options, situation, own_lock=True)
    if blockers or preflight.already_there(situation.facts, options.target):
        reason = blockers[0].message if blockers else "another run migrated it"
        raise InnodbError(f"the instance changed while the migration was planned: {reason}", remedy="Run again")


def rehearsal_blockers(run: Run, options: Options, situation: Situation, directory: str) -> list[preflight.Blocker]:
    """Ask the real program: does it take the schema at the target page size, and our option file?"""
    instance, server = situation.instance, situation.facts.server
    with connect(instance.login(options.login)) as session:
        apply_settings(session, instance.engine.trait("read_session"))
        source = read_definitions(session, [table for table in server.tables if f"{table.title}" not in server.unreadable])
        source.update(read_objects(session, instance.engine))
        statements = [statement for statement in read_statements(session, instance.engine) if statement.object in source]
        plugins = read_plugins(session, instance.engine)
    paths = new_paths(situation)
    tables = [table for table in server.tables if f"table {table.title}" in source]
    try:
        refused = rehearsal.rehearse(run, instance, paths, options.target, directory, tables, plugins, source, options.allowed, statements)
    except InnodbError as error:
        if told_to_end(error):
            raise
        return [preflight.failed_rehearsal(options.target, error)]
    blockers = preflight.blockers_of_rehearsal(refused)
    if options.config:
        problems = server_config.candidate_problems(run, instance, paths, options.config, directory, options.target)
        remedy = "Correct the variables of nvme_config"
        blockers += [preflight.Blocker("configuration", "option file", problem, remedy) for problem in problems]
    return blockers


def request(options: Options, situation: Situation, own_lock: bool = False) -> preflight.Request:
    """What preflight needs besides the facts of the server. own_lock: the lock that is held is ours."""
    instance, facts = situation.instance, situation.facts
    drop_in = option_file.drop_in_path(instance.options, instance.group_suffix)
    directories = [os.path.dirname(facts.layout.real_datadir), *facts.layout.outside.values()]
    if facts.layout.mount_point:
        directories[0] = facts.layout.real_datadir
    directories.append(facts.layout.real_datadir)
    unwritable = [(path, layout.unwritable(path)) for path in dict.fromkeys(directories) if os.path.isdir(path)]
    if not facts.layout.mount_point and os.path.isdir(facts.layout.real_datadir) and layout.in_image_layer(facts.layout.real_datadir):
        unwritable.append((facts.layout.real_datadir, "it belongs to the image of a container, and can't be renamed; put it on a volume"))
    if drop_in:
        unwritable.append((os.path.dirname(drop_in), layout.unwritable(os.path.dirname(drop_in))))
    barred = passable(situation.work.path, *instance.owner()) if os.path.isdir(instance.datadir) else None
    if barred and barred != situation.work.path:
        unwritable.append((barred, "the server's user may not pass through it, so it can't write the dump below it"))
    real = facts.layout.real_datadir
    return preflight.Request(
        target=options.target,
        allowed=options.allowed,
        work_dir=options.work_dir,
        work_free_bytes=free_bytes(options.work_dir),
        same_file_system=os.path.isdir(real) and os.stat(file_system_of(options.work_dir)).st_dev == os.stat(real).st_dev,
        other_run=not own_lock and lock_held(situation.work.path),
        overridden=tuple(option_file.overridden(instance.options, drop_in, options.config) if drop_in and options.config else ()),
        drop_in=drop_in,
        sorted_at_once=sorted_at_once(options),
        server_files_unwritable=tuple((path, reason) for path, reason in unwritable if reason),
        known_retained=frozenset(kept for run in situation.work.journal.runs() for kept in run.kept()),
    )


def config_diff(options: Options, situation: Situation) -> dict[str, str]:
    """The change of our option file, as Ansible shows it."""
    path = option_file.drop_in_path(situation.instance.options, situation.instance.group_suffix) or "option file"
    before = option_file.read_option_file(path) if os.path.isfile(path) else None
    return config_file.Edit(path, before, options.config).diff()


def migrate(run: Run, options: Options, situation: Situation, plan_lines: Sequence[str]) -> dict[str, Any]:
    """Carry out a migration that plan() allowed, or go on with an unfinished one; the caller holds the lock."""
    context = make_context(run, options, situation, situation.last if situation.unfinished else None)
    for line in plan_lines:
        context.progress.say(f"plan: {line}")
    forget_unstarted(run, options, situation)
    journal_run = situation.last if situation.unfinished else migration.start_run(context, situation.moment)
    try:
        if situation.unfinished and not migration.goes_on(journal_run):
            migration.end_cut_short(context, journal_run)
        migration.migrate(context, journal_run)
    except InnodbError as error:
        raise Failed(error, result_of(context, journal_run.id, context.result.get("outcome", "failed"))) from error
    return result_of(context, journal_run.id, MIGRATED)


def forget_unstarted(run: Run, options: Options, situation: Situation) -> None:
    """Clean up after a run that was cut short before it stopped the server: another one begins anew."""
    if situation.last and situation.last.status == UNFINISHED and not situation.unfinished:
        rollback.roll_back(make_context(run, options, situation, situation.last), situation.last)


class Failed(InnodbError):
    """A migration or a rollback that failed, with the result so far."""

    def __init__(self, error: InnodbError, result: dict[str, Any]) -> None:
        super().__init__(error.failed, error.state, error.remedy)
        self.result = result


def make_context(run: Run, options: Options, situation: Situation, journal_run: JournalRun | None) -> Context:
    """The context of the steps: from the journal for an existing run, from the situation for a new one."""
    facts = situation.facts
    known = journal_run.facts if journal_run else None
    paths = layout.Paths.from_dict(known["paths"]) if known else new_paths(situation)
    config_path = (known or {}).get("config_path") or option_file.drop_in_path(situation.instance.options, situation.instance.group_suffix)
    return Context(
        run=run,
        spec=options.spec,
        instance=situation.instance,
        login=options.login,
        work=situation.work,
        progress=Progress(to_file(options.progress_file) if options.progress_file else lambda states: None),
        paths=paths,
        layout=facts.layout,
        before=known["before"] if known else facts.page_size,
        target=known["target"] if known else options.target,
        config=known["config"] if known and "config" in known else options.config,
        config_path=config_path,
        allowed=options.allowed,
        workers=options.workers or default_workers(),
        digest_method=options.digest_method,
        dump_keep=options.dump_keep,
        stop_timeout=options.stop_timeout,
        start_timeout=options.start_timeout,
        strategy=known["strategy"] if known else strategy(options),
        live=options.live,
        catch_up_timeout=options.catch_up_timeout,
    )


def strategy(options: Options) -> str:
    """The strategy that is meant; the one that works everywhere unless another is asked for."""
    return DUMP_RESTORE if options.strategy == AUTO else options.strategy


def sorted_at_once(options: Options) -> int:
    """Of how many tables a new server puts the rows in order at the same time: none of those that go as text (see carriers)."""
    return options.workers or default_workers() if strategy(options) == DUMP_RESTORE else 0


def default_workers() -> int:
    """As many as there are processors: one more took 5 % more CPU time on two of them (tests/benchmarks/move), and no less time."""
    return max(2, os.cpu_count() or 1)


def last_run_to_undo(situation: Situation) -> JournalRun | None:
    """The run that a rollback undoes: the last one that was not rolled back, unless what it kept is deleted."""
    for journal_run in reversed(situation.work.journal.runs()):
        undone = journal_run.status == MIGRATED and migration.strategy_of(journal_run) == BACK
        if journal_run.status != ROLLED_BACK and not undone:
            return journal_run if journal_run.status in (UNFINISHED, MIGRATED) else None
    return None


def roll_back(run: Run, options: Options, situation: Situation, discard_writes: bool) -> dict[str, Any]:
    """Undo the last run; the caller holds the lock."""
    journal_run = last_run_to_undo(situation)
    context = make_context(run, options, situation, journal_run)
    lost = rollback.roll_back_by_request(context, journal_run, discard_writes)
    return {
        "outcome": "rolled_back",
        "run": journal_run.id,
        "page_size_before": context.target,
        "page_size_after": context.before,
        "lost_writes": lost,
        "set_aside": situation.work.journal.run(journal_run.id).kept(),
    }


def roll_back_keeping_writes(run: Run, options: Options, situation: Situation) -> dict[str, Any]:
    """Undo the last run, whose retained directory is given all that was written since; the caller holds the lock."""
    if situation.unfinished:
        raise InnodbError(
            f"the run {situation.last.id} was cut short and may have stopped the server",
            state="Nothing was changed; the data is whole.",
            remedy=f"Run migrate with innodb_page_size={label(situation.last.facts['target'])}, which ends it, or rollback without"
            " innodb_rollback_keep_writes",
            refusal=True,
        )
    forget_unstarted(run, options, situation)
    former = last_run_to_undo(situation)
    if former is None or situation.facts.server is None:
        raise InnodbError(
            "the server does not run, or nothing is kept, so there is nothing to follow", remedy="Start the server", refusal=True
        )
    way_back.require_possible(former, situation.facts.layout)
    blockers = preflight.find_server_blockers(situation.facts, request(options, situation, own_lock=True))
    blockers += live_preflight.find_blockers(situation.facts, BACK)
    if blockers:
        texts = " ".join(f"{blocker.message}. {blocker.remedy}." for blocker in blockers)
        raise InnodbError("what was written since can't be followed", "Nothing was changed.", texts, refusal=True)
    known = former.facts
    options = replace(options, target=known["before"], strategy=BACK)
    context = make_context(run, options, situation, None)
    hiding = rollback.hiding_content(situation.instance, known["config_before"]) if context.paths.inside else None
    context = replace(context, config=hiding or known["config_before"], config_path=known["config_path"])
    noted = {way_back.UNDOES: former.id, "config": context.config, "config_hiding": hiding, "config_shown": known["config_before"]}
    journal_run = migration.start_run(context, situation.moment, **noted)
    try:
        migration.migrate(context, journal_run)
    except InnodbError as error:
        raise Failed(error, result_of(context, journal_run.id, "failed")) from error
    result = result_of(context, journal_run.id, MIGRATED)
    kept = situation.work.journal.run(journal_run.id).kept()
    return {**result, "outcome": "rolled_back", "run": former.id, "lost_writes": [], "set_aside": kept, "retained_directory": None}


def retire(situation: Situation, confirmed: str, retention_days: float) -> dict[str, Any]:
    """Delete what the run that keeps the confirmed path keeps; the caller holds the lock."""
    runs = [run for run in situation.work.journal.runs() if run.kept()]
    chosen = [run for run in runs if os.path.realpath(run.kept()[0]) == os.path.realpath(confirmed)]
    if not chosen:
        kept = ", ".join(run.kept()[0] for run in runs) or "nothing is kept"
        raise InnodbError(f"'{confirmed}' is not a directory that this instance keeps", remedy=f"Kept are: {kept}", refusal=True)
    if situation.unfinished or not situation.facts.running:
        raise InnodbError(
            "the instance is not running, or a run of it is unfinished, so its old directory may still be needed",
            remedy="Finish or roll back the run first",
        )
    freed = migration.retire(situation.work, situation.instance, chosen[-1], confirmed, retention_days, time.time())
    return {"outcome": "retired", "run": chosen[-1].id, "freed_bytes": freed, "removed": chosen[-1].kept()}


@contextlib.contextmanager
def work_locked(situation: Situation) -> Iterator[None]:
    """Hold the instance's lock; the work directory is made when it is not there."""
    if os.path.isdir(situation.instance.datadir):
        situation.work.create(situation.instance.owner()[1])
    with locked(situation.work.path):
        yield


def describe_plan(plan: migration.Plan, options: Options, situation: Situation) -> dict[str, Any]:
    """What a report says of a migration that was not carried out. What is there already has the figures of the run that made it."""
    size = situation.facts.page_size
    kept = [run for run in situation.work.journal.runs() if run.kept() and run.facts.get("target") == size]
    return {
        "outcome": {"migrate": "planned", "resume": "planned"}.get(plan.outcome, plan.outcome),
        "page_size_before": size,
        "page_size_after": size if plan.outcome in ("already", "refused") else options.target,
        "strategy": migration.strategy_of(kept[-1]) if kept and plan.outcome == "already" else strategy(options),
        **figures_of(kept[-1] if kept and plan.outcome == "already" else None),
        "tables": len(situation.facts.server.tables) if situation.facts.server else 0,
        "blockers": [blocker.as_dict() for blocker in plan.blockers],
        "census_differences": [],
        "digest_differences": [],
        "retained_directory": kept[-1].kept()[0] if kept else None,
        "plan": plan.lines + plan.notes,
    }

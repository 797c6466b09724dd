# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The way back: the old server in its place again, whatever state a run is in. What may have served clients is kept, not deleted."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any

from . import census, config_file, data_directory, digest, eager_flushing, logical_dump, processes, replica_steps, steps
from .binary_log import Position, read_changes
from .errors import InnodbError
from .instance import Instance
from .journal import BEGIN, END, ROLLED_BACK
from .journal import Run as JournalRun
from .layout import Paths, aside_paths
from .page_size import label
from .private_server import PrivateServer, private_options
from .server_options import ignored_directories
from .session import connect
from .steps import Context
from .tablespace import page_size_of_file

ROLLBACK = "rollback"


def roll_back(context: Context, run: JournalRun) -> None:
    """Put the old server back and start it.

    A run that did not get to the fence leaves the server as it is, running. New files that were in the server's place are set
    aside, unless this very process put them there and nobody else can have started a server on them; others are removed.
    """
    journal, paths = context.work.journal, context.paths
    context.work.release_reserve()
    if context.successor:
        context.successor.close()
    if not run.stopped():
        context.instance.service.release(context.work.fence_file)
        remove_copies(context)
        replica_steps.resume_untouched(context, run)
        data_directory.remove_build(paths)
        context.work.remove_temporary()
        put_back_settings(context, run)
        journal.record(run.id, ROLLBACK, END, status=ROLLED_BACK)
        return
    moves = run.facts.get("moves") or []
    swapped = run.facts.get("rollback_moves") is not None or (moves and data_directory.completed(moves) == len(moves))
    keep = swapped and (run.begun("open") or "swap" not in context.done)
    if keep:
        require_retained(context, run)
    journal.record(run.id, ROLLBACK, BEGIN)
    context.instance.service.guard(context.work.fence_file)
    stop_everything(context)
    if keep:
        set_new_aside(context, run)
    else:
        data_directory.undo(moves, existing(paths))
        data_directory.remove_half_built(paths)
        data_directory.undo(paths.external, paths.datadir)
        data_directory.remove_build(paths)
    steps.restore_config(run)
    if keep and paths.inside:
        hide_kept(context, run)
    remove_copies(context)
    data_directory.remove_empty_retained([paths.retained, *(entry.retained for entry in paths.outside)])
    context.work.remove_temporary()
    reopen_old(context, run)
    journal.record(run.id, ROLLBACK, END, status=ROLLED_BACK)


def put_back_settings(context: Context, run: JournalRun) -> None:
    """What was set in the server before it was to be stopped; one that was started since has what its option files say."""
    before = run.facts.get(eager_flushing.FLUSHING)
    if before and context.instance.running():
        with connect(context.instance.login(context.login)) as session:
            eager_flushing.put_back(session, before)


def remove_copies(context: Context) -> None:
    """Remove what was dumped, complete or not."""
    for directory in dict.fromkeys((context.work.dump, steps.exchange_directory(context))):
        logical_dump.remove_dump(directory)
        logical_dump.remove_dump(directory + logical_dump.PARTIAL_SUFFIX)


def existing(paths: Paths) -> str:
    """One of the directories that have the right owner, whichever is there."""
    return next(path for path in (paths.datadir, paths.retained, paths.build) if os.path.isdir(path))


def require_retained(context: Context, run: JournalRun) -> None:
    """InnodbError unless the retained files are there and have the old page size; renames that were made already are no matter."""
    if run.facts.get("rollback_moves") is not None:
        return
    paths = context.paths
    home = next((entry.retained for entry in paths.outside if entry.option == "innodb_data_home_dir"), paths.retained)
    system_file = os.path.join(home, os.path.basename(context.instance.system_file))
    if page_size_of_file(system_file) != context.before:
        raise InnodbError(
            f"{system_file} is missing or has not {label(context.before)} pages, so there is nothing to roll back to",
            remedy=f"Put the retained directory back as {paths.retained}",
        )


def stop_everything(context: Context) -> None:
    """Stop the server, and private servers that a killed run left, wherever their directory is now."""
    context.instance.service.stop(context.stop_timeout)
    for directory in (context.paths.datadir, context.paths.build, context.paths.retained):
        if os.path.isdir(directory):
            for pid in processes.servers_in(directory):
                processes.stop_pid(pid, context.stop_timeout)
            processes.wait_stopped(directory, os.path.join(directory, "ibdata1"), context.stop_timeout)


def set_new_aside(context: Context, run: JournalRun) -> None:
    """Rename the new files, which may hold what clients wrote, and put the retained ones back."""
    moves = run.facts.get("rollback_moves")
    if moves is None:
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        aside = aside_paths(context.paths, f"{label(context.target)}-{moment}-rolled-back")
        moves = data_directory.rollback_moves(context.paths, aside)
        data_directory.require_clear(moves)
        context.work.journal.record(run.id, ROLLBACK, "note", {"rollback_moves": moves, "aside": aside.as_dict()})
    data_directory.carry_out(moves, existing(context.paths))


def hide_kept(context: Context, run: JournalRun) -> None:
    """On a mount point what is kept stays inside the data directory; an option file tells the server that it is no schema.

    The file is as it was before the migration but for these lines, and is so again once what they hide is deleted.
    """
    content = hiding_content(context.instance, run.facts.get("config_before"))
    if content:
        context.work.journal.record(run.id, ROLLBACK, "note", {"config_hiding": content})
        config_file.put_content(run.facts["config_path"], content)


def hiding_content(instance: Instance, before: str | None) -> str | None:
    """Content of an option file with the lines that hide what is kept in the data directory; None when they are there, or not needed."""
    before = before or ""
    choices = ignored_directories(instance.engine, {"datadir_is_mount_point": True})
    lines = [f"\n# {choice.reason}\n{choice.line}\n" for choice in choices if choice.line not in before.splitlines()]
    return f"{before}\n[mysqld{instance.group_suffix or ''}]\n{''.join(lines)}" if lines else None


def reopen_old(context: Context, run: JournalRun) -> None:
    """Start the old server and check that it is the one of before."""
    instance = replica_steps.start_service(context, context.work.journal.run(run.id), same_place=False)
    if instance.page_size_of_files() != context.before:
        raise InnodbError(f"the server's files have not {context.before} bytes per page", state="The old files are in their place.")
    with connect(instance.login(context.login)) as session:
        steps.require_identity(session.variables("innodb_page_size", "datadir"), replace(context, target=context.before))


def changes_since_opening(context: Context, run: JournalRun) -> list[str]:
    """What clients changed in the new server since it was opened, read from it under a fence; the server is down afterwards."""
    instance = context.instance
    if run.facts.get("binlog_end"):
        steps.shut_out(context, run, ROLLBACK)
        return written_since(context, Position(*run.facts["binlog_end"]))
    snapshot = context.work.read_snapshot(run.id)
    steps.shut_out(context, run, ROLLBACK)
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
        found, digests = steps.read_content(replace(context, digest_method=snapshot["digest_method"]), server)
    context.progress.finish()
    digests.update(steps.read_files(context.paths.datadir, snapshot["digests"]))
    return [difference.id for difference in _differences(snapshot, found, digests)]


def written_since(context: Context, end: Position) -> list[str]:
    """What the binary log has got since a position, as objects."""
    changes = read_changes(context.layout.binlog, end)
    names = [f"table {schema}.{table} content" for schema, table in sorted(changes.tables)]
    names += [f"statement '{text}'" for text in changes.definitions]
    if changes.row_statements:
        names.append(f"{changes.row_statements} statements that change rows")
    return names or (["something in the binary log"] if changes.events else [])


def _differences(snapshot: dict[str, Any], found: census.Census, digests: dict[str, Any]) -> list[census.Difference]:
    return census.compare(snapshot["census"], found) + digest.compare(snapshot["digests"], digests)


def roll_back_by_request(context: Context, run: JournalRun, discard_writes: bool) -> list[str]:
    """Roll back a run, finished or not. Writes since the opening are lost with it, so they must be given up explicitly."""
    lost: list[str] = []
    if run.begun("open") and run.steps.get(ROLLBACK) != BEGIN:
        require_retained(context, run)
        lost = lost_writes(context, run, discard_writes)
    try:
        roll_back(context, context.work.journal.run(run.id))
    except Exception as error:
        failure = error if isinstance(error, InnodbError) else InnodbError(f"the rollback failed: {type(error).__name__}: {error}")
        raise failure.with_state(
            f"The rollback stopped half-way and the server may be down. All data is in {context.paths.datadir}"
            f" and {context.paths.retained}, nothing was deleted.",
            "Correct the cause and run the playbook rollback again, which goes on where it stopped",
        ) from error
    return lost


def lost_writes(context: Context, run: JournalRun, discard_writes: bool) -> list[str]:
    """What a rollback would lose. InnodbError, with the new server running on, when that is not given up."""
    try:
        lost = changes_since_opening(context, run)
        if lost and not discard_writes:
            places = ", ".join(lost[:10]) + (" and more" if len(lost) > 10 else "")
            raise InnodbError(
                f"rolling back would lose what was written since the migration, here: {places}",
                remedy="To go back with all of it, run again with innodb_rollback_keep_writes=true. To give these writes up, run again"
                " with innodb_rollback_discard_writes=true; the new directory is kept aside then",
                refusal=True,
            )
        return lost
    except Exception as error:
        if discard_writes:
            # The new server may be what is broken.
            return [f"not known, since the new server can't be read: {error}"]
        replica_steps.start_service(context, context.work.journal.run(run.id), same_place=True)
        failure = error if isinstance(error, InnodbError) else InnodbError(f"the comparison failed: {type(error).__name__}: {error}")
        state = f"The server was stopped to compare it and runs again with {label(context.target)} pages; nothing else was changed"
        raise failure.with_state(state) from error

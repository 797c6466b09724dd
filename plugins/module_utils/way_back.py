# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The way back that keeps what was written since: a copy of the retained directory follows the running server and takes its place.

The retained directory itself is only read. All but the copy is as in the strategy live: the copy receives what the binary log has got since
the exchange, is compared with the running server, and takes its place when nothing is missing.
"""

from __future__ import annotations

import fnmatch
import os
import shutil
from typing import Any

from . import binary_log, data_directory, processes, steps
from .binary_log import Changes, Position
from .errors import InnodbError
from .journal import END, ROLLED_BACK
from .journal import Run as JournalRun
from .layout import Layout, Paths, kept_names
from .live_copy import source_session
from .page_size import label
from .steps import Context
from .successor import open_successor
from .work_directory import free_bytes

#: The fact of a run that it undoes another one.
UNDOES = "undoes"
#: Space for a copy of the retained directory, in parts of its size, and for the binary log since then, in parts of its size: it is received
#: as relay logs, and makes the tables grow as it is applied.
COPY_SHARE = 1.1
LOG_SHARE = 2


def end_of(run: JournalRun) -> Position | None:
    """Where the binary log ended when the retained directory was set aside, None when nobody knows."""
    end = run.facts.get("binlog_end") or run.facts.get("log_end")
    return Position(*end) if end else None


def require_possible(run: JournalRun, layout: Layout) -> None:
    """InnodbError, a refusal that changed nothing, unless the retained directory of a run and the binary log since are there."""
    paths, end = Paths.from_dict(run.facts["paths"]), end_of(run)
    remedy = (
        f"To go back with all that was written since, run migrate with innodb_page_size={label(run.facts['before'])}; to give it up, run"
        " rollback with innodb_rollback_discard_writes=true"
    )
    reason, logged = None, 0
    if not os.path.isdir(paths.retained):
        reason = f"{paths.retained} is missing"
    elif paths.external:
        reason = "tablespaces outside the data directory belong to the retained directory"
    elif end is None or not layout.binlog:
        reason = "the server wrote no binary log when its directory was set aside, or writes none now"
    else:
        try:
            logged = sum(os.path.getsize(path) for path in binary_log.files_from(layout.binlog, end.file))
        except InnodbError as error:
            reason = error.failed
    reason = reason or _too_little_space(paths, logged)
    if reason:
        raise InnodbError(f"what was written since can't be kept: {reason}", "Nothing was changed.", remedy, refusal=True)


def _too_little_space(paths: Paths, logged: int) -> str | None:
    """Why there is no space for a copy of what is retained and for so many bytes of binary log; None when there is."""
    needed = int(COPY_SHARE * data_directory.copied_bytes(paths.retained)) + LOG_SHARE * logged
    places = [(paths.retained, os.path.dirname(paths.build), needed)]
    for entry in paths.outside:
        copied = sum(data_directory.copied_bytes(os.path.join(entry.retained, name)) for name in kept_names(entry))
        places.append((entry.retained, entry.directory, int(COPY_SHARE * copied)))
    for source, target, wanted in places:
        device = os.stat(target).st_dev
        together = sum(other for _source, place, other in places if os.stat(place).st_dev == device)
        free = free_bytes(target)
        if wanted and together > free:
            return f"a copy of {source}, with the binary log since, needs {together >> 20} MiB and {free >> 20} MiB are free"
    return None


def _sources(paths: Paths) -> list[str]:
    """The retained directories and files."""
    outside = [os.path.join(entry.retained, name) for entry in paths.outside for name in kept_names(entry)]
    return [paths.retained, *outside]


def copy_back(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Copy the retained directory, and let the copy receive what the binary log has got since."""
    del notes
    former = context.work.journal.run(run.facts[UNDOES])
    copy_retained(context, Paths.from_dict(former.facts["paths"]))
    end = end_of(former)
    with source_session(context) as session:
        successor = open_successor(context, session)
        user, password = session.credentials()
    successor.changes = Changes(end)
    follower = successor.start([], context.login)
    follower.begin(successor.way_to_source(), user, password, end)
    successor.stop()


def copy_retained(context: Context, retained: Paths) -> None:
    """A copy of the files of a retained directory, as build would make them: without what belongs to a server and not to its data."""
    paths = context.paths
    processes.require_stopped(retained.retained, os.path.join(retained.retained, "ibdata1"))
    data_directory.make_build_directories(paths)
    context.progress.expect(sum(data_directory.tree_bytes(source) for source in _sources(retained)))
    copied = 0

    def copy(source: str, target: str) -> None:
        nonlocal copied
        data_directory.copy_file(source, target)
        copied += os.path.getsize(target)
        context.progress.report(copied)

    left_out = left_behind(context)

    def ignored(directory: str, names: list[str]) -> list[str]:
        inside = os.path.relpath(directory, retained.retained)
        paths_inside = {name: os.path.normpath(os.path.join(inside, name)) for name in names}
        return [name for name, path in paths_inside.items() if any(fnmatch.fnmatchcase(path, pattern) for pattern in left_out)]

    shutil.copytree(retained.retained, paths.build, symlinks=True, ignore=ignored, copy_function=copy, dirs_exist_ok=True)
    for directory, folders, _files in os.walk(retained.retained):
        for folder in folders:
            source = os.path.join(directory, folder)
            target = os.path.join(paths.build, os.path.relpath(source, retained.retained))
            if os.path.isdir(target) and not os.path.islink(target):
                data_directory.copy_attributes(source, target)
    for old, new in zip(retained.outside, paths.outside):
        for name in kept_names(old):
            copy(os.path.join(old.retained, name), os.path.join(new.build, name))
    if data_directory.built_page_size(context.instance, paths) != context.target:
        raise InnodbError(f"{retained.retained} has not {label(context.target)} pages", state="")


def left_behind(context: Context) -> list[str]:
    """Patterns of what the running server has newer: its binary log, its error log, and the files that are carried as they are."""
    engine, layout = context.instance.engine, context.layout
    patterns = [*engine.trait("carried_files"), *engine.trait("replaced_files")]
    if layout.binlog_inside:
        patterns.append(
            f"{os.path.relpath(os.path.realpath(os.path.dirname(layout.binlog)), layout.real_datadir)}/{os.path.basename(layout.binlog)}.*"
        )
    if context.instance.error_log:
        patterns.append(os.path.relpath(os.path.realpath(context.instance.error_log), layout.real_datadir))
    return [os.path.normpath(pattern) for pattern in patterns]


def finish(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Remove what is not needed any more. The run that is undone keeps its directory still, for retire."""
    steps.finish(context, run, notes)
    former = context.work.journal.run(run.facts[UNDOES])
    context.work.journal.record(former.id, "rollback", END, {"aside": former.facts["paths"]}, ROLLED_BACK)

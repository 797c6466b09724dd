# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the steps of a migration do besides when the server is a replica, and its way back to clients; all of it may be run again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import config_file, replication
from .durable import remove_file, write_file
from .instance import Instance, find_instance
from .journal import Run as JournalRun
from .option_file import read_option_file
from .session import connect

if TYPE_CHECKING:
    from .steps import Context

#: Fact of a run: what the server is as a replica.
REPLICATION = "replication"


def pause(context: Context, run: JournalRun, step: str) -> None:
    """Stop replication, with its position in the journal. What it was is noted first; the note of an attempt that was cut short counts."""
    instance = context.instance
    if not instance.running():
        return
    with connect(instance.login(context.login)) as session:
        noted = run.facts.get(REPLICATION) if step == "fence" else None
        state = noted or replication.read_state(session, instance.engine)
        if not state["channels"]:
            return
        record(context, run, step, state)
        state = replication.stop(session, instance.engine, state)
    record(context, run, step, state)


def record(context: Context, run: JournalRun, step: str, state: dict[str, Any]) -> None:
    facts = {REPLICATION: state}
    context.work.journal.record(run.id, step, "note", facts)
    run.facts.update(facts)


def resume_untouched(context: Context, run: JournalRun) -> None:
    """Let a server that was not stopped replicate as it did."""
    state = run.facts.get(REPLICATION)
    if state and context.instance.running():
        with connect(context.instance.login(context.login)) as session:
            replication.start(session, context.instance.engine, state)


def carry(context: Context, run: JournalRun) -> None:
    """Bring what the stopped replica has in files into the new data directory."""
    state = run.facts.get(REPLICATION)
    if state:
        names = replication.carried_names(context.paths.datadir, context.instance.engine, context.instance.options, state)
        replication.carry(context.paths.datadir, context.paths.build, names)


def start_service(context: Context, run: JournalRun, same_place: bool) -> Instance:
    """Start the service with the option file that is in place. A replica replicates only when it has proven to have its channels.

    same_place: the server is to be at the positions that were noted when it was stopped.
    """
    state = run.facts.get(REPLICATION)
    path = run.facts.get("config_path") or context.config_path
    init_file = os.path.join(context.work.path, "init.sql")
    lines = replication.hold_lines(context.instance.engine, context.instance.group_suffix, state, init_file) if state else ""
    content = replication.without_hold(read_option_file(path) if os.path.exists(path) else None, lines) if state else None
    if state:
        write_init_file(context, init_file, state)
        config_file.put_content(path, replication.held(content, lines))
    context.instance.service.release(context.work.fence_file)
    instance = find_instance(context.run, context.spec)
    instance.start(context.start_timeout, run.facts.get("sockets") or ())
    if state:
        with connect(instance.login(context.login)) as session:
            if same_place:
                replication.require_places(session, instance.engine, state)
            replication.start(session, instance.engine, state)
        put_as_read(path, content)
        remove_file(init_file)
        instance = find_instance(context.run, context.spec)
    return instance


def put_as_read(path: str, content: str | None) -> None:
    """Put the option file without its hold in place, with the time of the one that the server has read: no restart is pending."""
    status = os.stat(path)
    config_file.put_content(path, content)
    if content is not None:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def write_init_file(context: Context, path: str, state: dict[str, Any]) -> None:
    """Write what the held server runs first; its user may read it."""
    own = context.instance.options.get("init_file")
    # An attempt that was cut short left its own lines in the option file.
    own = os.path.join(context.instance.datadir, own) if own and own != path else None
    text = read_option_file(own) if own and os.path.isfile(own) else ""
    write_file(path, replication.init_statements(text, state), 0o640)
    os.chown(path, 0, context.instance.owner()[1])


def catch_up(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Wait until a replica has caught up with its sources."""
    state = run.facts.get(REPLICATION)
    if state:
        with connect(context.instance.login(context.login)) as session:
            replication.wait_until_caught_up(session, context.instance.engine, state, context.catch_up_timeout, context.progress.say)
        notes["caught_up"] = True

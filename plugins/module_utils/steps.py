# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The steps of the strategy dump_restore, in order. Each may be run again after it was cut short anywhere.

Until the step swap the old data directory stays in its place, whole and able to start; the new one is built beside it.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable

from . import census, config_file, data_directory, digest, logical_dump, logical_restore, replica_steps
from . import manifest as manifests
from .durable import sync_file_system
from .errors import InnodbError
from .instance import Instance, InstanceSpec, find_instance
from .journal import STOPPING
from .journal import Run as JournalRun
from .layout import Layout, Paths
from .live_options import LiveOptions
from .option_file import read_option_file
from .option_values import MIB
from .private_server import PrivateServer, private_options
from .processes import Run
from .progress import Progress
from .rehearsal import pool_option
from .session import Login, connect
from .space import LOAD_LOG_BYTES
from .tables import read_tables
from .transfer import Job, run_jobs
from .work_directory import WorkDirectory


@dataclass
class Context:
    """What the steps work with. page sizes in bytes, timeouts in seconds.

    config: the content of our drop-in, config_path: where it belongs. allowed: ids of differences that are allowed.
    done: names of the steps that this very process did. successor: what the strategies that keep the server running have open.
    """

    run: Run
    spec: InstanceSpec
    instance: Instance
    login: Login
    work: WorkDirectory
    progress: Progress
    paths: Paths
    layout: Layout
    before: int
    target: int
    config: str
    config_path: str
    allowed: frozenset[str] = frozenset()
    workers: int = 2
    digest_method: str = digest.CHECKSUM
    dump_keep: bool = False
    stop_timeout: float = 600
    start_timeout: float = 900
    strategy: str = "dump_restore"
    live: LiveOptions = LiveOptions()
    catch_up_timeout: float = 3600
    result: dict[str, Any] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    successor: Any = None

    def source_server(self, options: Sequence[str] = ()) -> PrivateServer:
        return PrivateServer(
            self.instance,
            self.paths.datadir,
            self.work.run_dir("source"),
            [*private_options(self.instance), *options],
            self.login,
            self.stop_timeout,
            "the old server",
        )

    def new_server(self, options: Sequence[str], login: Login) -> PrivateServer:
        fixed = [*private_options(self.instance), *self.paths.build_options(), f"--innodb-page-size={self.target}"]
        return PrivateServer(
            self.instance,
            self.paths.build,
            self.work.run_dir("new"),
            [*fixed, *options],
            login,
            self.stop_timeout,
            "the new server",
        )


FIRST_LOG_BYTES = 96 * MIB  # every server takes it; the restore and the real option files set others

XA_REMEDY = "Commit or roll back what XA RECOVER lists, and run again"


def fence(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Stop the server cleanly, prove it stopped, and keep everybody from starting it: from here on nothing can be written."""
    del notes
    shut_out(context, run, "fence")
    size = context.instance.page_size_of_files()
    if size != context.before:
        raise InnodbError(f"the stopped server's files have {size} bytes per page instead of {context.before}", state="")


def shut_out(context: Context, run: JournalRun, step: str) -> None:
    """Guard and stop the server; the socket units to be started again with it are noted, those of an earlier attempt stay."""
    replica_steps.pause(context, run, step)
    service = context.instance.service
    sockets = service.sockets()
    note_stop(context, run, step, sockets)
    service.guard(context.work.fence_file)
    context.instance.stop(context.stop_timeout, sockets)


def note_stop(context: Context, run: JournalRun, step: str, sockets: list[str]) -> None:
    """From here on the run has to be ended, since the server may be down: the journal says so before it is.

    sockets: socket units that are stopped with it.
    """
    context.work.journal.record(run.id, step, "note", {STOPPING: True, **({"sockets": sockets} if sockets else {})})


def dump(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Serve the old data on a private socket and write all of it to files."""
    del run
    # The directory must be there when the server starts, which checks secure_file_priv.
    logical_dump.prepare(context.work.dump, *context.instance.owner())
    with context.source_server([f"--secure-file-priv={context.work.dump}{logical_dump.PARTIAL_SUFFIX}"]) as server:
        with server.session() as session:
            if session.rows("XA RECOVER"):
                raise InnodbError(
                    "a prepared XA transaction, which no dump carries, came up while the migration began", state="", remedy=XA_REMEDY
                )
        manifest = logical_dump.dump(
            server,
            context.instance.engine,
            context.before,
            context.work.dump,
            # The server has just started and waits for its pages to be read, so one more keeps the processors busy.
            context.workers + 1,
            context.digest_method,
            context.progress.report,
            context.progress.expect,
        )
    coordinates = binlog_coordinates(context.layout)
    manifest.coordinates.update(coordinates)
    if coordinates:
        notes["log_end"] = [coordinates["binlog_file"], coordinates["binlog_position"]]
    logical_dump.complete(context.work.dump, manifest, data_directory.fingerprint(context.paths))
    notes["bytes_moved"] = manifest.size_bytes()
    notes["tables"] = len(manifest.tables)


def binlog_coordinates(layout: Layout) -> dict[str, Any]:
    """File and position at which the binary log of a stopped server ends; empty when it has none."""
    names = sorted(glob.glob(f"{glob.escape(layout.binlog)}.[0-9]*")) if layout.binlog else []
    names = [name for name in names if name.rpartition(".")[2].isdigit()]
    if not names:
        return {}
    return {"binlog_file": os.path.basename(names[-1]), "binlog_position": os.path.getsize(names[-1])}


def build(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Initialise the new data directory beside the old one, whose server may still run; so with little memory."""
    del run, notes
    limits = [pool_option(context.instance, context.target), log_option(context.instance, FIRST_LOG_BYTES)]
    data_directory.build(context.run, context.instance, context.paths, context.target, limits)


def restore(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Load the dump into the new server, which only we can reach.

    Tablespaces outside the data directory are set aside first, since their names must be free.
    """
    del run, notes
    data_directory.remove_half_built(context.paths)
    data_directory.carry_out(context.paths.external, context.paths.datadir)
    manifest = manifests.read(context.work.dump)
    if "dump" not in context.done:
        # Time has passed, or a crash, since the dump was written.
        manifests.require_files(context.work.dump, manifest)
    with context.new_server(load_options(context, context.work.dump), Login(user="root")) as server:
        load_into(context, server, manifest, context.work.dump)
    logical_restore.put_definition_files(manifest, context.work.dump, context.paths.build)
    carry_files(context)


def load_options(context: Context, directory: str) -> list[str]:
    """Options of the new server while it is loaded from a dump in this directory."""
    log = log_option(context.instance, LOAD_LOG_BYTES)
    return [*context.instance.engine.trait("load_options"), log, f"--secure-file-priv={directory}"]


def load_into(context: Context, server: PrivateServer, manifest: manifests.Manifest, directory: str) -> None:
    """Make the schema in an empty server and load all rows."""
    engine = context.instance.engine
    with server.session() as session:
        refused = logical_restore.create_schema(
            session, engine, manifest.plugins, manifest.tables, manifest.census, context.allowed, True, manifest.statements
        )
        for statement in engine.trait("before_load"):
            session.execute(statement)
        refused = census.refused(refused, context.allowed)
        if refused:
            raise logical_restore.Refused(refused[0])
    context.progress.expect(sum(file.size_bytes for file in manifest.files if file.table))
    logical_restore.load(server, engine, manifest, directory, context.workers, context.progress.report, context.allowed)
    with server.session() as session:
        for statement in engine.trait("after_load"):
            session.execute(statement)


def carry_files(context: Context) -> None:
    """Copy files of the old data directory that no initialisation makes; the old server must be down."""
    engine = context.instance.engine
    patterns = list(engine.trait("carried_files"))
    error_log = os.path.realpath(context.instance.error_log) if context.instance.error_log else ""
    if error_log.startswith(context.paths.datadir + os.sep):
        # Its reader finds the story whole, where it was.
        patterns.append(os.path.relpath(error_log, context.paths.datadir))
    data_directory.remove_files(context.paths.build, engine.trait("replaced_files"))
    data_directory.put_back_files(context.paths.datadir, context.paths.build, [*patterns, *engine.trait("replaced_files")])


def exchange_directory(context: Context) -> str:
    """Where a running server may write what is copied: in the work directory, or where its secure_file_priv tells it to."""
    allowed = context.instance.options.get("secure_file_priv")
    if allowed in (None, "") or f"{context.work.dump}/".startswith(f"{os.path.realpath(allowed)}/"):
        return context.work.dump
    return os.path.join(allowed, f"pagesmith-{context.instance.name}")


def log_option(instance: Instance, size: int) -> str:
    """The option that gives a server a log of size bytes."""
    return instance.engine.trait("log_size_option").format(bytes=size)


def compare(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Read the new server again from its files and compare it with the old one, object by object and table by table."""
    manifest = manifests.read(context.work.dump)
    with context.new_server([], context.login) as server:
        found, digests = read_content(context, server)
    digests.update(read_files(context.paths.build, manifest.digests))
    require_equal(context, run, notes, manifest, found, digests)


def require_equal(
    context: Context, run: JournalRun, notes: dict[str, Any], manifest: manifests.Manifest, found: census.Census, digests: dict[str, Any]
) -> None:
    """InnodbError unless what was found in the new server is what was dumped.

    It is kept, so that a rollback can tell what clients changed since.
    """
    census_all, contents_all = census.compare(manifest.census, found), digest.compare(manifest.digests, digests)
    differences, contents = census.refused(census_all, context.allowed), census.refused(contents_all, context.allowed)
    allowed = sorted({difference.id for difference in census_all + contents_all} & context.allowed)
    notes["allowed_differences"] = context.result["allowed_differences"] = allowed
    notes["census_differences"] = [difference.id for difference in differences]
    notes["digest_differences"] = [difference.id for difference in contents]
    context.result["census_differences"] = [difference.as_dict() for difference in differences]
    context.result["digest_differences"] = [difference.as_dict() for difference in contents]
    if differences or contents:
        names = ", ".join(difference.id for difference in (differences + contents)[:10])
        raise InnodbError(f"the new server differs from the old one in {len(differences) + len(contents)} places: {names}", state="")
    snapshot = {"census": found, "digests": digests, "digest_method": context.digest_method}
    context.work.write_snapshot(run.id, snapshot)
    rows = sum(value["rows"] for value in digests.values() if isinstance(value, dict))
    context.progress.say(f"equal: {len(found)} objects of the census, {len(digests)} digests of tables and files, {rows} rows")


def read_files(datadir: str, wanted: Iterable[str]) -> dict[str, int]:
    """Checksums of those files of a data directory that are named in digests as carried whole."""
    found = {}
    for name in wanted:
        kind, _blank, path = name.partition(" ")
        if kind == "file" and os.path.isfile(os.path.join(datadir, path)):
            found[name] = manifests.checksum_file(os.path.join(datadir, path))[1]
    return found


def read_content(context: Context, server: PrivateServer) -> tuple[census.Census, dict[str, Any]]:
    """Census and digests of a private server."""
    engine = context.instance.engine
    digests: dict[str, Any] = {}
    with server.session() as session:
        tables = read_tables(session, engine)
        found = logical_dump.read_everything(session, engine, tables)
    jobs = [Job(table, max(table.size_bytes, 1)) for table in digest.with_content(tables)]
    context.progress.expect(sum(job.size_bytes for job in jobs))

    def work(session: Any, table: Any) -> None:
        digests[f"table {table.title}"] = digest.digest(session, engine, table, context.digest_method)

    run_jobs(jobs, context.workers, server.session, work, context.progress.report)
    return found, digests


def swap(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Set the old directory aside, put the new one in its place, and write our option file."""
    if run.facts.get("moves") is None:
        manifest = manifests.read(context.work.dump)
        if data_directory.fingerprint(context.paths) != manifest.fingerprint:
            raise InnodbError("the old data directory changed after the dump, as if the old server had been started", state="")
    exchange(context, run, notes)


def exchange(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """The renames and the option file of a swap, or those of them that are left; both servers are down."""
    moves = run.facts.get("moves")
    if moves is None:
        data_directory.put_back_binlog(context.layout, context.paths.build)
        replica_steps.carry(context, run)
        moves = data_directory.swap_moves(context.paths)
        data_directory.require_clear(moves)
        for directory in (context.paths.build, *(entry.build for entry in context.paths.outside)):
            sync_file_system(directory)
        before = read_option_file(context.config_path) if os.path.exists(context.config_path) else None
        context.work.journal.record(run.id, "swap", "note", {"moves": moves, "config_before": before, "config_path": context.config_path})
        run.facts.update(moves=moves, config_before=before, config_path=context.config_path)
    data_directory.carry_out(moves, context.paths.datadir if os.path.isdir(context.paths.datadir) else context.paths.build)
    config_file.put_content(context.config_path, context.config)
    notes["retained_directory"] = context.paths.retained


def restore_config(run: JournalRun) -> None:
    """Put the option file back as it was before the swap."""
    path = run.facts.get("config_path")
    if path:
        config_file.put_content(path, run.facts.get("config_before"))


def trial(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Start the server in its final place with its real option files, but without its doors, and look at what it says."""
    del run, notes
    instance = find_instance(context.run, context.spec)
    server = PrivateServer(
        instance,
        instance.datadir,
        context.work.run_dir("trial"),
        instance.engine.trait("trial_options"),
        context.login,
        context.stop_timeout,
        "the new server with its real option files",
    )
    with server, server.session() as session:
        require_identity(session.variables("innodb_page_size", "datadir"), context)


def require_identity(variables: dict[str, Any], context: Context) -> None:
    """InnodbError unless the server that answers is the new one in the place of the old one."""
    datadir = os.path.realpath((variables.get("datadir") or "").rstrip("/"))
    if variables.get("innodb_page_size") != str(context.target) or datadir != context.paths.datadir:
        raise InnodbError(
            f"the server that answers has {variables.get('innodb_page_size')} bytes per page and works in {variables.get('datadir')},"
            f" not {context.target} in {context.paths.datadir}",
            state="",
        )


def open_service(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Let the service start again, with everything it had, and clients with it."""
    del notes
    instance = replica_steps.start_service(context, run, same_place=True)
    with connect(instance.login(context.login)) as session:
        require_identity(session.variables("innodb_page_size", "datadir"), context)


def open_quickly(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Start the service with its real option files: every moment counts, so what it is was found beforehand."""
    parts = context.result.get("parts")
    if parts:
        parts.mark("swap")
    context.instance.service.allow(context.work.fence_file)
    context.instance.start(context.start_timeout, run.facts.get("sockets") or ())
    with connect(context.instance.login(context.login)) as session:
        require_identity(session.variables("innodb_page_size", "datadir"), context)
    if parts:
        parts.mark("start")
        notes["cut_over"] = parts.seconds
    context.instance.service.release(context.work.fence_file)


def finish(context: Context, run: JournalRun, notes: dict[str, Any]) -> None:
    """Remove what is not needed any more: the dump, unless it is to be kept, and empty directories."""
    del run, notes
    if not context.dump_keep:
        logical_dump.remove_dump(context.work.dump)
    builds = [context.paths.build, *(entry.build for entry in context.paths.outside)]
    data_directory.remove_empty(builds)
    context.work.remove_temporary()


STEPS: tuple[tuple[str, Callable[[Context, JournalRun, dict[str, Any]], None], str], ...] = (
    ("build", build, "initialise a new data directory beside the old one; the server runs on"),
    ("fence", fence, "stop the server cleanly and keep it from being started"),
    ("dump", dump, "serve the old data on a private socket and dump it in parallel"),
    ("restore", restore, "load the dump into the new server, reachable by nobody else"),
    ("compare", compare, "compare every object, and the content of every table, of both servers"),
    ("swap", swap, "set the old directory aside, put the new one in its place, write the option file"),
    ("trial", trial, "start the server in its place without network and check it"),
    ("open", open_service, "start the service"),
    ("catch_up", replica_steps.catch_up, "wait until a replica has caught up with its sources"),
    ("finish", finish, "remove the dump"),
)

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The dump: every table written by the server to a file of its own, with a manifest, under its final name only when complete."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator
from typing import Callable, Protocol

from . import dictionary_objects
from . import manifest as manifests
from .carriers import Writer, writer_for
from .census import Census, read_census
from .data_directory import copy_file
from .digest import digest, with_content
from .durable import begin_write_back, private_directory, rename, sync_file_system
from .engines import Engine
from .layout import TABLE_FILE_SUFFIXES
from .manifest import DumpFile, Manifest
from .session import Session
from .tables import SYSTEM_SCHEMA, Table, encoded, read_plugins, read_tables, user_schemas
from .transfer import Job, run_jobs

PARTIAL_SUFFIX = ".partial"
DEFINITIONS = "definitions"


def prepare(directory: str, uid: int, gid: int) -> None:
    """Make room for a dump that the server, running as this user, will write; an older one of that name is removed."""
    for path in (directory, directory + PARTIAL_SUFFIX):
        remove_dump(path)
    private_directory(directory + PARTIAL_SUFFIX, uid, gid)


class Source(Protocol):
    """A server whose data nobody changes: a private one, or a running one that is held still.

    temporary: the directory of its temporary tables, None when others use it too.
    """

    datadir: str
    temporary: str | None

    def session(self) -> Session: ...


def dump(
    server: Source,
    engine: Engine,
    page_size: int,
    directory: str,
    workers: int,
    digest_method: str,
    tick: Callable[[int], None],
    begin: Callable[[int], None],
) -> Manifest:
    """Dump a server whose data nobody changes to where prepare() made room; begin gets the bytes to come."""
    partial = directory + PARTIAL_SUFFIX
    with server.session() as session:
        tables = read_tables(session, engine)
        plugins = read_plugins(session, engine)
        coordinates = {"gtid_slave_pos": session.value("SELECT @@GLOBAL.gtid_slave_pos")} if engine.trait("gtid_slave_pos") else {}
    files, digests = dump_rows(server.session, engine, tables, partial, workers, digest_method, tick, begin, temporary=server.temporary)
    with server.session() as session:
        definitions = copy_definition_files(session, engine, tables, server.datadir, partial)
        digests.update(file_digests(definitions))
        files += definitions
        census = read_everything(session, engine, tables)
        statements = dictionary_objects.read_statements(session, engine)
        digests.update(compared_files(server.datadir, engine))
    if engine.trait("set_gtid_executed"):
        coordinates["gtid_executed"] = census["server"]["gtid_executed"].replace("\n", "")
    return Manifest(engine.title, page_size, coordinates, tables, files, census, digests, plugins, statements=statements)


def read_everything(session: Session, engine: Engine, tables: list[Table]) -> Census:
    """The census of a server that nobody else uses."""
    census = read_census(session, engine, tables)
    census.update(dictionary_objects.read_objects(session, engine))
    census.update(dictionary_objects.read_statistics(session, engine))
    return census


def compared_files(datadir: str, engine: Engine) -> dict[str, int]:
    """Checksums of files of the data directory itself that are carried and compared."""
    paths = [path for pattern in engine.trait("compared_files") for path in glob.glob(os.path.join(glob.escape(datadir), pattern))]
    return {f"file {os.path.basename(path)}": manifests.checksum_file(path)[1] for path in sorted(paths)}


def complete(directory: str, manifest: Manifest, fingerprint: str) -> None:
    """Give a dump its manifest and its final name; the source must be down and fingerprint be that of its files."""
    manifest.fingerprint = fingerprint
    sync_file_system(directory + PARTIAL_SUFFIX)
    manifests.write(directory + PARTIAL_SUFFIX, manifest)
    rename(directory + PARTIAL_SUFFIX, directory)


def remove_dump(directory: str) -> None:
    if os.path.lexists(directory):
        shutil.rmtree(directory)


def dump_rows(
    open_session: Callable[[], Session],
    engine: Engine,
    tables: list[Table],
    directory: str,
    workers: int,
    digest_method: str,
    tick: Callable[[int], None],
    begin: Callable[[int], None],
    before_table: Callable[[], None] = lambda: None,
    first: int = 1,
    temporary: str | None = None,
) -> tuple[list[DumpFile], dict]:
    """Write the rows of these tables to files, numbered from first on, and take their digests; before_table is called before each.

    temporary: see carriers.writer_for().
    """
    files: list[DumpFile] = []
    digests: dict = {}
    jobs = []
    for number, table in enumerate(with_content(tables), first):
        writer = writer_for(table, engine, directory, number, temporary)
        jobs.append(Job((table, writer), max(table.size_bytes, 1), writer.written_bytes if writer else lambda: 0))
    begin(sum(job.size_bytes for job in jobs))

    def work(session: Session, item: tuple[Table, Writer | None]) -> None:
        table, writer = item
        before_table()
        rows = None
        if writer:
            rows = writer.write(session)
            files.extend(_finished(table, writer, directory, rows))
        digests[f"table {table.title}"] = digest(session, engine, table, digest_method, rows)

    run_jobs(jobs, workers, open_session, work, tick)
    return sorted(files, key=lambda file: file.name), digests


def _finished(table: Table, writer: Writer, directory: str, rows: int) -> Iterator[DumpFile]:
    """The entries of the manifest for what was written; its way to the disk begins here, so that complete() has little to wait for."""
    for name in writer.names:
        path = os.path.join(directory, name)
        os.chmod(path, 0o600)
        size, crc32 = manifests.checksum_file(path)
        begin_write_back(path)
        first = name == writer.names[0]
        yield DumpFile(name, size, crc32, rows if first else 0, table.title, writer.carrier if first else None)


def file_digests(files: list[DumpFile]) -> dict[str, int]:
    return {f"file {os.path.relpath(file.name, DEFINITIONS)}": file.crc32 for file in files}


def copy_definition_files(session: Session, engine: Engine, tables: list[Table], datadir: str, directory: str) -> list[DumpFile]:
    """Copy what does not depend on the page size and what statements would not carry whole."""
    files = []
    in_dictionary = engine.trait("definitions_in_dictionary")
    for schema in [SYSTEM_SCHEMA] if in_dictionary else [*user_schemas(session), SYSTEM_SCHEMA]:
        folder = schema if in_dictionary else encoded(session, schema)
        for name in _definition_names(session, engine, tables, schema, os.path.join(datadir, folder)):
            target = os.path.join(directory, DEFINITIONS, folder, name)
            os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
            copy_file(os.path.join(datadir, folder, name), target)
            size, crc32 = manifests.checksum_file(target)
            files.append(DumpFile(os.path.join(DEFINITIONS, folder, name), size, crc32))
    return files


def _definition_names(session: Session, engine: Engine, tables: list[Table], schema: str, path: str) -> list[str]:
    """Files of a schema's directory that are carried as they are.

    Views and triggers are text files; tables of engines that store rows elsewhere, or in files of their own, and the tables of
    the server's logs are taken whole, and so is any file that no engine of ours makes.
    """
    if not os.path.isdir(path):
        return []
    stems: set[str] = set()
    if not engine.trait("definitions_in_dictionary"):
        views = session.rows("SELECT table_name FROM information_schema.views WHERE table_schema=%s", (schema,))
        stems |= {encoded(session, row["table_name"]) for row in views}
        stems |= {encoded(session, table.name) for table in tables if table.schema == schema and table.kind in ("definition", "files")}
    if schema == SYSTEM_SCHEMA:
        stems |= set(engine.trait("log_tables"))
    names = []
    for name in sorted(os.listdir(path)):
        stem, dot, _suffix = name.partition(".")
        ours = (dot and stem in stems) or name.endswith((".TRG", ".TRN")) or not name.endswith(TABLE_FILE_SUFFIXES)
        if ours and os.path.isfile(os.path.join(path, name)):
            names.append(name)
    return names

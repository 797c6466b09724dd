# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The rehearsal: the real schema in a private throw-away server at the target page size, and that server's own verdict."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from . import data_directory, remedies
from .census import Census, Difference, compare, read_definitions
from .dictionary_objects import LAST, OF_THE_PLACE, Statement, make_objects, read_objects
from .durable import private_directory
from .engines import Engine
from .errors import StatementError
from .instance import Instance
from .layout import Paths
from .logical_restore import create_schema, prepare_load_session
from .preflight import MIB
from .private_server import PrivateServer, private_options
from .processes import Run
from .row_sample import Sample
from .session import Login, Session, quote
from .size_prediction import Measured, measure_all
from .tables import Table, load_statement
from .tablespace_files import read_files

DIRECTORY_CLAUSE = re.compile(r" (?:DATA|INDEX) DIRECTORY\s*=?\s*'(?:[^'\\]|\\.|'')*'")
ERROR_NUMBER = re.compile(r"\(error (\d+)\)")
ROWS = "rows"
#: The server's numbers for a table that does not exist, and for a view of one.
MISSING_TABLE = (1146, 1356)


class Remedy(NamedTuple):
    """What to do against a difference. tried: the throw-away server took the changed definition."""

    text: str
    tried: bool


class Verdict(NamedTuple):
    """What a server with another page size made of a schema and of samples.

    remedies: by the id of the difference. measured: the tables' files after the samples were loaded. loaded: tables whose sample
    was loaded in full. notes: what could not be checked.
    """

    differences: list[Difference]
    remedies: dict[str, Remedy]
    measured: dict[str, Measured]
    loaded: set[str]
    notes: list[str]


class Schema(NamedTuple):
    """What is rehearsed: tables, plugins installed by statement, the definitions, and how the other objects are made."""

    tables: list[Table]
    plugins: list[dict[str, Any]]
    census: Census
    statements: Sequence[Statement] = ()


def scratch_options(instance: Instance, size: int) -> list[str]:
    """Options of the throw-away server: the instance's own, but for its size and its place."""
    small = instance.engine.trait("scratch_options")
    return [*private_options(instance), *small, pool_option(instance, size), f"--innodb-page-size={size}"]


def pool_option(instance: Instance, size: int) -> str:
    """As small a buffer pool as pages of size bytes work well with, for a server beside the live one."""
    return f"--innodb-buffer-pool-size={2 * instance.engine.trait('minimum_pool_mib')[size] * MIB}"


def scratch_paths(paths: Paths, directory: str) -> Paths:
    """The same layout in a directory of the rehearsal's own."""
    outside = tuple(replace(entry, build=os.path.join(directory, f"{entry.option}.pagesmith-new")) for entry in paths.outside)
    return replace(paths, build=os.path.join(directory, "data.pagesmith-new"), outside=outside, external=())


@contextmanager
def scratch_data(run: Run, instance: Instance, paths: Paths, size: int, directory: str) -> Iterator[Paths]:
    """An empty data directory with pages of this size below directory, which is made for it; both are removed in the end.

    About 150 MiB. What an earlier attempt left goes first.
    """
    scratch = scratch_paths(paths, directory)
    try:
        if os.path.isdir(directory):
            data_directory.remove_build(scratch)
        private_directory(directory, *instance.owner())
        trait = instance.engine.trait
        options = [*trait("scratch_options"), *trait("unsafe_options"), pool_option(instance, size)]
        data_directory.build(run, instance, scratch, size, options)
        yield scratch
    finally:
        data_directory.remove_build(scratch)
        os.rmdir(directory)


def scratch_server(instance: Instance, scratch: Paths, size: int, directory: str) -> PrivateServer:
    """The throw-away server on what scratch_data() made."""
    options = [*scratch_options(instance, size), *instance.engine.trait("unsafe_options"), *scratch.build_options()]
    run_dir = os.path.join(directory, "run")
    return PrivateServer(instance, scratch.build, run_dir, options, Login(user="root"), title="the rehearsal's server")


def rehearse(
    run: Run,
    instance: Instance,
    paths: Paths,
    size: int,
    directory: str,
    tables: list[Table],
    plugins: list[dict[str, Any]],
    source: Census,
    allowed: Iterable[str],
    statements: Sequence[Statement] = (),
) -> list[Difference]:
    """Load the definitions in source into a server with pages of this size, and return what it refused or changed.

    statements make the objects that are neither schemas nor tables, if source has any.

    It needs a few seconds and about 150 MiB in directory, which is made and removed. Rows are not loaded.
    """
    allowed = set(allowed)
    with (
        scratch_data(run, instance, paths, size, directory) as scratch,
        scratch_server(instance, scratch, size, directory) as server,
        server.session() as session,
    ):
        refused = create_schema(session, instance.engine, plugins, tables, source, allowed, False, statements)
        refused += make_objects(session, [item for item in statements if item.object in source], LAST, in_place=False)
        found = refused + _changed(session, tables, source, refused)
        with server.session() as reader:
            found += _changed_objects(reader, instance.engine, source, refused)
        return [difference for difference in found if difference.id not in allowed]


def rehearse_with_rows(
    run: Run, instance: Instance, paths: Paths, size: int, directory: str, schema: Schema, samples: Iterable[Sample]
) -> Verdict:
    """As rehearse(), and then remedies are tried, samples of rows are loaded, and the files that they make are measured."""
    with scratch_data(run, instance, paths, size, directory) as scratch:
        with scratch_server(instance, scratch, size, directory) as server, server.session() as session:
            refused = create_schema(session, instance.engine, schema.plugins, schema.tables, schema.census, (), False, schema.statements)
            verdict = Verdict(refused + _changed(session, schema.tables, schema.census, refused), {}, {}, set(), [])
            for difference in refused:
                if not difference.object.startswith("table "):
                    continue
                verdict.remedies[difference.id] = _try_remedies(session, schema, difference, size, None)
            prepare_load_session(session, instance.engine)
            for sample in samples:
                _load_sample(session, schema, sample, size, verdict)
            # After the rows, as in a migration: triggers must not see them.
            refused += _make_last(session, schema, verdict)
            with server.session() as reader:
                verdict.differences.extend(_changed_objects(reader, instance.engine, schema.census, refused))
            files = read_files(session, instance.engine)
        for table, names in files.items():
            verdict.measured[table] = measure_all(os.path.join(scratch.build, f"{name}.ibd") for name in names)
        return verdict


def _make_last(session: Session, schema: Schema, verdict: Verdict) -> list[Difference]:
    """Make the objects that come after the tables, and return those that were refused.

    Where a table is missing, so is what reads it: that is noted, and no difference of its own.
    """
    refused = make_objects(session, schema.statements, LAST, in_place=False)
    missing = any(difference.aspect == "creation" and not verdict.remedies[difference.id].tried for difference in verdict.differences)
    for difference in refused:
        code = ERROR_NUMBER.search(difference.after)
        if missing and code and int(code.group(1)) in MISSING_TABLE:
            verdict.notes.append(f"{difference.object}, which reads a table that does not exist at this page size")
        else:
            verdict.differences.append(difference)
    return refused


def _try_remedies(session: Session, schema: Schema, difference: Difference, size: int, sample: Sample | None) -> Remedy:
    """The first change of a table's definition that the server takes, with its sample if there is one; the table stays as it is then."""
    table = next(table for table in schema.tables if f"table {table.title}" == difference.object)
    definition = schema.census[difference.object]["definition"]
    code = ERROR_NUMBER.search(difference.after)
    refusal = remedies.Refusal(definition, int(code.group(1)) if code else 0, difference.after, size)
    session.execute("SET SESSION innodb_strict_mode=1")
    session.execute(f"USE {quote(table.schema)}")
    for attempt in remedies.tries(refusal):
        try:
            session.execute(f"DROP TABLE IF EXISTS {table.sql}")
            session.execute(attempt.definition)
            if sample:
                session.execute(load_statement(table, sample.path))
        except StatementError as error:
            if error.code == 0:
                raise
            continue
        return Remedy(attempt.statement(table.sql), True)
    return Remedy("Change the table so that it fits, or choose a larger page size", False)


def _load_sample(session: Session, schema: Schema, sample: Sample, size: int, verdict: Verdict) -> None:
    """Load a sample into its table, if that is there, and note what the server says of the rows."""
    name = f"table {sample.table.title}"
    refusal = next((difference for difference in verdict.differences if difference.object == name), None)
    if refusal and refusal.aspect == "creation" and not verdict.remedies[refusal.id].tried:
        verdict.notes.append(f"the rows of {sample.table.title}, which does not exist at this page size")
        return
    try:
        rows = session.execute(load_statement(sample.table, sample.path))
    except StatementError as error:
        if error.code == 0:
            raise
        if error.code != remedies.ROW_TOO_LARGE:
            verdict.notes.append(f"the rows of {sample.table.title}: {error.reason} (error {error.code})")
            return
        difference = Difference(name, ROWS, "accepted", f"{error.reason} (error {error.code})")
        verdict.differences.append(difference)
        verdict.remedies[difference.id] = _try_remedies(session, schema, difference, size, sample)
        return
    if rows == sample.rows:
        verdict.loaded.add(sample.table.title)
    else:
        verdict.notes.append(f"the rows of {sample.table.title}, of which {rows} instead of {sample.rows} were loaded")


def _changed(session: Session, tables: list[Table], source: Census, refused: list[Difference]) -> list[Difference]:
    """Definitions that came out different, of the tables that were made by statements."""
    missing = {difference.object for difference in refused}
    carried = [table for table in tables if table.kind in ("rows", "volatile", "statement") and f"table {table.title}" not in missing]
    names = {f"table {table.title}" for table in carried} | {name for name in source if name.startswith("schema ")}
    before = {name: _comparable(aspects) for name, aspects in source.items() if name in names}
    after = {name: _comparable(aspects) for name, aspects in read_definitions(session, carried).items()}
    return compare(before, after)


def _changed_objects(session: Session, engine: Engine, source: Census, refused: list[Difference]) -> list[Difference]:
    """Objects of the dictionary that came out different."""
    missing = {difference.object for difference in refused}
    after = {name: _without_place(aspects) for name, aspects in read_objects(session, engine).items()}
    before = {name: _without_place(source[name]) for name in source if not name.startswith(("table ", "schema ")) and name not in missing}
    return compare(before, after)


def _without_place(aspects: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in aspects.items() if name not in OF_THE_PLACE}


def _comparable(aspects: dict[str, Any]) -> dict[str, Any]:
    """Aspects without what can't be the same in an empty server in another place: directories, counters."""
    comparable = {name: value for name, value in aspects.items() if name != "state"}
    comparable["definition"] = DIRECTORY_CLAUSE.sub("", re.sub(r" AUTO_INCREMENT=\d+", "", aspects["definition"]))
    return comparable

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A rehearsal of several page sizes: what to sample, the verdict of each, and the size of every table."""

from __future__ import annotations

import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from . import preflight, row_sample, size_prediction
from .census import Census, Difference, read_definitions
from .durable import private_directory
from .errors import InnodbError, StatementError, told_to_end
from .instance import Instance
from .layout import Paths
from .page_size import label
from .preflight import MIB
from .processes import Run
from .rehearsal import ROWS, Remedy, Schema, Verdict, rehearse_with_rows
from .remedies import BLOBS
from .row_sample import Sample, Wanted
from .session import Login, Session, connect
from .size_prediction import Measured, Prediction, SampleFigures, TableFigures, read_files
from .tables import SYSTEM_SCHEMA, Table, read_plugins, read_tables
from .work_directory import free_bytes

#: Of so many of the largest tables, and so many of the widest ones, rows are sampled.
LARGEST = 100
WIDEST = 20
#: Columns of text and of binary strings leave so many bytes in the page at most, whatever the row format.
MOST_INSIDE_BYTES = 768
OTHER_COLUMN_BYTES = 8
LARGE_OBJECTS = (*BLOBS, "json", "geometry")
ENCRYPTED = "`ENCRYPTED`=YES"
SAMPLING_SECONDS = 120
#: What a throw-away server needs, and how many times as large as a sample its tables may be.
SERVER_BYTES = 512 * MIB
SAMPLE_FACTOR = 4
#: So many tables are told of one by one, the largest ones.
TOLD_TABLES = 1000
NEVER_CHECKED = (
    "rows that were not sampled: a table that is accepted may still hold a row that fits no page",
    "views, routines, triggers, events and accounts, which do not depend on the page size",
)


class Statistics(NamedTuple):
    """What the server knows of a table without looking at its rows. width: bytes that a row may take in its page."""

    rows: int
    row_bytes: float
    width: int
    indexes: int
    key: tuple[str, ...]


@dataclass
class Source:
    """The running server: its schema, statistics of InnoDB's tables, their files with bytes, and what could not be read."""

    page_size: int
    schema: Schema
    statistics: dict[str, Statistics]
    files: dict[str, dict[str, int]]
    encrypted: bool
    notes: list[str] = field(default_factory=list)

    def figures(self, table: Table) -> TableFigures:
        files, known = self.files.get(table.title, {}), self.statistics[table.title]
        parts = sum(1 for name in files if size_prediction.is_part(name))
        large_objects = any(column.data_type in LARGE_OBJECTS for column in table.columns)
        return TableFigures(sum(files.values()) or table.size_bytes, known.rows, known.indexes, max(parts, 1), large_objects)


def read_source(session: Session, instance: Instance) -> Source:
    """Look at the running server, without a scan of a table or a wait for a lock."""
    row_sample.prepare_session(session)
    variables = session.variables("datadir", "innodb_page_size", "innodb_encrypt_tables")
    if os.path.realpath((variables["datadir"] or "").rstrip("/")) != os.path.realpath(instance.datadir):
        raise InnodbError(
            f"the server that answers works in {variables['datadir']}, but the instance that was found works in {instance.datadir}",
            remedy="Say which instance is meant in innodb_instance, or which socket in innodb_login",
        )
    notes: list[str] = []
    tables = read_tables(session, instance.engine)
    census = _read_definitions(session, tables, notes)
    tables = [table for table in tables if f"table {table.title}" in census]
    known = [table for table in tables if table.kind in ("rows", "volatile") or table.sequence]
    others = [table.title for table in tables if table not in known]
    if others:
        notes.append(f"tables of storage engines that keep their rows elsewhere: {_names(others)}")
    return Source(
        page_size=int(variables["innodb_page_size"] or 0),
        schema=Schema(tables, read_plugins(session, instance.engine), census),
        statistics=_read_statistics(session),
        files=read_files(session),
        encrypted=(variables.get("innodb_encrypt_tables") or "OFF") != "OFF",
        notes=notes,
    )


def _read_definitions(session: Session, tables: list[Table], notes: list[str]) -> Census:
    """Definitions of all tables that can be opened; of the others the server's reason."""
    try:
        return read_definitions(session, tables)
    except StatementError as error:
        if error.code == 0:
            raise
    census: Census = {}
    for table in tables:
        try:
            census.update(read_definitions(session, [table]))
        except StatementError as error:
            if error.code == 0:
                raise
            notes.append(f"table {table.title}, which can't be read: {error.reason} (error {error.code})")
    return census


def _read_statistics(session: Session) -> dict[str, Statistics]:
    keys, indexes = defaultdict(list), defaultdict(set)
    unusable = set()
    for row in session.rows(
        "SELECT table_schema, table_name, index_name, column_name, sub_part, collation FROM information_schema.statistics"
        " ORDER BY table_schema, table_name, index_name, seq_in_index"
    ):
        name = f"{row['table_schema']}.{row['table_name']}"
        indexes[name].add(row["index_name"])
        if row["index_name"] == "PRIMARY":
            keys[name].append(row["column_name"])
            if row["sub_part"] or row["collation"] != "A":
                unusable.add(name)
    widths = {
        f"{row['table_schema']}.{row['table_name']}": int(row["width"])
        for row in session.rows(
            "SELECT table_schema, table_name,"
            f" SUM(LEAST(COALESCE(character_octet_length, {OTHER_COLUMN_BYTES}), {MOST_INSIDE_BYTES})) width"
            " FROM information_schema.columns GROUP BY table_schema, table_name"
        )
    }
    found = {}
    for row in session.rows(
        "SELECT table_schema, table_name, table_rows, avg_row_length FROM information_schema.tables WHERE engine='InnoDB'"
    ):
        name = f"{row['table_schema']}.{row['table_name']}"
        key = () if name in unusable else tuple(keys[name])
        count = len(indexes[name]) + ("PRIMARY" not in indexes[name])
        found[name] = Statistics(int(row["table_rows"] or 0), float(row["avg_row_length"] or 0), widths.get(name, 0), count, key)
    return found


def choose(source: Source, smallest: int) -> list[Wanted]:
    """The largest tables and those that may be too wide for the smallest page size, the smallest table first."""
    able = [
        table
        for table in source.schema.tables
        if table.kind == "rows" and table.engine.lower() == "innodb" and not table.sequence and table.schema != SYSTEM_SCHEMA
    ]
    closed = [
        table for table in able if source.encrypted or "`ENCRYPTED`=YES" in source.schema.census[f"table {table.title}"]["definition"]
    ]
    if closed:
        source.notes.append(f"rows of encrypted tables, which are not written to files: {_names(table.title for table in closed)}")
    able = [table for table in able if table not in closed and table.carried_columns()]
    largest = sorted(able, key=lambda table: -table.size_bytes)[:LARGEST]
    wide = [table for table in able if source.statistics[table.title].width > smallest / 2]
    widest = sorted(wide, key=lambda table: -source.statistics[table.title].width)[:WIDEST]
    tables = list(dict.fromkeys(largest + widest))
    wanted = []
    for table in tables:
        known = source.statistics[table.title]
        # Files tell how large a table is, also where statistics are old.
        size = max(table.size_bytes, source.figures(table).bytes_now)
        # Indexes count as well, so that the first range is rather too small than too large.
        width = max(known.row_bytes, size / max(known.rows, 1))
        wanted.append(Wanted(table, () if table.versioning else known.key, size, width))
    return sorted(wanted, key=lambda each: each.size_bytes)


def take_samples(
    session: Session, instance: Instance, source: Source, wanted: Sequence[Wanted], sample_bytes: int, directory: str
) -> list[Sample]:
    """Samples in files below directory, which share the bytes; what small tables leave is for the larger ones.

    What could not be sampled is noted.
    """
    private_directory(directory, *instance.owner())
    reason = row_sample.why_not(session, instance, directory)
    if reason:
        source.notes.append(f"rows: {reason}")
        return []
    samples: list[Sample] = []
    late = []
    deadline = time.monotonic() + SAMPLING_SECONDS
    for number, each in enumerate(wanted):
        if time.monotonic() > deadline:
            late.append(each.table.title)
            continue
        path = os.path.join(directory, f"{number:06d}.rows")
        try:
            left = sample_bytes - sum(sample.size_bytes for sample in samples)
            sample = row_sample.take(session, each, path, left // (len(wanted) - number))
        except StatementError as error:
            row_sample.discard(path)
            if error.code == 0:
                raise
            source.notes.append(f"rows of {each.table.title}: {error.reason} (error {error.code})")
            continue
        samples += [sample] if sample.rows or sample.whole else []
    if late:
        source.notes.append(f"rows of tables that were not reached in {SAMPLING_SECONDS} s: {_names(late)}")
    return samples


def rehearse_candidates(
    run: Run, instance: Instance, login: Login, paths: Paths, sizes: Sequence[int], sample_bytes: int, directory: str
) -> dict[str, Any]:
    """The result of the module: what the real server says of each page size. directory is a scratch directory with enough space."""
    sample_bytes = _affordable(directory, sample_bytes)
    with connect(instance.login(login)) as session:
        source = read_source(session, instance)
        samples = []
        if sample_bytes:
            samples = take_samples(session, instance, source, choose(source, min(sizes)), sample_bytes, os.path.join(directory, "sample"))
        else:
            source.notes.append("rows: none were asked for, or there is no space for them")
    verdicts: dict[int, Verdict] = {}
    failures: dict[int, InnodbError] = {}
    seconds: dict[int, float] = {}
    for size in dict.fromkeys([*([source.page_size] if samples else []), *sizes]):
        began = time.monotonic()
        try:
            verdicts[size] = rehearse_with_rows(run, instance, paths, size, os.path.join(directory, str(size)), source.schema, samples)
        except InnodbError as error:
            if told_to_end(error):
                raise
            failures[size] = error
        seconds[size] = round(time.monotonic() - began, 3)
    if source.page_size in failures and source.page_size not in sizes:
        source.notes.append(
            f"sizes of tables, since no server with {label(source.page_size)} pages came up: {failures[source.page_size].failed}"
        )
    results = {str(size): _result(source, samples, verdicts, size, failures.get(size)) for size in sizes}
    for size in sizes:
        results[str(size)]["seconds"] = seconds[size]
        source.notes += [f"at {label(size)}: {note}" for note in verdicts[size].notes] if size in verdicts else []
    return {"page_sizes": results, "checked": _checked(source, samples, verdicts, sizes), "not_checked": [*source.notes, *NEVER_CHECKED]}


def _affordable(directory: str, sample_bytes: int) -> int:
    """The bytes that may be sampled; InnodbError when there is no space for a server at all."""
    free = free_bytes(directory)
    if free < SERVER_BYTES:
        raise InnodbError(
            f"the rehearsal needs {SERVER_BYTES // MIB} MiB, and the file system of {directory} has {free // MIB} MiB free",
            remedy="Name a directory on another file system",
        )
    return sample_bytes if free >= SERVER_BYTES + SAMPLE_FACTOR * sample_bytes else 0


def _result(source: Source, samples: list[Sample], verdicts: dict[int, Verdict], size: int, failure: InnodbError | None) -> dict[str, Any]:
    if failure:
        blocker = preflight.failed_rehearsal(size, failure)
        problem = {**blocker.as_dict(), "aspect": "server", "before": "", "after": failure.failed, "remedy_tried": False}
        nothing = {"tables": 0, "rows_sampled": 0, "bytes_sampled": 0, "predicted_bytes": None, "predicted_error_bytes": None}
        return {"fits": False, "problems": [problem], **nothing, "per_table": {}, "tables_omitted": 0}
    verdict = verdicts[size]
    others = {other: {difference.id for difference in each.differences} for other, each in verdicts.items() if other != size}
    problems = [_problem(difference, verdict.remedies.get(difference.id), others) for difference in verdict.differences]
    loaded = [sample for sample in samples if sample.table.title in verdict.loaded]
    return {
        "fits": not problems,
        "problems": problems,
        "tables": sum(1 for table in source.schema.tables if table.schema != SYSTEM_SCHEMA),
        "rows_sampled": sum(sample.rows for sample in loaded),
        "bytes_sampled": sum(sample.size_bytes for sample in loaded),
        **_sizes(source, samples, verdicts, size),
    }


def _problem(difference: Difference, remedy: Remedy | None, others: dict[int, set[str]]) -> dict[str, Any]:
    """A difference as a user is told. others: the differences of other page sizes."""
    blocker = preflight.blockers_of_rehearsal([difference])[0]
    message = blocker.message
    if difference.aspect == ROWS:
        message = f"{difference.object} is accepted, but rows of it fit no page: {difference.after}"
    text = blocker.remedy
    if remedy and remedy.tried:
        text = remedy.text
    elif fitting := [label(size) for size in sorted(others) if difference.id not in others[size]]:
        text = f"{text}. It fits {' and '.join(fitting)} pages"
    return {**difference.as_dict(), "message": message, "remedy": text, "remedy_tried": bool(remedy and remedy.tried)}


def _sizes(source: Source, samples: list[Sample], verdicts: dict[int, Verdict], size: int) -> dict[str, Any]:
    """Predicted bytes of every table and of all together; none where a table's is not known."""
    now, then = verdicts.get(source.page_size), verdicts[size]
    by_table = {sample.table.title: sample for sample in samples}
    found: dict[Table, Prediction | None] = {}
    unsampled = []
    for table in source.schema.tables:
        if table.schema == SYSTEM_SCHEMA or table.kind != "rows" or table.sequence:
            continue
        sample = by_table.get(table.title)
        if table.title not in source.statistics:
            # Other storage engines have no pages of this size.
            found[table] = Prediction(table.size_bytes, 0)
        elif sample and sample.rows and now and table.title in now.loaded and table.title in then.loaded:
            figures = SampleFigures(sample.rows, sample.whole, sample.widths)
            measured = (now.measured.get(table.title, Measured()), then.measured.get(table.title, Measured()))
            found[table] = size_prediction.predict(source.figures(table), figures, *measured, source.page_size, size)
        else:
            found[table] = None
            unsampled.append(table)
    ratio = _ratio(source, verdicts, size)
    for table in unsampled:
        figures, there = source.figures(table), then.measured.get(table.title)
        empty = now.measured.get(table.title, Measured()) if now else there
        # What is refused may come in another form, whose size nobody knows: it is taken for an average one.
        pair = (empty, there) if there and empty else (Measured(), Measured())
        found[table] = size_prediction.predict_unsampled(figures, *pair, ratio, size)
    return _told(source, found, by_table)


def _ratio(source: Source, verdicts: dict[int, Verdict], size: int) -> float | None:
    """How much larger the pages of the samples are than at the present page size, all together; none when there are no samples."""
    now, then = verdicts.get(source.page_size), verdicts[size]
    if not now:
        return None
    before = after = 0.0
    for table in source.schema.tables:
        if table.title in now.loaded & then.loaded & now.measured.keys() & then.measured.keys():
            figures = source.figures(table)
            before += size_prediction.growing_bytes(now.measured[table.title], figures, source.page_size)
            after += size_prediction.growing_bytes(then.measured[table.title], figures, size)
    return after / before if before else None


def _told(source: Source, found: dict[Table, Prediction | None], samples: dict[str, Sample]) -> dict[str, Any]:
    known = [prediction for prediction in found.values() if prediction]
    complete = len(known) == len(found)

    def bytes_now(table: Table) -> int:
        return source.figures(table).bytes_now if table.title in source.statistics else table.size_bytes

    largest = sorted(found, key=lambda table: (-bytes_now(table), table.title))[:TOLD_TABLES]
    return {
        "predicted_bytes": sum(prediction.bytes for prediction in known) if complete else None,
        # Errors of tables are independent of one another.
        "predicted_error_bytes": math.ceil(math.sqrt(sum(each.error_bytes**2 for each in known))) if complete else None,
        "per_table": {
            table.title: {
                "bytes_now": bytes_now(table),
                "predicted_bytes": found[table].bytes if found[table] else None,
                "error_bytes": found[table].error_bytes if found[table] else None,
                "rows_sampled": samples[table.title].rows if table.title in samples else 0,
            }
            for table in largest
        },
        "tables_omitted": len(found) - len(largest),
    }


def _checked(source: Source, samples: list[Sample], verdicts: dict[int, Verdict], sizes: Sequence[int]) -> list[str]:
    """What was checked, as sentences."""
    tried = [label(size) for size in sizes if size in verdicts]
    schemas = sum(1 for name in source.schema.census if name.startswith("schema "))
    tables = Counter(table.schema == SYSTEM_SCHEMA for table in source.schema.tables)
    texts = [f"the definitions of {tables[False]} tables in {schemas} schemas, by servers with pages of {', '.join(tried) or 'no size'}"]
    if samples:
        rows, size = sum(sample.rows for sample in samples), sum(sample.size_bytes for sample in samples)
        whole = sum(1 for sample in samples if sample.whole)
        texts.append(f"{rows} rows ({size} bytes) of {len(samples)} tables, of which {whole} were read as a whole")
    return texts


def _names(names: Iterable[str], shown: int = 10) -> str:
    names = list(names)
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")

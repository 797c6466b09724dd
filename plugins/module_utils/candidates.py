# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A rehearsal of several page sizes: what to sample, the verdict of each, and the size of every table."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from . import preflight, row_sample, size_prediction
from .census import Difference
from .durable import private_directory
from .errors import InnodbError, StatementError, told_to_end
from .instance import Instance
from .layout import Paths
from .page_size import label
from .preflight import MIB
from .processes import Run
from .rehearsal import ROWS, Remedy, Verdict, rehearse_with_rows
from .rehearsal_source import Source, listed, read_source
from .row_sample import Sample, Wanted
from .scratch import scratch_directory
from .session import Login, Session, connect
from .size_prediction import Measured, Prediction, SampleFigures
from .tables import SYSTEM_SCHEMA, Table
from .work_directory import free_bytes

#: Of so many of the largest tables, and so many of the widest ones, rows are sampled.
LARGEST = 100
WIDEST = 20
#: In the definition of a table that is encrypted, by MariaDB and by MySQL.
ENCRYPTED = ("`ENCRYPTED`=YES", "ENCRYPTION='Y'")
SAMPLING_SECONDS = 120
#: What a throw-away server needs, and how many times as large as a sample its tables may be.
SERVER_BYTES = 512 * MIB
SAMPLE_FACTOR = 4
#: So many tables are told of one by one, the largest ones.
TOLD_TABLES = 1000
NEVER_CHECKED = "rows that were not sampled: a table that is accepted may still hold a row that fits no page"
#: Where views, routines, triggers and events lie in files, which are carried as they are, and in the dictionary, which is made anew.
CARRIED = {
    False: "views, routines, triggers, events and accounts, which do not depend on the page size",
    True: "accounts, which do not depend on the page size",
}


def choose(source: Source, smallest: int) -> list[Wanted]:
    """The largest tables and those that may be too wide for the smallest page size, the smallest table first."""
    able = [
        table
        for table in source.schema.tables
        if table.kind == "rows" and table.engine.lower() == "innodb" and not table.sequence and table.schema != SYSTEM_SCHEMA
    ]
    closed = [
        table
        for table in able
        if source.encrypted or any(mark in source.schema.census[f"table {table.title}"]["definition"] for mark in ENCRYPTED)
    ]
    if closed:
        source.notes.append(f"rows of encrypted tables, which are not written to files: {listed(table.title for table in closed)}")
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
        source.notes.append(f"rows of tables that were not reached in {SAMPLING_SECONDS} s: {listed(late)}")
    return samples


def rehearse_candidates(
    run: Run, instance: Instance, login: Login, paths: Paths, sizes: Sequence[int], sample_bytes: int, directory: str
) -> dict[str, Any]:
    """The result of the module: what the real server says of each page size. directory is a scratch directory with enough space."""
    sample_bytes = _affordable(directory, sample_bytes)
    with ExitStack() as stack:
        with connect(instance.login(login)) as session:
            source = read_source(session, instance)
            samples = []
            if sample_bytes:
                place = stack.enter_context(sample_directory(session, directory))
                sample_bytes = min(sample_bytes, free_bytes(place) // 2)
                samples = take_samples(session, instance, source, choose(source, min(sizes)), sample_bytes, place)
            else:
                source.notes.append("rows: none were asked for, or there is no space for them")
        return _rehearse_all(run, instance, paths, sizes, directory, source, samples)


@contextmanager
def sample_directory(session: Session, directory: str) -> Iterator[str]:
    """Where samples lie: below directory, or in the only one to which the running server writes."""
    allowed = row_sample.allowed_directory(session)
    if allowed is None or f"{os.path.realpath(directory)}/".startswith(f"{os.path.realpath(allowed)}/"):
        yield os.path.join(directory, "sample")
        return
    with scratch_directory(allowed.rstrip("/")) as place:
        yield os.path.join(place, "sample")


def _rehearse_all(
    run: Run, instance: Instance, paths: Paths, sizes: Sequence[int], directory: str, source: Source, samples: list[Sample]
) -> dict[str, Any]:
    """The verdict of a server of each page size, one after the other, and of the present one where that measures samples."""
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
    return {
        "page_sizes": results,
        "checked": _checked(source, samples, verdicts, sizes),
        "not_checked": [*source.notes, NEVER_CHECKED, CARRIED[instance.engine.trait("definitions_in_dictionary")]],
    }


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
            figures = SampleFigures(sample.rows, sample.whole, sample.widths, sample.stretches)
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
        "predicted_error_bytes": size_prediction.error_of_all(known) if complete else None,
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
    others = Counter(name.partition(" ")[0] for name in source.schema.census if not name.startswith(("table ", "schema ")))
    texts = [f"the definitions of {tables[False]} tables in {schemas} schemas, by servers with pages of {', '.join(tried) or 'no size'}"]
    if others:
        texts.append(f"what else lies in the dictionary: {', '.join(f'{name} ({count})' for name, count in sorted(others.items()))}")
    if samples:
        rows, size = sum(sample.rows for sample in samples), sum(sample.size_bytes for sample in samples)
        whole = sum(1 for sample in samples if sample.whole)
        texts.append(f"{rows} rows ({size} bytes) of {len(samples)} tables, of which {whole} were read as a whole")
    return texts

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A replay: the host's own reading statements against a sampled copy of its tables, in each private server."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from . import candidates
from .engines import Engine
from .errors import InnodbError, StatementError
from .instance import Instance
from .logical_restore import create_schema, prepare_load_session
from .option_values import MIB
from .rehearsal_source import Source
from .replay_statements import KINDS, OF_A_KIND, Choice, Statement, choose, parse_log, written
from .row_sample import Sample
from .session import Session, quote
from .tables import load_statement

FILE = "replay.txt"
#: The end of a log that is read.
LOG_BYTES = 64 * MIB
#: Statements that are tried before, and the time that each may take then.
TRIED_SECONDS = 5
DIGESTS_TOLD = 20

#: Where servers keep statements as they were sent: of each kind the last one, and the last ones of all.
KEPT = (
    "SELECT schema_name AS place, query_sample_text AS text, count_star AS weight"
    " FROM performance_schema.events_statements_summary_by_digest WHERE query_sample_text IS NOT NULL",
    "SELECT current_schema AS place, sql_text AS text, 1 AS weight FROM performance_schema.events_statements_history_long"
    " WHERE sql_text IS NOT NULL",
    "SELECT current_schema AS place, sql_text AS text, 1 AS weight FROM performance_schema.events_statements_history"
    " WHERE sql_text IS NOT NULL",
)


@dataclass
class Replay:
    """Statements and a copy of the tables. pool_share: the data in parts of the pool, as on the host. answered: the share of the
    statements that found rows in the copy. left_out: how many were left out, by the reason.
    """

    choice: Choice
    source: Source
    samples: list[Sample]
    engine: Engine
    pool_share: float
    origin: str
    statements: list[Statement] = field(default_factory=list)
    answered: float | None = None
    left_out: Counter = field(default_factory=Counter)

    @property
    def sample_bytes(self) -> int:
        return sum(sample.size_bytes for sample in self.samples)

    def as_dict(self) -> dict[str, Any]:
        """What is told of it: kinds of statements without their values."""
        return {
            "origin": self.origin,
            "statements": len(self.statements),
            "answered_share": self.answered,
            "left_out": dict(self.left_out),
            "tables": len(self.samples),
            "sampled_bytes": self.sample_bytes,
            "kinds": [{"text": text, "weight": weight} for text, weight in self.choice.kinds[:DIGESTS_TOLD]],
            "notes": self.source.notes,
        }


def read_log(path: str) -> list[Statement]:
    """The statements at the end of a slow or a general log."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LOG_BYTES))
            text = file.read().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise InnodbError(f"the log {path} can't be read: {error.strerror}", remedy="Correct replay_log") from error
    return list(parse_log(text))


def read_kept(session: Session) -> list[Statement]:
    """The statements that performance_schema has kept: of the first of its tables that has any which are replayed."""
    for query in KEPT:
        try:
            rows = session.rows(query)
        except StatementError as error:
            if error.code == 0:
                raise
            # A table or column that this server does not have.
            continue
        found = [Statement(row["place"] or "", row["text"], int(row["weight"])) for row in rows]
        if choose(found).statements:
            return found
    return []


def prepare(session: Session, instance: Instance, log: str, sample_bytes: int, smallest: int, directory: str) -> Replay:
    """Statements, and samples of the tables in files; InnodbError when there are none."""
    given = read_log(log) if log else read_kept(session)
    choice = choose(given, OF_A_KIND, KINDS)
    if not choice.statements:
        where = f"in {log}" if log else "in performance_schema"
        raise InnodbError(
            f"of {len(given)} statements {where} none only reads rows of tables, so nothing can be replayed",
            remedy="Name a slow or general log of the host in replay_log, or switch performance_schema on, with its history of statements",
        )
    source = candidates.read_source(session, instance)
    samples = candidates.take_samples(session, instance, source, candidates.choose(source, smallest), sample_bytes, directory)
    if not samples:
        raise InnodbError(f"no rows of the host's tables could be sampled: {'; '.join(source.notes)}", remedy="Name another directory")
    stored = sum(source.figures(table).bytes_now for table in source.schema.tables if table.title in source.statistics)
    pool = int(session.variables("innodb_buffer_pool_size")["innodb_buffer_pool_size"] or 1)
    found = Replay(choice, source, samples, instance.engine, stored / pool, log or "performance_schema")
    found.left_out.update(choice.left_out)
    return found


def load_copy(replay: Replay, session: Session) -> None:
    """The schema, and the samples in it; a table that this page size does not take stays away."""
    schema = replay.source.schema
    create_schema(session, replay.engine, schema.plugins, schema.tables, schema.census, (), in_place=False)
    prepare_load_session(session, replay.engine)
    for sample in replay.samples:
        try:
            session.execute(load_statement(sample.table, sample.path))
        except StatementError as error:
            if error.code == 0:
                raise
            replay.left_out[f"rows of {sample.table.title}: {error.reason}"] += 1


def tried(replay: Replay, session: Session, scripts: str) -> None:
    """Run each statement once where nothing can be written; those that the server refuses are left out, in all page sizes alike.

    The script's file is written with those that are left.
    """
    limit = replay.engine.trait("statement_limit")
    if limit:
        session.execute(limit.format(seconds=TRIED_SECONDS, milliseconds=TRIED_SECONDS * 1000))
    session.execute("SET SESSION TRANSACTION READ ONLY")
    known, answered = [], 0
    for each in replay.statements or replay.choice.statements:
        try:
            if each.schema:
                session.execute(f"USE {quote(each.schema)}")
            # In a cursor without parameters, so that a percent sign is one.
            answered += bool(session.rows(each.sql))
        except StatementError as error:
            if error.code == 0:
                raise
            replay.left_out[f"error {error.code} on the copy"] += 1
            continue
        known.append(each)
    if not known:
        refused = ", ".join(f"{count} times {reason}" for reason, count in replay.left_out.items())
        raise InnodbError(f"the copy of the tables takes none of the statements: {refused}", remedy="Name another log in replay_log")
    replay.statements, replay.answered = known, answered / len(known)
    with open(os.path.join(scripts, FILE), "w", encoding="ascii") as file:
        file.write(written(known))


def pool_bytes(replay: Replay, most: int, least: int) -> int:
    """A pool that the copy fills as the host's data fill theirs, within limits."""
    return int(min(max(replay.sample_bytes / max(replay.pool_share, 0.01), least), most)) >> 20 << 20

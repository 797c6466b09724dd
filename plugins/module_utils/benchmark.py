# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A benchmark: private servers of each variant, the same data and loads for all, measured in turns."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from . import benchmark_replay, benchmark_server, sysbench
from .benchmark_counters import Look, look, passed
from .benchmark_host import io_limit
from .benchmark_loads import REPLAY, Load
from .benchmark_plan import PAGE_SIZE, RESERVE_BYTES, Plan, Series, Variant, data_bytes, round_seconds, series_of
from .data_directory import tree_bytes
from .durable import private_directory
from .errors import InnodbError, told_to_end
from .instance import Instance
from .layout import Paths
from .option_values import MIB
from .private_server import PrivateServer
from .processes import Run
from .rehearsal import scratch_data
from .session import Session, quote, table_name
from .work_directory import free_bytes

SYSTEM_DIRECTORIES = ("mysql", "sys", "information_schema", "performance_schema")
#: Settings that figures depend on, as the servers have them.
SETTINGS = (
    "version",
    "innodb_adaptive_flushing",
    "innodb_adaptive_hash_index",
    "innodb_buffer_pool_instances",
    "innodb_buffer_pool_size",
    "innodb_change_buffering",
    "innodb_checksum_algorithm",
    "innodb_data_file_buffering",
    "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_flush_neighbors",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_log_file_size",
    "innodb_log_write_ahead_size",
    "innodb_max_dirty_pages_pct",
    "innodb_max_dirty_pages_pct_lwm",
    "innodb_read_io_threads",
    "innodb_redo_log_capacity",
    "innodb_use_native_aio",
    "innodb_write_io_threads",
    "sync_binlog",
    "thread_handling",
    "transaction_isolation",
    "tx_isolation",
)


@dataclass
class Bench:
    """A benchmark under way. directory: a scratch directory. scripts: where sysbench finds ours. say: told of each step.

    observe: called after each measurement, with the server, a session, the measurement and the two looks at the counters.
    measurements: one for each load, number of threads, variant and round. datasets: data as they were made. notes: what was cut short.
    """

    run: Run
    instance: Instance
    paths: Paths
    plan: Plan
    program: sysbench.Program
    directory: str
    say: Callable[[str], None]
    deadline: float = 0.0
    replay: benchmark_replay.Replay | None = None
    observe: Callable[[PrivateServer, Session, Mapping[str, Any], Look, Look], None] | None = None
    measurements: list[dict[str, Any]] = field(default_factory=list)
    datasets: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    commands: dict[str, list[str]] = field(default_factory=dict)
    settings: dict[str, str | None] = field(default_factory=dict)

    @property
    def scripts(self) -> str:
        return os.path.join(self.directory, "scripts")

    def late(self, seconds: float = 0) -> bool:
        return bool(self.deadline) and time.monotonic() + seconds > self.deadline


def write_scripts(bench: Bench, scripts: Mapping[str, str]) -> None:
    """Put the scripts where sysbench runs."""
    private_directory(bench.scripts)
    for name, text in scripts.items():
        with open(os.path.join(bench.scripts, os.path.basename(name)), "w", encoding="utf-8") as file:
            file.write(text)


def conduct(bench: Bench) -> None:
    """All series of the plan, one after the other."""
    for series in series_of(bench.plan):
        if bench.late():
            bench.notes.append(f"time_limit_seconds was over before {_title(series)}")
        elif series.dataset.name == REPLAY:
            run_replay(bench, series)
        else:
            run_series(bench, series)


def run_replay(bench: Bench, series: Series) -> None:
    """The copy of the host's tables has a pool that it fills as the host's data fill theirs."""
    plan = bench.plan
    least = 2 * bench.instance.engine.trait("minimum_pool_mib")[max(plan.page_sizes)] * MIB
    pool = benchmark_replay.pool_bytes(bench.replay, plan.pool_bytes, least)
    share = round(bench.replay.sample_bytes / pool, 2)
    if abs(share - bench.replay.pool_share) > 0.1 * bench.replay.pool_share:
        bench.notes.append(
            f"The host's data are {bench.replay.pool_share:.2g} times its pool, their copy is {share:g} times that of the private servers:"
            " with another sample_bytes or pool_bytes it comes closer."
        )
    run_series(replace(bench, plan=replace(plan, pool_bytes=pool)), series._replace(data_to_pool=max(share, 0.01)))


def _title(series: Series) -> str:
    return f"{', '.join(load.name for load in series.loads)} with data of {series.data_to_pool:g} times the buffer pool"


def run_series(bench: Bench, series: Series) -> None:
    """Make the data of every variant, then measure the variants in turns. What fails for want of room is told as that."""
    with ExitStack() as stack:
        try:
            take_turns(bench, series, stack)
        except InnodbError as error:
            # The files are still there, and so is what took their room.
            if not told_to_end(error):
                require_room(bench)
            raise


def take_turns(bench: Bench, series: Series, stack: ExitStack) -> None:
    """A B C, A B C. The data go with the stack."""
    scratch: dict[str, Paths] = {}
    for variant in series.variants:
        require_room(bench)
        data = scratch_data(bench.run, bench.instance, bench.paths, variant.page_size, _place(bench, variant))
        scratch[variant.name] = stack.enter_context(data)
        make_data(bench, series, variant, scratch[variant.name])
    for number in range(bench.plan.rounds):
        if number and bench.late(len(series.variants) * round_seconds(bench.plan, series)):
            bench.notes.append(f"time_limit_seconds was over after {number} of {bench.plan.rounds} rounds of {_title(series)}")
            break
        for variant in series.variants:
            measure_variant(bench, series, variant, scratch[variant.name], number)


def require_room(bench: Bench) -> None:
    """InnodbError when the file system has no more room than others need."""
    if free_bytes(bench.directory) < RESERVE_BYTES:
        raise InnodbError(
            f"less than {RESERVE_BYTES // MIB} MiB are free on the file system of {bench.directory}, so the benchmark was ended",
            state="What it had made was removed.",
            remedy="Give it a smaller pool_bytes or data_to_pool, fewer page_sizes, or another directory",
        )


def _place(bench: Bench, variant: Variant) -> str:
    return os.path.join(bench.directory, variant.name)


def make_data(bench: Bench, series: Series, variant: Variant, scratch: Paths) -> None:
    """Load the data of a variant with a server that need not be safe, and note how long that took and how large they are."""
    bench.say(f"{_title(series)}: making the data of {variant.name}")
    engine = bench.instance.engine
    hasty = [option for option in engine.trait("unsafe_options") if not option.startswith("--secure-file-priv")]
    starting = benchmark_server.server(bench.instance, scratch, _place(bench, variant), bench.plan, variant, hasty)
    units = series.dataset.units(series.data_to_pool * bench.plan.pool_bytes)
    with ExitStack() as stack:
        server = stack.enter_context(benchmark_server.thrown_away(starting))
        session = stack.enter_context(server.session())
        stack.enter_context(io_limit(server.process.pid, bench.directory, bench.plan.io_limit_bytes))
        session.execute(f"CREATE DATABASE {quote(sysbench.SCHEMA)}")
        began = time.monotonic()
        if series.dataset.name == REPLAY:
            benchmark_replay.load_copy(bench.replay, session)
        else:
            threads = min(series.dataset.tables, os.cpu_count() or 1)
            line = _sysbench_line(bench, series, series.dataset.script, "prepare", server, threads, {"rand-seed": 1}, None)
            run_sysbench(bench, server, line)
        seconds = time.monotonic() - began
        tables = table_names(session)
        for table in tables:
            session.rows(f"ANALYZE TABLE {table}")
        if series.dataset.name == REPLAY:
            with server.session() as reader:
                benchmark_replay.tried(bench.replay, reader, bench.scripts)
    bench.datasets.append(
        {
            "series": series.kind,
            "dataset": series.dataset.name,
            "data_to_pool": series.data_to_pool,
            "variant": variant.name,
            "units": units,
            "tables": len(tables),
            "bytes": schema_bytes(scratch.build),
            "expected_bytes": data_bytes(bench.plan, series),
            "load_seconds": round(seconds, 3),
        }
    )


def table_names(session: Session) -> list[str]:
    own = "', '".join(SYSTEM_DIRECTORIES)
    rows = session.rows(
        "SELECT table_schema AS place, table_name AS name FROM information_schema.tables"
        f" WHERE engine='InnoDB' AND table_type='BASE TABLE' AND table_schema NOT IN ('{own}')"
    )
    return [table_name(row["place"], row["name"]) for row in rows]


def schema_bytes(datadir: str) -> int:
    """Bytes of all schemas but the server's own."""
    folders = [entry for entry in os.scandir(datadir) if entry.is_dir() and entry.name[0] not in "#."]
    return sum(tree_bytes(entry.path) for entry in folders if entry.name not in SYSTEM_DIRECTORIES)


def measure_variant(bench: Bench, series: Series, variant: Variant, scratch: Paths, number: int) -> None:
    """One round of one variant: a server that has just started, warmed up for each load."""
    bench.say(f"{_title(series)}: round {number + 1} of {bench.plan.rounds}, {variant.name}")
    plan = bench.plan
    starting = benchmark_server.server(bench.instance, scratch, _place(bench, variant), plan, variant)
    with benchmark_server.thrown_away(starting) as server, server.session() as session:
        kind = "" if series.kind == PAGE_SIZE else "with blocks of "
        bench.commands.setdefault(f"server {kind}{variant.name}", server.command())
        if not bench.settings:
            bench.settings.update(session.variables(*SETTINGS))
        with io_limit(server.process.pid, bench.directory, plan.io_limit_bytes):
            fill_pool(session, plan.pool_bytes)
            for load in series.loads:
                if plan.warm_up_seconds:
                    run_load(bench, series, load, server, max(series.threads), 0, plan.warm_up_seconds)
                for threads in series.threads:
                    measured = measure(bench, series, load, server, session, threads, number)
                    bench.measurements.append({"series": series.kind, "variant": variant.name, **measured})


def fill_pool(session: Session, pool_bytes: int) -> None:
    """Read whole tables until all are in the pool, or it is full. A load would fill it the slower, the smaller the pages are."""
    for table in table_names(session):
        if int(session.row("SHOW GLOBAL STATUS LIKE 'Innodb_data_read'")["value"]) >= pool_bytes:
            return
        session.rows(f"CHECKSUM TABLE {table}")


def measure(bench: Bench, series: Series, load: Load, server: PrivateServer, session: Session, threads: int, number: int) -> dict[str, Any]:
    """One measurement, raw."""
    before = look(session, server.process.pid)
    outcome = run_load(bench, series, load, server, threads, number + 1, bench.plan.seconds)
    after = look(session, server.process.pid)
    found = {
        "load": load.name,
        "data_to_pool": series.data_to_pool,
        "threads": threads,
        "round": number + 1,
        "seconds": outcome.seconds,
        "transactions": outcome.transactions,
        "transactions_per_second": outcome.transactions / outcome.seconds,
        "queries_per_second": outcome.queries / outcome.seconds,
        "latency_average_ms": outcome.latency_average,
        "latency_p95_ms": outcome.latency_p95,
        "latency_max_ms": outcome.latency_max,
        "ignored_errors": outcome.ignored_errors,
        **passed(before, after, outcome.transactions),
    }
    if "new_orders" in outcome.extra:
        found["new_orders_per_minute"] = outcome.extra["new_orders"] / outcome.seconds * 60
    found = {name: round(value, 9) if isinstance(value, float) else value for name, value in found.items()}
    if bench.observe:
        bench.observe(server, session, found, before, after)
    return found


def run_load(bench: Bench, series: Series, load: Load, server: PrivateServer, threads: int, seed: int, seconds: int) -> sysbench.Outcome:
    """Drive a load; every variant gets the same sequence of random numbers in the same round."""
    line = _sysbench_line(bench, series, load.script, "run", server, threads, {"rand-seed": seed + 1}, seconds)
    return sysbench.parse(run_sysbench(bench, server, line))


def _sysbench_line(
    bench: Bench,
    series: Series,
    script: str,
    action: str,
    server: PrivateServer,
    threads: int,
    more: Mapping[str, Any],
    seconds: int | None,
) -> list[str]:
    dataset, plan = series.dataset, bench.plan
    options = {
        **({"tables": dataset.tables} if dataset.tables > 1 else {}),
        dataset.size_option: dataset.units(series.data_to_pool * plan.pool_bytes),
        "rand-type": plan.distribution,
        **more,
    }
    line = sysbench.command(bench.program.path, script, action, server.socket, threads, options, seconds)
    bench.commands.setdefault(f"sysbench {script} {action}, data {series.data_to_pool:g} times the pool", line)
    return line


def run_sysbench(bench: Bench, server: PrivateServer, line: Sequence[str]) -> str:
    """Run it as long as the server lives and the disk has room for others."""

    def watch() -> None:
        require_room(bench)
        if not server.alive():
            raise InnodbError(f"{server.title} has ended by itself", state="What it had made was removed.", remedy="See the kernel's log")

    return sysbench.run_watched(line, bench.scripts, os.path.join(bench.directory, "sysbench.log"), watch)


def of_kind(items: Sequence[Mapping[str, Any]], kind: str = PAGE_SIZE) -> list[Mapping[str, Any]]:
    return [item for item in items if item["series"] == kind]

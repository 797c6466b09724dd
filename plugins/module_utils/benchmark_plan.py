# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a benchmark is to do, what that needs of the host, and why it may not be done there. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .benchmark_loads import DATASETS, REPLAY, Dataset, Load
from .errors import InnodbError
from .option_values import MIB
from .page_size import label

#: What a private server takes besides its buffer pool, in memory and, empty, on disk.
SERVER_MEMORY_BYTES = 384 * MIB
SERVER_BYTES = 160 * MIB
THREAD_MEMORY_BYTES = 2 * MIB
#: Data grow with smaller pages, and under writes.
GROWTH = 1.6
#: Tables with their indexes, in parts of the rows as they are written to a file.
COPY_FACTOR = 2
#: What the file of a table may hold beyond its rows: files grow by steps.
FILE_STEP_BYTES = 8 * MIB
#: So much stays free on the file system whatever happens, for those who live on it.
RESERVE_BYTES = 256 * MIB
#: Rules of thumb for the time that a benchmark takes.
START_SECONDS = 6
LOAD_BYTES_PER_SECOND = 8 * MIB
#: More than this, in parts of what there is, and the host is busy.
BUSY_CPU_SHARE = 0.25
BUSY_SERVER_CPU = 0.1
BUSY_SERVER_BYTES = 1 * MIB


@dataclass(frozen=True)
class Plan:
    """data_to_pool: sizes of the data in parts of the buffer pool. seconds: of each measurement. Limits are 0 when there is none.

    log_write_ahead_bytes: sizes of the log's blocks to compare, at the page size of today.
    sample_bytes: rows that are copied from the host for a replay.
    """

    page_sizes: tuple[int, ...]
    base: int
    loads: tuple[Load, ...]
    data_to_pool: tuple[float, ...]
    threads: tuple[int, ...]
    rounds: int
    seconds: int
    warm_up_seconds: int
    pool_bytes: int
    distribution: str
    log_bytes: int
    time_limit_seconds: int
    space_limit_bytes: int
    io_limit_bytes: int
    log_write_ahead_bytes: tuple[int, ...] = ()
    sample_bytes: int = 0


class Variant(NamedTuple):
    """A server that is measured. name: the page size, or the value that is compared. options: beside those that all have."""

    name: str
    page_size: int
    options: tuple[str, ...] = ()


class Series(NamedTuple):
    """Variants that are measured in turns with the same loads on the same data. kind: what they differ in."""

    kind: str
    variants: tuple[Variant, ...]
    base: str
    dataset: Dataset
    data_to_pool: float
    loads: tuple[Load, ...]
    threads: tuple[int, ...]


PAGE_SIZE = "page_size"
LOG_WRITE_AHEAD = "log_write_ahead"


def series_of(plan: Plan) -> list[Series]:
    """The series of a plan, one after the other."""
    variants = tuple(Variant(str(size), size) for size in plan.page_sizes)
    found = []
    replays = tuple(load for load in plan.loads if load.dataset == REPLAY)
    if replays:
        # How large the copy is, in parts of its pool, is known when it is there.
        found.append(Series(PAGE_SIZE, variants, str(plan.base), DATASETS[REPLAY], 0, replays, plan.threads))
    for data_to_pool in plan.data_to_pool:
        for name in dict.fromkeys(load.dataset for load in plan.loads if load.dataset != REPLAY):
            loads = tuple(load for load in plan.loads if load.dataset == name)
            found.append(Series(PAGE_SIZE, variants, str(plan.base), DATASETS[name], data_to_pool, loads, plan.threads))
    if plan.log_write_ahead_bytes:
        found.append(_log_series(plan))
    return found


def _log_series(plan: Plan) -> Series:
    """Data in the pool, so that the log is what is waited for, and writes with as many threads as there may be."""
    variants = tuple(Variant(str(size), plan.base, (f"--innodb-log-write-ahead-size={size}",)) for size in plan.log_write_ahead_bytes)
    load = next(load for load in plan.loads if load.writes)
    return Series(LOG_WRITE_AHEAD, variants, variants[0].name, DATASETS[load.dataset], 0.25, (load,), plan.threads[-1:])


def data_bytes(plan: Plan, series: Series) -> int:
    """Bytes that the data of one variant take, as far as is known before."""
    if series.dataset.name == REPLAY:
        return COPY_FACTOR * plan.sample_bytes
    return series.dataset.expected_bytes(series.dataset.units(series.data_to_pool * plan.pool_bytes))


def series_space(plan: Plan, series: Series) -> int:
    steps = series.dataset.tables * FILE_STEP_BYTES
    return len(series.variants) * int(data_bytes(plan, series) * GROWTH + steps + SERVER_BYTES + plan.log_bytes)


def space_needed(plan: Plan) -> int:
    """Bytes on disk at once: the data of one series are removed before those of the next are made."""
    return max(series_space(plan, series) for series in series_of(plan))


def memory_needed(plan: Plan) -> int:
    """Bytes: one server runs at a time."""
    return plan.pool_bytes + SERVER_MEMORY_BYTES + max(plan.threads) * THREAD_MEMORY_BYTES


def series_seconds(plan: Plan, series: Series) -> float:
    speed = min(LOAD_BYTES_PER_SECOND, plan.io_limit_bytes or LOAD_BYTES_PER_SECOND)
    making = 2 * START_SECONDS + data_bytes(plan, series) / speed
    return len(series.variants) * (making + plan.rounds * round_seconds(plan, series))


def round_seconds(plan: Plan, series: Series) -> float:
    """Seconds of one variant in one round."""
    return START_SECONDS + len(series.loads) * (plan.warm_up_seconds + len(series.threads) * plan.seconds)


def seconds_needed(plan: Plan) -> float:
    return sum(series_seconds(plan, series) for series in series_of(plan))


class Host(NamedTuple):
    """What there is: bytes of memory and of disk; whether the program takes an option for the log's blocks.

    cpu_share: how much of the processors is in use. server_cpu: processors that the server of the host uses; server_bytes: bytes that
    it reads and writes per second.
    """

    memory_bytes: int
    free_bytes: int
    cpu_share: float
    server_cpu: float
    server_bytes: float
    has_log_write_ahead: bool
    directory: str


def require_sensible(plan: Plan, host: Host) -> None:
    """InnodbError when blocks of a log are to be compared that the server has not, or that nothing is written to."""
    if not plan.log_write_ahead_bytes:
        return
    if not host.has_log_write_ahead:
        raise InnodbError(
            "this server has no innodb_log_write_ahead_size, so blocks of its log can't be compared",
            remedy="Leave log_write_ahead_bytes out",
            refusal=True,
        )
    if not any(load.writes for load in plan.loads):
        raise InnodbError(
            "none of the loads writes, so blocks of the log can't be compared", remedy="Add oltp_write_only to loads", refusal=True
        )


def require_possible(plan: Plan, host: Host, beside_busy: bool) -> None:
    """InnodbError when the host has not what the plan needs, or must not be disturbed."""
    require_sensible(plan, host)
    memory, space, seconds = memory_needed(plan), space_needed(plan), seconds_needed(plan)
    if memory > host.memory_bytes:
        raise InnodbError(
            f"the benchmark needs {_mib(memory)} of memory, and {_mib(host.memory_bytes)} are available",
            remedy="Give it a smaller pool_bytes, or fewer threads",
            refusal=True,
        )
    if plan.space_limit_bytes and space > plan.space_limit_bytes:
        raise InnodbError(
            f"the benchmark needs about {_mib(space)} on disk, and space_limit_bytes allows {_mib(plan.space_limit_bytes)}",
            remedy="Give it a smaller pool_bytes or data_to_pool, or fewer page_sizes",
            refusal=True,
        )
    if space + RESERVE_BYTES > host.free_bytes:
        raise InnodbError(
            f"the benchmark needs about {_mib(space)} in {host.directory} and leaves {_mib(RESERVE_BYTES)} free,"
            f" and {_mib(host.free_bytes)} are free",
            remedy="Give it a smaller pool_bytes or data_to_pool, fewer page_sizes, or another directory",
            refusal=True,
        )
    if plan.time_limit_seconds and seconds > plan.time_limit_seconds:
        raise InnodbError(
            f"the benchmark takes about {seconds:.0f} s, and time_limit_seconds allows {plan.time_limit_seconds} s",
            remedy="Give it fewer loads, threads, rounds, page_sizes or sizes of data, or more time",
            refusal=True,
        )
    busy = why_busy(host)
    if busy and not beside_busy:
        raise InnodbError(
            f"the host is busy: {busy}. A benchmark would disturb it, and be disturbed",
            remedy="Run it on a replica or at another time, or set beside_busy to true",
            refusal=True,
        )


def why_busy(host: Host) -> str:
    """What speaks against a benchmark beside the host's work; empty when nothing does."""
    found = []
    if host.cpu_share > BUSY_CPU_SHARE:
        found.append(f"{host.cpu_share:.0%} of its processors are in use")
    if host.server_cpu > BUSY_SERVER_CPU:
        found.append(f"its server uses {host.server_cpu:.2f} processors")
    if host.server_bytes > BUSY_SERVER_BYTES:
        found.append(f"its server reads and writes {_mib(host.server_bytes)} per second")
    return ", ".join(found)


def describe(plan: Plan, directory: str) -> list[str]:
    """What would be done, for check mode."""
    sizes = ", ".join(label(size) for size in plan.page_sizes)
    lines = [f"make a directory in {directory} for at most {_mib(space_needed(plan))}, and remove it in the end"]
    for series in series_of(plan):
        names = ", ".join(load.name for load in series.loads)
        blocks = f"blocks of the log of {', '.join(each.name for each in series.variants)} bytes"
        what = f"pages of {sizes}" if series.kind == PAGE_SIZE else blocks
        if series.dataset.name == REPLAY:
            lines.append(
                f"copy up to {_mib(plan.sample_bytes)} of the host's rows, and measure {what} with its own reading statements,"
                f" {_threads(series.threads)}, in {plan.rounds} rounds of {plan.seconds} s"
            )
            continue
        lines.append(
            f"measure {what} with {names}, {_threads(series.threads)}, on {_mib(data_bytes(plan, series))} of data,"
            f" which are {series.data_to_pool:g} times the buffer pool, in {plan.rounds} rounds of {plan.seconds} s"
        )
    return [*lines, f"take about {seconds_needed(plan) / 60:.0f} minutes and {_mib(memory_needed(plan))} of memory for that"]


def _threads(threads: Sequence[int]) -> str:
    return f"{' and '.join(str(count) for count in threads)} thread{'s' if tuple(threads) != (1,) else ''}"


def _mib(size: float) -> str:
    return f"{size / MIB:.0f} MiB"

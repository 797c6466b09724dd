# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The result of a benchmark: figures, conclusions, and the circumstances in which they were found."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from . import benchmark_statistics
from .benchmark import Bench, of_kind
from .benchmark_loads import REPLAY
from .benchmark_plan import LOG_WRITE_AHEAD
from .benchmark_server import FREE_SHARE
from .option_values import MIB
from .page_size import label

#: What the result is about, as the policy of a decision knows it.
SYSBENCH = "sysbench"
OWN_WORKLOAD = "own workload"


def result(bench: Bench, machine: Mapping[str, Any], storage: Mapping[str, Any], circumstances: list[str]) -> dict[str, Any]:
    """All of it, in the form in which the module returns it."""
    plan, base = bench.plan, str(bench.plan.base)
    measured = of_kind(bench.measurements)
    own = [each for each in measured if each["load"] == REPLAY]
    # What the host does itself says more of it than any other load.
    deciding = own or measured
    by_data = {
        f"{size:g}": benchmark_statistics.overall([each for each in deciding if each["data_to_pool"] == size])
        for size in dict.fromkeys(each["data_to_pool"] for each in deciding)
    }
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "kind": OWN_WORKLOAD if own else SYSBENCH,
        "engine": bench.instance.engine.name,
        "version": bench.instance.engine.version_text,
        "sysbench": bench.program.version,
        "page_size": plan.base,
        "machine": dict(machine),
        "storage": dict(storage),
        "settings": bench.settings,
        "plan": {**asdict(plan), "loads": [load.name for load in plan.loads]},
        "circumstances": [*circumstances, *bench.notes],
        "commands": bench.commands,
        "datasets": of_kind(bench.datasets),
        "measurements": measured,
        "figures": benchmark_statistics.summarise(measured, base),
        "page_sizes": benchmark_statistics.overall(deciding),
        "by_data": by_data,
        "conclusion": conclusion(by_data, base),
        "replay": bench.replay.as_dict() if bench.replay else None,
        "log_blocks": log_blocks(bench),
    }


def spread_of(rounds: int) -> str:
    """What a spread is with so many rounds."""
    if rounds == 1:
        return f"one round has no spread, and {benchmark_statistics.SPREAD_OF_ONE:.0%} of the figure is taken for it"
    factor = benchmark_statistics.SPREAD_OF.get(rounds, 1)
    times = f", times {factor:g} since {rounds} rounds say little" if factor > 1 else ""
    return f"a spread is the largest distance of a round from the median{times}"


def conclusion(by_data: Mapping[str, Mapping[str, Any]], base: str) -> str:
    """One sentence for each size of the data."""
    found = []
    for size, rates in by_data.items():
        where = "Data in the pool" if float(size) <= 1 else f"Data of {size} times the pool"
        found.append(f"{where}: {benchmark_statistics.conclusion(rates, base)}")
    return " ".join(found)


def log_blocks(bench: Bench) -> dict[str, Any] | None:
    """What sizes of the log's blocks do; none when they were not compared."""
    measured = of_kind(bench.measurements, LOG_WRITE_AHEAD)
    if not measured:
        return None
    base = str(bench.plan.log_write_ahead_bytes[0])
    return {"measurements": measured, "figures": benchmark_statistics.summarise(measured, base), "base": base}


def circumstances(bench: Bench, direct: bool, busy: str) -> list[str]:
    """How it was measured, as sentences."""
    plan = bench.plan
    sizes = ", ".join(label(size) for size in plan.page_sizes)
    texts = [
        f"Private servers of {bench.instance.engine.title} with pages of {sizes} in {bench.directory}, with the host's own option files"
        f" but for a buffer pool of {plan.pool_bytes // MIB} MiB, a log of {plan.log_bytes // MIB} MiB and no binary log. They keep"
        f" 1/{FREE_SHARE} of that pool free, where the servers' default is a number of pages.",
        f"{plan.rounds} rounds in turns; each round starts the server anew, fills its pool and warms it up for {plan.warm_up_seconds} s for"
        f" each load, then {plan.seconds} s are measured for each number of threads. Figures are medians; {spread_of(plan.rounds)}.",
        "The file cache was kept out with O_DIRECT; what the storage itself caches was not."
        if direct
        else "The file cache could not be kept out, since the file system has no O_DIRECT: reads may have come from memory.",
        f"Rows are chosen by sysbench's distribution '{plan.distribution}'. sysbench ran on the same host and used its processors as well.",
    ]
    if bench.paths.outside:
        texts.append("Directories that the host has elsewhere, such as that of the log, lay beside the data here.")
    if busy:
        texts.append(f"The host was busy: {busy}.")
    if bench.replay:
        found = bench.replay.as_dict()
        texts.append(
            f"{found['statements']} reading statements of the host from {found['origin']} were replayed against a copy of"
            f" {found['sampled_bytes'] // MIB} MiB of its rows in {found['tables']} tables; {found['answered_share'] or 0:.0%} of them"
            " found rows there. Its writes were not replayed."
        )
    if plan.io_limit_bytes:
        texts.append(f"Reads and writes were limited to {plan.io_limit_bytes // MIB} MiB/s each.")
    return texts

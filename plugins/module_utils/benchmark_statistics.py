# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the rounds of a benchmark say: medians with their spread, and which differences are more than noise. Pure.

The spread of a figure is the largest distance of one of its rounds from their median; of one or two rounds it is more, see SPREAD_OF.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .page_size import label

#: What is measured in each round, as its median and spread are told.
FIGURES = (
    "transactions_per_second",
    "latency_p95_ms",
    "latency_average_ms",
    "queries_per_second",
    "new_orders_per_minute",
    "read_bytes_per_second",
    "written_bytes_per_second",
    "read_bytes_per_transaction",
    "written_bytes_per_transaction",
    "log_bytes_per_transaction",
    "pages_read_per_transaction",
    "pages_written_per_transaction",
    "hit_ratio",
    "cpu_seconds_per_transaction",
    "cpu_share",
)
#: With one round there is no spread; so much, in parts of the figure, is taken for noise then.
SPREAD_OF_ONE = 0.1
#: By which the largest distance is multiplied. Of figures that differ by chance alone, as the normal distribution has it, 33 of 100 pairs
#: lie further apart than both largest distances with two rounds, 4 with three and 1 with four; with two and three times that, 6.
SPREAD_OF = {2: 3.0}
#: With a spread above this part of the figure, that no difference was found says little.
COARSE = 0.1
THROUGHPUT = "transactions_per_second"


def middle(values: Sequence[float]) -> dict[str, float]:
    """Median and spread of the rounds."""
    median = statistics.median(values)
    if len(values) == 1:
        return {"median": median, "spread": SPREAD_OF_ONE * abs(median)}
    return {"median": median, "spread": SPREAD_OF.get(len(values), 1.0) * max(abs(value - median) for value in values)}


def same(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Whether the difference of two figures is within their spreads."""
    return abs(one["median"] - other["median"]) <= one["spread"] + other["spread"]


def cell_key(measurement: Mapping[str, Any]) -> tuple:
    return measurement["load"], measurement["data_to_pool"], measurement["threads"]


def summarise(measurements: Iterable[Mapping[str, Any]], base: str) -> list[dict[str, Any]]:
    """For each load, size of the data and number of threads the figures of each variant, and what they say against the base variant."""
    cells: dict[tuple, dict[str, list[Mapping[str, Any]]]] = {}
    for each in measurements:
        cells.setdefault(cell_key(each), {}).setdefault(each["variant"], []).append(each)
    found = []
    for (load, data_to_pool, threads), by_variant in cells.items():
        variants = {}
        for variant, rounds in by_variant.items():
            known = {name: [each[name] for each in rounds if each.get(name) is not None] for name in FIGURES}
            variants[variant] = {name: middle(values) for name, values in known.items() if values}
        found.append(
            {
                "load": load,
                "data_to_pool": data_to_pool,
                "threads": threads,
                "variants": variants,
                "verdicts": verdicts({variant: figures[THROUGHPUT] for variant, figures in variants.items()}, base),
            }
        )
    return found


def verdicts(rates: Mapping[str, Mapping[str, float]], base: str) -> dict[str, dict[str, Any]]:
    """Each variant's throughput against the base: gain as a share, and faster, slower or no difference."""
    if base not in rates:
        return {}
    found = {}
    for variant, rate in rates.items():
        if variant == base:
            continue
        change = rate["median"] - rates[base]["median"]
        word = "no difference" if same(rate, rates[base]) else "faster" if change > 0 else "slower"
        found[variant] = {"gain": change / rates[base]["median"] if rates[base]["median"] else None, "verdict": word}
    return found


def overall(measurements: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """One throughput for each variant: of each round the geometric mean over all loads and threads, of these the median and spread.

    So that a load with many small transactions does not outweigh one with few large ones. Rounds that are not whole do not count.
    """
    rounds: dict[str, dict[int, dict[tuple, float]]] = {}
    cells = set()
    for each in measurements:
        cells.add(cell_key(each))
        rounds.setdefault(each["variant"], {}).setdefault(each["round"], {})[cell_key(each)] = each[THROUGHPUT]
    found = {}
    for variant, by_round in rounds.items():
        means = [geometric_mean(rates.values()) for rates in by_round.values() if len(rates) == len(cells)]
        if means:
            rate = middle(means)
            found[variant] = {THROUGHPUT: rate["median"], "spread": rate["spread"]}
    return found


def geometric_mean(values: Iterable[float]) -> float:
    values = list(values)
    if min(values) <= 0:
        return 0.0
    return math.exp(sum(math.log(value) for value in values) / len(values))


def conclusion(rates: Mapping[str, Mapping[str, float]], base: str) -> str:
    """One sentence on what was found, for the page sizes as keys of bytes."""
    known = {int(variant): {"median": rate[THROUGHPUT], "spread": rate["spread"]} for variant, rate in rates.items()}
    if int(base) not in known or len(known) < 2 or not known[int(base)]["median"]:
        return "Nothing can be said: there are no whole rounds of two page sizes."
    now, name = known[int(base)], label(int(base))
    best = max(known, key=lambda size: known[size]["median"])
    if best != int(base) and not same(known[best], now):
        gain = known[best]["median"] / now["median"] - 1
        figures = [f"{rate['median']:,.0f} ± {rate['spread']:,.0f}" for rate in (known[best], now)]
        return f"{label(best)} does {gain:.0%} more transactions than {name} ({figures[0]} against {figures[1]} per second)."
    noise = max(rate["spread"] / rate["median"] for rate in known.values() if rate["median"])
    text = f"No other page size does more than {name} beyond the spread of the rounds ({noise:.0%})"
    slower = [label(size) for size, rate in sorted(known.items()) if rate["median"] < now["median"] and not same(rate, now)]
    found = f"{text}; {' and '.join(slower)} {'does' if len(slower) == 1 else 'do'} less." if slower else f"{text}: no difference."
    return f"{found} Smaller differences can't be seen so: measure more rounds, for longer." if noise > COARSE else found

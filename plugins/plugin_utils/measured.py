# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a benchmark says of each page size. Pure and total."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any

from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES

from .reading import look, number

#: With so many of the pages found in the pool, all that is used is in it, however large the rest of the data.
IN_POOL_HIT_RATIO = 0.999
#: What the playbook benchmark writes for each size of the data.
BY_DATA = "by_data"


def applicable(benchmark: Any, now: Mapping[str, Any]) -> Any:
    """The benchmark with the rates of that size of data which is like this server's; as it is where it has one size only, or is not known.

    What was measured with data in the pool says nothing of a server whose data are larger, nor the other way round: without rates of the
    right kind there are none.
    """
    by_data = look(benchmark, BY_DATA)
    if not isinstance(by_data, Mapping) or not isinstance(benchmark, Mapping):
        return benchmark
    own = data_of(now)
    if own is None:
        return benchmark
    alike = [text for text in by_data if _share(text) is not None and (_share(text) <= 1) == (own <= 1)]
    if not alike:
        return {**benchmark, "page_sizes": {}, "data_to_pool": None}
    nearest = min(alike, key=lambda text: (abs(math.log(_share(text) / max(own, 0.001))), text))
    return {**benchmark, "page_sizes": by_data[nearest], "data_to_pool": _share(nearest)}


def data_of(now: Mapping[str, Any]) -> float | None:
    """Data that are in use, in parts of the pool."""
    if now["hit_ratio"] is not None and now["hit_ratio"] >= IN_POOL_HIT_RATIO:
        return min(1.0, now["data_to_pool"] or 1.0)
    return now["working_set_to_pool"] or now["data_to_pool"]


def _share(text: Any) -> float | None:
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if 0 < value < math.inf else None


def benchmark_of(benchmark: Any, size: int, now: int | None) -> dict[str, Any] | None:
    """What was measured at a page size, None when nothing was. Shares are parts of the transactions per second at the page size now.

    noise: what the spreads of both measurements, given in transactions per second, could have made of it. loss: the gain with its sign
    turned. among_best: whether the best one's lead over it is within their spreads.
    """
    rates = {each: number(look(benchmark, "page_sizes", str(each), "transactions_per_second")) for each in PAGE_SIZES}
    own, base = rates[size], rates.get(now) if now else None
    if own is None:
        return None
    best = max((each for each in PAGE_SIZES if rates[each] is not None), key=lambda each: rates[each])
    known = base is not None and base > 0
    gain = own / base - 1 if known else None
    return {
        "transactions_per_second": own,
        "gain": gain,
        "loss": None if gain is None else -gain,
        "noise": (_spread(benchmark, size) + _spread(benchmark, now)) / base if known else None,
        "among_best": own + _spread(benchmark, size) + _spread(benchmark, best) >= rates[best] if best != size else True,
    }


def _spread(benchmark: Any, size: int | None) -> float | int:
    return abs(number(look(benchmark, "page_sizes", str(size), "spread")) or 0)


def describe_benchmark(benchmark: Any, now: int | None, today: datetime.date | None) -> Any:
    """The benchmark with its age in days, and the largest gain that is more than noise: 0 without one, None when nothing was measured."""
    if not isinstance(benchmark, Mapping):
        return None
    others = [benchmark_of(benchmark, size, now) for size in PAGE_SIZES if size != now]
    measured = [each for each in others if each and each["gain"] is not None]
    gains = [each["gain"] for each in measured if each["gain"] > each["noise"]]
    age = _age_days(benchmark.get("date"), today) if today else None
    return {**benchmark, "age_days": age, "largest_gain": max([0, *gains]) if measured else None}


def _age_days(date: Any, today: datetime.date) -> int | None:
    """Days since a date as ISO 8601 writes it."""
    try:
        return (today - datetime.date.fromisoformat(str(date)[:10])).days
    except ValueError:
        return None

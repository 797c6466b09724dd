# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a benchmark says of each page size. Pure and total."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES

from .reading import look, number


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

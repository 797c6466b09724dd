# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a server does, from its own counters: since its start and in some seconds of now; and whether storage holds it up."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .facts import Limited

HOUR = 3600
#: Before that the buffer pool fills, and what is read tells little.
WARM_AFTER_SECONDS = HOUR
#: With the pool not full after this long, what is in it is all that was needed.
SETTLED_AFTER_SECONDS = 24 * HOUR
FREE_SHARE = 0.05
#: Fewer statements and page reads a second than this are no load.
IDLE_STATEMENTS = 1.0
IDLE_PAGE_READS = 1.0

READS = ("com_select",)
WRITES = (
    *("com_insert", "com_insert_select", "com_update", "com_update_multi", "com_delete", "com_delete_multi"),
    *("com_replace", "com_replace_select", "com_load"),
)
#: Rows read by the storage engines, where InnoDB does not count its own.
ROWS = tuple(f"handler_read_{way}" for way in ("first", "key", "last", "next", "prev", "rnd", "rnd_next"))
INNODB_ROWS = ("innodb_rows_read",)

#: Random reads of a page each second at which a device is busy, by its kind: rules of thumb, an order of magnitude.
DEVICE_READS = {"hdd": 150, "ssd": 20_000, "nvme": 100_000}
#: What a device of unknown kind is judged by: more than a disk can do, less than flash.
UNKNOWN_DEVICE_READS = 3_000

Counters = Mapping[str, float]


def numbers(status: Mapping[str, str]) -> dict[str, float]:
    """The counters among the status variables."""
    found = {}
    for name, value in status.items():
        try:
            found[name] = float(value)
        except (TypeError, ValueError):
            continue  # words, times and lists
    return found


def difference(later: Counters, earlier: Counters) -> dict[str, float]:
    """What was counted in between. A counter that was reset meanwhile counts from there."""
    return {name: value - earlier.get(name, 0) if value >= earlier.get(name, 0) else value for name, value in later.items()}


def total(counters: Counters, names: tuple[str, ...]) -> float | None:
    known = [counters[name] for name in names if name in counters]
    return sum(known) if known else None


def ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def rates(counters: Counters, seconds: float, page_size: int) -> dict[str, float | None]:
    """RATES of what was counted in these seconds: see RETURN of instance_info. None for what the server does not count."""

    def each_second(*names: str) -> float | None:
        return ratio(total(counters, names), seconds)

    requests, misses = counters.get("innodb_buffer_pool_read_requests"), counters.get("innodb_buffer_pool_reads")
    rows = total(counters, INNODB_ROWS if INNODB_ROWS[0] in counters else ROWS)
    doubled = counters.get("innodb_dblwr_pages_written")
    found = {
        "reads": each_second(*READS),
        "writes": each_second(*WRITES),
        "rows_read_per_page_read": ratio(rows, counters.get("innodb_pages_read")),
        "buffer_pool_hit_ratio": None if misses is None or not requests else max(0.0, 1 - misses / requests),
        "pages_read": each_second("innodb_pages_read"),
        "pages_written": each_second("innodb_pages_written"),
        "bytes_read": each_second("innodb_data_read"),
        "bytes_written": each_second("innodb_data_written"),
        "log_writes": each_second("innodb_log_writes"),
        "log_bytes": each_second("innodb_os_log_written"),
        "doublewrite_share": ratio(None if doubled is None else doubled * page_size, counters.get("innodb_data_written")),
    }
    return {name: None if value is None else round(value, 6) for name, value in found.items()}


@dataclass(frozen=True)
class Period:
    """What counts for the verdict of one period. Rates are per second."""

    statements: float
    page_reads: float
    hit_ratio: float | None
    waits_for_free: float
    pending_reads: float = 0


@dataclass(frozen=True)
class Situation:
    """A server as the verdict needs it. sampled is None without a sample; device the kind of the storage under the data."""

    uptime: float
    since_start: Period
    sampled: Period | None
    pool_bytes: int
    stored_bytes: int | None
    device: str = "unknown"


@dataclass
class Verdict:
    verdict: str
    confidence: str
    reasons: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {"verdict": self.verdict, "confidence": self.confidence, "reasons": self.reasons}


def period(counters: Counters, seconds: float, pending_reads: float = 0) -> Period:
    """The period in which this was counted."""
    seconds = max(seconds, 1e-9)
    requests, misses = counters.get("innodb_buffer_pool_read_requests"), counters.get("innodb_buffer_pool_reads", 0)
    return Period(
        statements=(total(counters, (*READS, *WRITES)) or 0) / seconds,
        page_reads=misses / seconds,
        hit_ratio=max(0.0, 1 - misses / requests) if requests else None,
        waits_for_free=counters.get("innodb_buffer_pool_wait_free", 0) / seconds,
        pending_reads=pending_reads,
    )


def _idle(each: Period) -> bool:
    return each.statements < IDLE_STATEMENTS and each.page_reads < IDLE_PAGE_READS


def _device(situation: Situation, each: Period) -> tuple[int, str] | None:
    known = situation.device in DEVICE_READS
    able = DEVICE_READS.get(situation.device, UNKNOWN_DEVICE_READS)
    title = situation.device if known else "storage of unknown kind"
    text = f"{each.page_reads:.1f} reads of missing pages per second, on {title}, which does about {able}"
    busy = each.page_reads / able
    if busy >= 0.5:
        return (3 if known else 2), text
    if busy >= 0.2:
        return 1, text
    return (-2, text) if busy < 0.02 else None


def _hits(situation: Situation, each: Period) -> tuple[int, str] | None:
    del situation
    if each.hit_ratio is None:
        return None
    text = f"{each.hit_ratio:.2%} of the pages asked for were in the buffer pool"
    if each.hit_ratio < 0.95:
        return 2, text
    if each.hit_ratio < 0.99:
        return 1, text
    return (-2, text) if each.hit_ratio >= 0.999 else None


def _free_pages(situation: Situation, each: Period) -> tuple[int, str] | None:
    del situation
    if each.waits_for_free <= 0:
        return None
    # Once in a while it happens to every server.
    return (2 if each.waits_for_free >= 0.1 else 1), f"statements waited {each.waits_for_free:.3f} times per second for a free page"


def _pending(situation: Situation, each: Period) -> tuple[int, str] | None:
    del situation
    if each.pending_reads < 1:
        return None
    return (2 if each.pending_reads >= 4 else 1), f"{each.pending_reads:.0f} reads were under way at the moment of each look"


def _fits(situation: Situation, each: Period) -> tuple[int, str] | None:
    del each
    if situation.stored_bytes is None or not situation.pool_bytes:
        return None
    part = situation.stored_bytes / situation.pool_bytes
    text = f"data and indexes are {part:.2f} times the buffer pool"
    if part <= 0.8:
        return -3, text
    return (1, text) if part >= 2 else None


#: What speaks for (above 0) or against being bound by I/O, and how strongly.
SIGNALS: tuple[Callable[[Situation, Period], tuple[int, str] | None], ...] = (_device, _hits, _free_pages, _pending, _fits)
SURE = 3


def io_bound(situation: Situation) -> Verdict:
    """Whether storage holds the server up, how sure that is and why. Pure.

    What is seen now is believed before the mean since the start, which mixes days and nights; where both agree it is surer.
    """
    if situation.uptime < WARM_AFTER_SECONDS:
        minutes = situation.uptime / 60
        return Verdict("unknown", "low", [f"the server is up for {minutes:.0f} minutes only: its buffer pool may not have filled yet"])
    now = situation.sampled
    if now is not None and not _idle(now):
        current, mean = _judge(situation, now), _judge(situation, situation.since_start)
        if mean.verdict == current.verdict:
            return current
        confidence = "medium" if current.confidence == "high" else "low"
        return Verdict(current.verdict, confidence, [*current.reasons, f"since its start the answer is: {mean.verdict}"])
    if _idle(situation.since_start):
        return Verdict("unknown", "low", ["the server is idle, now and in the mean since its start"])
    mean = _judge(situation, situation.since_start)
    why = "no sample was taken" if now is None else "the server is idle now"
    return Verdict(
        mean.verdict, "low" if mean.confidence == "low" else "medium", [*mean.reasons, f"{why}: this is the mean since the start"]
    )


def _judge(situation: Situation, each: Period) -> Verdict:
    found = [signal for signal in (weigh(situation, each) for weigh in SIGNALS) if signal]
    points = sum(weight for weight, _text in found)
    reasons = [text for _weight, text in found]
    if abs(points) < SURE:
        return Verdict("unknown", "low", reasons or ["no counter speaks clearly for or against it"])
    agreeing = sum((weight > 0) == (points > 0) for weight, _text in found)
    contradicting = len(found) - agreeing
    confidence = "high" if agreeing >= 2 and not contradicting else "medium" if agreeing > contradicting else "low"
    return Verdict("yes" if points > 0 else "no", confidence, reasons)


def buffer_pool(counters: Counters, variables: Mapping[str, str]) -> dict[str, int | None]:
    """Sizes of the buffer pool in bytes."""
    page_size = int(variables["innodb_page_size"])

    def pages(name: str) -> int | None:
        value = counters.get(f"innodb_buffer_pool_pages_{name}")
        return None if value is None else int(value) * page_size

    def told(name: str) -> int | None:
        value = counters.get(f"innodb_buffer_pool_bytes_{name}")
        return pages(name) if value is None else int(value)

    return {
        "size_bytes": int(variables["innodb_buffer_pool_size"]),
        "data_bytes": told("data"),
        "dirty_bytes": told("dirty"),
        "free_bytes": pages("free"),
        "instances": int(variables.get("innodb_buffer_pool_instances") or 1),
    }


def working_set(pool: Mapping[str, int | None], uptime: float) -> int | None:
    """Bytes of pages that are in use, where the pool tells: after a day in which it did not fill, all that was needed is in it."""
    free, data = pool["free_bytes"], pool["data_bytes"]
    if uptime < SETTLED_AFTER_SECONDS or free is None or data is None or free < FREE_SHARE * (pool["size_bytes"] or 0):
        return None
    return data


def workload_facts(
    limited: Limited, variables: Mapping[str, str], sample_seconds: float, device: str, stored_bytes: int | None
) -> dict[str, Any]:
    """The subset workload: two looks at the counters, sample_seconds apart; one alone when that is 0."""
    first, begun = numbers(limited.pairs("SHOW GLOBAL STATUS")), time.monotonic()
    last, seconds = first, 0.0
    if sample_seconds > 0:
        time.sleep(sample_seconds)
        last, seconds = numbers(limited.pairs("SHOW GLOBAL STATUS")), time.monotonic() - begun
    page_size = int(variables["innodb_page_size"])
    uptime = last["uptime"]
    passed = difference(last, first)
    pool = buffer_pool(last, variables)
    pending = min(each.get("innodb_data_pending_reads", 0) for each in (first, last))
    situation = Situation(
        uptime=uptime,
        since_start=period(last, uptime),
        sampled=period(passed, seconds, pending) if seconds else None,
        pool_bytes=pool["size_bytes"] or 0,
        stored_bytes=stored_bytes,
        device=device,
    )
    return {
        "uptime_seconds": int(uptime),
        "sample_seconds": round(seconds, 3),
        "since_start": rates(last, uptime, page_size),
        "sampled": rates(passed, seconds, page_size) if seconds else None,
        "buffer_pool": pool,
        "working_set_bytes": working_set(pool, uptime),
        "io_bound": io_bound(situation).as_dict(),
    }

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the plots of a host show, as plain numbers: the drawing, the table beside it and its description come from these."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ansible_collections.pagesmith.innodb.plugins.module_utils.size_limits import DYNAMIC, ROW_LIMITS

from .host import HostReport
from .units import NO_BREAK, bytes_text, count_text, ratio_text, share_text, size_text
from .values import amount, by_page_size, mapping, mappings, number

NOW = "now"
BEST = "best"
OTHER = "other"
#: So many bars of tables are easily read; four tables are shown in any case.
TABLE_BARS = 27
FEWEST_TABLES = 4

NARROWEST_CLASS = 4  # 16 bytes
WIDEST_CLASS = 17  # 128 KiB
CLASSES_PER_DOUBLING = 2


class Missing(NamedTuple):
    """One sentence on what is missing for a plot."""

    sentence: str


class Bar(NamedTuple):
    """A page size with its value and the value's error, in the unit of the plot; role is NOW, BEST or OTHER."""

    size: int
    role: str
    value: float
    error: float = 0


class TableBars(NamedTuple):
    """A table and its bytes at each page size."""

    name: str
    bars: list[Bar]


class Holding(NamedTuple):
    """What the buffer pool holds at a page size: of so many bytes of data so many, in so many pages."""

    size: int
    role: str
    data_bytes: float
    held_bytes: float
    pages: float

    @property
    def share(self) -> float:
        return self.held_bytes / self.data_bytes if self.data_bytes else 1.0


class Limit(NamedTuple):
    size: int
    role: str
    limit_bytes: float


class Widths(NamedTuple):
    """How many tables declare rows of a width between edges[i] and edges[i + 1], in bytes; over: tables above each limit."""

    edges: list[float]
    counts: list[int]
    limits: list[Limit]
    over: dict[int, int]
    omitted: int


class Grid(NamedTuple):
    """The numbers of a plot as a table."""

    head: list[str]
    rows: list[list[str]]


def role_of(report: HostReport, size: int) -> str:
    """The recommendation before today's size: when both are one, the host stays."""
    return BEST if size == report.recommended else NOW if size == report.now else OTHER


def table_bars(report: HostReport) -> list[TableBars] | Missing:
    """The largest tables and the sum of all others; bytes of today are the server's own, those of other sizes predicted."""
    rehearsed = by_page_size(report.data, "rehearsal", "page_sizes")
    predictions = {size: mapping(entry, "per_table") for size, entry in rehearsed.items()}
    before: dict[str, float] = {}
    for tables in predictions.values():
        before.update((name, amount(entry, "bytes_now")) for name, entry in tables.items() if amount(entry, "bytes_now") is not None)
    if not before:
        return Missing("Bytes per table are not shown, because no rehearsal has predicted them on this host.")
    names = sorted(before, key=lambda name: (-before[name], name))
    shown = max(TABLE_BARS // len({*predictions, report.now}) - 1, FEWEST_TABLES)
    largest, rest = names[:shown], names[shown:]
    if len(rest) == 1:
        largest, rest = names, []
    groups = [(name, [name]) for name in largest] + ([(f"{len(rest)} other tables", rest)] if rest else [])
    return [TableBars(title, bars_of(report, predictions, before, members)) for title, members in groups]


def bars_of(report: HostReport, predictions: dict[int, dict[str, Any]], before: dict[str, float], members: list[str]) -> list[Bar]:
    """The bars of some tables taken together. A page size at which one of them has no prediction is left out."""
    bars = {}
    for size, tables in predictions.items():
        values = [amount(tables, name, "predicted_bytes") for name in members]
        if None not in values:
            bars[size] = Bar(size, role_of(report, size), sum(values), sum(amount(tables, name, "error_bytes") or 0 for name in members))
    if report.now:
        bars[report.now] = Bar(report.now, role_of(report, report.now), sum(before[name] for name in members))
    return [bars[size] for size in sorted(bars)]


def pool_holdings(report: HostReport) -> list[Holding] | Missing:
    """Bytes of data at each page size and what of them fits the buffer pool."""
    pool = report.pool_bytes
    if not pool:
        return Missing("What the buffer pool holds is not shown, because the size of the buffer pool is not known.")
    sizes = {size: entry.predicted_bytes for size, entry in report.candidates.items()}
    if report.now and report.data_bytes:
        sizes[report.now] = report.data_bytes
    known = {size: value for size, value in sorted(sizes.items()) if value}
    if not known:
        return Missing("What the buffer pool holds is not shown, because neither the bytes of today nor predicted ones are known.")
    candidates = report.candidates
    holdings = []
    for size, value in known.items():
        said = candidates[size].pages_in_pool if size in candidates else None
        holdings.append(Holding(size, role_of(report, size), value, min(value, pool), said or pool // size))
    return holdings


def read_amplification(report: HostReport) -> list[Bar] | Missing:
    """Bytes read for each byte that is needed, relative to today."""
    known = {size: entry.read_amplification for size, entry in report.candidates.items() if entry.read_amplification is not None}
    if not set(known) - {report.now}:
        return Missing("Read amplification is not shown, because the decision has predicted it for no other page size.")
    if report.now:
        known.setdefault(report.now, 1.0)
    return [Bar(size, role_of(report, size), known[size]) for size in sorted(known)]


def limits(report: HostReport) -> list[Limit]:
    """The largest record that a table in the usual row formats may have, at each page size that the report speaks of."""
    sizes = sorted({*report.candidates, report.now, report.recommended} - {None})
    return [Limit(size, role_of(report, size), ROW_LIMITS[DYNAMIC][size]) for size in sizes]


def row_widths(report: HostReport) -> Widths | Missing:
    """The declared widths of rows in classes of half a doubling, from 16 bytes to 128 KiB."""
    tables = mappings(report.data, "facts", "schema", "table_list")
    widths = [width for width in (amount(table, "declared_row_bytes") for table in tables) if width]
    if not widths:
        return Missing("Row widths are not shown, because the declared width of no table is known.")
    edges = [
        2 ** (NARROWEST_CLASS + step / CLASSES_PER_DOUBLING) for step in range((WIDEST_CLASS - NARROWEST_CLASS) * CLASSES_PER_DOUBLING + 1)
    ]
    counts = [0] * (len(edges) - 1)
    for width in widths:
        place = int((math.log2(width) - NARROWEST_CLASS) * CLASSES_PER_DOUBLING)
        counts[min(max(place, 0), len(counts) - 1)] += 1
    shown = limits(report)
    over = {limit.size: sum(width > limit.limit_bytes for width in widths) for limit in shown}
    return Widths(edges, counts, shown, over, int(number(report.data, "facts", "schema", "table_list_omitted") or 0))


def tables_grid(groups: list[TableBars]) -> Grid:
    sizes = sorted({one.size for group in groups for one in group.bars})
    rows = []
    for group in groups:
        values = {one.size: bytes_text(one.value) + (f" ±{NO_BREAK}{bytes_text(one.error)}" if one.error else "") for one in group.bars}
        rows.append([group.name, *(values.get(size, "not predicted") for size in sizes)])
    return Grid(["Table", *map(size_text, sizes)], rows)


def pool_grid(holdings: list[Holding]) -> Grid:
    rows = [
        [size_text(item.size), count_text(item.pages), bytes_text(item.data_bytes), bytes_text(item.held_bytes), share_text(item.share)]
        for item in holdings
    ]
    return Grid(["Page size", "Pages in the pool", "Data", "Held", "Share held"], rows)


def amplification_grid(bars: list[Bar]) -> Grid:
    return Grid(["Page size", "Bytes read, as of today"], [[size_text(one.size), ratio_text(one.value)] for one in bars])


def widths_grid(widths: Widths) -> Grid:
    rows = [[size_text(limit.size), f"{limit.limit_bytes:,.0f} B", count_text(widths.over[limit.size])] for limit in widths.limits]
    return Grid(["Page size", "Largest record", "Tables that declare more"], rows)


def tables_words(groups: list[TableBars]) -> str:
    largest = groups[0]
    values = ", ".join(f"{bytes_text(one.value)} at {size_text(one.size)}" for one in largest.bars)
    return f"Bars of bytes for {len(groups)} groups of tables at each page size. The largest, {largest.name}, takes {values}."


def pool_words(holdings: list[Holding]) -> str:
    values = "; ".join(f"at {size_text(item.size)} {share_text(item.share)} of {bytes_text(item.data_bytes)}" for item in holdings)
    return f"Bars of the data at each page size, filled as far as the buffer pool holds them: {values}."


def amplification_words(bars: list[Bar]) -> str:
    values = ", ".join(f"{ratio_text(one.value)} at {size_text(one.size)}" for one in bars)
    return f"Bytes read for the same work, where 1 is what is read today: {values}."


def widths_words(widths: Widths) -> str:
    values = ", ".join(
        f"{widths.over[limit.size]} above the {limit.limit_bytes:,.0f} bytes of {size_text(limit.size)}" for limit in widths.limits
    )
    return f"Histogram of the declared row widths of {sum(widths.counts)} tables against the largest record: {values}."

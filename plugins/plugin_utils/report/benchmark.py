# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A benchmark as the parts of its page, and what two of them say of one another. Pure, whatever another machine has written."""

from __future__ import annotations

from typing import Any, NamedTuple

from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES

from .figures import BEST, NOW, OTHER, Bar, Grid
from .recommendation import Fact
from .surroundings import ENGINES, known
from .units import NO_BREAK, UNKNOWN, bytes_text, count_text, date_text, share_text, significant, size_text
from .values import amount, by_page_size, mapping, mappings, number, page_size, text, texts

FASTER = "faster"
SLOWER = "slower"
NO_DIFFERENCE = "no difference"


class Figure(NamedTuple):
    """A figure of a measurement: its key, how it is called and written."""

    key: str
    label: str
    write: Any


def milliseconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{significant(value)}{NO_BREAK}ms"


def microseconds(value: float | None) -> str:
    """From seconds."""
    return UNKNOWN if value is None else f"{count_text(round(value * 1e6))}{NO_BREAK}µs"


def rounded(value: float | None) -> str:
    return UNKNOWN if value is None else significant(value)


FIGURES = (
    Figure("transactions_per_second", "Transactions/s", rounded),
    Figure("latency_p95_ms", "95th percentile of the latency", milliseconds),
    Figure("latency_average_ms", "Average latency", milliseconds),
    Figure("new_orders_per_minute", "New orders/min", rounded),
    Figure("read_bytes_per_second", "Read/s", bytes_text),
    Figure("written_bytes_per_second", "Written/s", bytes_text),
    Figure("read_bytes_per_transaction", "Read per transaction", bytes_text),
    Figure("written_bytes_per_transaction", "Written per transaction", bytes_text),
    Figure("log_bytes_per_transaction", "Log per transaction", bytes_text),
    Figure("hit_ratio", "Hit ratio of the pool", share_text),
    Figure("cpu_seconds_per_transaction", "CPU per transaction", microseconds),
)
THROUGHPUT, LATENCY = FIGURES[0], FIGURES[1]
#: Figures that are drawn as bars, at the largest number of threads.
BARS = tuple(each for each in FIGURES if each.key in ("read_bytes_per_transaction", "written_bytes_per_transaction", "hit_ratio"))


class Point(NamedTuple):
    threads: float
    median: float
    spread: float


class Line(NamedTuple):
    """A page size over numbers of threads."""

    size: int
    role: str
    points: list[Point]


class Curves(NamedTuple):
    """The lines of a plot and what they show."""

    figure: Figure
    lines: list[Line]


class Cell(NamedTuple):
    """Figures of a load on data of one size with one number of threads. figures: by page size and key, median and spread."""

    load: str
    data_to_pool: float
    threads: float
    figures: dict[int, dict[str, dict[str, float]]]
    verdicts: dict[int, dict[str, Any]]


def cells(data: dict[str, Any]) -> list[Cell]:
    """What was measured, without what is not understood."""
    found = []
    for entry in mappings(data, "figures"):
        data_to_pool, threads = amount(entry, "data_to_pool"), amount(entry, "threads")
        if data_to_pool is None or threads is None:
            continue
        figures = {
            size: {each.key: pair for each in FIGURES if (pair := median_of(given, each.key)) is not None}
            for size, given in by_page_size(entry, "variants").items()
        }
        found.append(Cell(text(entry, "load"), data_to_pool, threads, figures, by_page_size(entry, "verdicts")))
    return found


def median_of(given: dict[str, Any], key: str) -> dict[str, float] | None:
    median = amount(given, key, "median")
    return None if median is None else {"median": median, "spread": amount(given, key, "spread") or 0}


def now_of(data: dict[str, Any]) -> int | None:
    return page_size(data, "page_size")


def best_of(rates: dict[int, dict[str, Any]], now: int | None) -> int | None:
    """The fastest page size; the one of today when nothing is faster beyond the spreads."""
    medians = {size: amount(rate, "transactions_per_second") for size, rate in rates.items()}
    medians = {size: value for size, value in medians.items() if value is not None}
    if not medians:
        return None
    best = max(medians, key=lambda size: medians[size])
    if now not in medians:
        return best
    noise = sum(amount(rates[size], "spread") or 0 for size in dict.fromkeys((best, now)))
    return best if medians[best] - medians[now] > noise else now


def role_of(size: int, now: int | None, best: int | None) -> str:
    return BEST if size == best else NOW if size == now else OTHER


def curves(group: list[Cell], figure: Figure, now: int | None, best: int | None) -> Curves:
    """A figure over the numbers of threads, of cells with the same load and data."""
    lines = []
    for size in PAGE_SIZES:
        points = [
            Point(cell.threads, **cell.figures[size][figure.key])
            for cell in sorted(group, key=lambda cell: cell.threads)
            if figure.key in cell.figures.get(size, {})
        ]
        if points:
            lines.append(Line(size, role_of(size, now, best), points))
    return Curves(figure, lines)


def curves_words(given: Curves) -> str:
    parts = []
    for line in given.lines:
        values = ", ".join(f"{given.figure.write(each.median)} with {each.threads:g} threads" for each in line.points)
        parts.append(f"{size_text(line.size)}: {values}")
    return f"{given.figure.label} over the number of threads for each page size. {'; '.join(parts)}."


def spread_text(figure: Figure, pair: dict[str, float] | None) -> str:
    return UNKNOWN if pair is None else f"{figure.write(pair['median'])} ±{NO_BREAK}{figure.write(pair['spread'])}"


def curves_grid(given: Curves) -> Grid:
    rows = [
        [size_text(line.size), f"{each.threads:g}", spread_text(given.figure, each._asdict())]
        for line in given.lines
        for each in line.points
    ]
    return Grid(["Page size", "Threads", given.figure.label], rows)


def bars(group: list[Cell], figure: Figure, now: int | None, best: int | None) -> list[Bar]:
    """A figure at the largest number of threads."""
    cell = max(group, key=lambda cell: cell.threads)
    return [
        Bar(size, role_of(size, now, best), pair["median"], pair["spread"])
        for size, figures in sorted(cell.figures.items())
        if (pair := figures.get(figure.key))
    ]


def table(group: list[Cell]) -> Grid:
    """All figures of a load on data of one size."""
    present = [each for each in FIGURES if any(each.key in figures for cell in group for figures in cell.figures.values())]
    rows = []
    for cell in sorted(group, key=lambda cell: cell.threads):
        for size, figures in sorted(cell.figures.items()):
            verdict = text(cell.verdicts.get(size, {}), "verdict") or "page size of the host"
            gain = number(cell.verdicts.get(size, {}), "gain")
            said = verdict if gain is None else f"{verdict} ({gain:+.0%})"
            rows.append([f"{cell.threads:g}", size_text(size), said, *(spread_text(each, figures.get(each.key)) for each in present)])
    return Grid(["Threads", "Page size", "Against the page size of the host", *(each.label for each in present)], rows)


def groups(data: dict[str, Any]) -> list[tuple[float, str, list[Cell]]]:
    """Cells by the size of the data and by load, in the order in which they were measured."""
    found: dict[tuple[float, str], list[Cell]] = {}
    for cell in cells(data):
        found.setdefault((cell.data_to_pool, cell.load), []).append(cell)
    return [(data_to_pool, load, group) for (data_to_pool, load), group in found.items()]


def data_title(data_to_pool: float) -> str:
    return "Data in the buffer pool" if data_to_pool <= 1 else f"Data of {data_to_pool:g} times the buffer pool"


def datasets_grid(data: dict[str, Any]) -> Grid:
    """Size on disk and time of the load of each data set."""
    rows = [
        [
            data_title(amount(entry, "data_to_pool") or 0),
            text(entry, "dataset"),
            size_text(page_size({"size": _whole(text(entry, "variant"))}, "size")),
            bytes_text(amount(entry, "bytes")),
            f"{significant(amount(entry, 'load_seconds') or 0)}{NO_BREAK}s",
        ]
        for entry in mappings(data, "datasets")
    ]
    return Grid(["Data", "Kind", "Page size", "Bytes on disk", "Time of the load"], rows)


def _whole(written: str) -> int | None:
    return int(written) if written.isascii() and written.isdigit() else None


def size_bars(data: dict[str, Any], data_to_pool: float, dataset: str, now: int | None, best: int | None) -> list[Bar]:
    """Bytes on disk of a data set at each page size."""
    found = {}
    for entry in mappings(data, "datasets"):
        size, value = _whole(text(entry, "variant")), amount(entry, "bytes")
        if text(entry, "dataset") == dataset and amount(entry, "data_to_pool") == data_to_pool and size in PAGE_SIZES and value is not None:
            found[size] = Bar(size, role_of(size, now, best), value)
    return [found[size] for size in sorted(found)]


def glance(data: dict[str, Any]) -> list[Fact]:
    """What a reader looks for first: for each size of the data the fastest page size."""
    now = now_of(data)
    facts = [Fact("Page size of the host", size_text(now))]
    for share in mapping(data, "by_data"):
        rates = by_page_size(data, "by_data", share)
        best = best_of(rates, now)
        value = NO_DIFFERENCE if best == now and now else size_text(best)
        facts.append(Fact(data_title(float(share)) if _is_number(share) else share, value, _gain(rates, now, best)))
    return facts


def _is_number(written: str) -> bool:
    try:
        return float(written) >= 0
    except ValueError:
        return False


def _gain(rates: dict[int, dict[str, Any]], now: int | None, best: int | None) -> str:
    before, after = (amount(rates.get(size, {}), "transactions_per_second") for size in (now, best))
    if now == best:
        return f"nothing is faster than {size_text(now)} beyond the spread"
    return f"{after / before - 1:+.0%} transactions" if before and after else ""


def outcome(data: dict[str, Any]) -> str:
    """The kind of badge: whether any size of the data has a faster page size than that of the host."""
    now = now_of(data)
    found = {best_of(by_page_size(data, "by_data", share), now) for share in mapping(data, "by_data")}
    return "change" if found - {now, None} else "stay"


BADGES = {"change": "Another page size is faster", "stay": "No difference that counts"}


def surroundings(data: dict[str, Any]) -> list[Fact]:
    """Machine, storage and programs."""
    engine = text(data, "engine")
    load = data.get("machine", {}).get("load_average") if isinstance(data.get("machine"), dict) else None
    loads = ", ".join(f"{each:.2f}" for each in load if isinstance(each, (int, float))) if isinstance(load, list) else ""
    return known(
        [
            Fact("Server", f"{ENGINES.get(engine, engine)} {text(data, 'version')}".strip()),
            Fact("Client", text(data, "sysbench")),
            Fact("Processors", text(data, "machine", "processors"), text(data, "machine", "processor")),
            Fact("Memory", bytes_text(amount(data, "machine", "memory_bytes"))),
            Fact("Kernel", text(data, "machine", "kernel")),
            Fact("Load average before", loads),
            Fact("Storage", text(data, "storage", "kind"), text(data, "storage", "model")),
            Fact("File system", text(data, "storage", "file_system"), text(data, "storage", "device")),
        ]
    )


def settings_rows(data: dict[str, Any]) -> list[list[str]]:
    return [[name, text(data, "settings", name)] for name in sorted(mapping(data, "settings"))]


def command_rows(data: dict[str, Any]) -> list[dict[str, str]]:
    given = mapping(data, "commands")
    return [{"title": title, "line": " ".join(texts(data, "commands", title))} for title in given]


def log_grid(data: dict[str, Any]) -> Grid | None:
    """Sizes of the log's blocks against one another."""
    rows = []
    for entry in mappings(data, "log_blocks", "figures"):
        for value, figures in mapping(entry, "variants").items():
            verdict = text(entry, "verdicts", value, "verdict") or "compared with"
            gain = number(entry, "verdicts", value, "gain")
            said = verdict if gain is None else f"{verdict} ({gain:+.0%})"
            shown = [spread_text(each, median_of(figures, each.key)) for each in (THROUGHPUT, LATENCY, *BARS[1:2])]
            rows.append([f"{value} B", text(entry, "load"), text(entry, "threads"), said, *shown])
    head = ["Block", "Load", "Threads", "Verdict", THROUGHPUT.label, LATENCY.label, BARS[1].label]
    return Grid(head, rows) if rows else None


def replay_grid(data: dict[str, Any]) -> Grid:
    """Kinds of the host's statements that were replayed, and how many were left out, by the reason."""
    kinds = [[count_text(number(entry, "weight")), "replayed", text(entry, "text")] for entry in mappings(data, "replay", "kinds")]
    left_out = mapping(data, "replay", "left_out")
    rows = [*kinds, *([count_text(number(data, "replay", "left_out", reason)), "left out", reason] for reason in left_out)]
    return Grid(["Statements", "", "Kind, or why"], rows)


def compared(before: dict[str, Any], after: dict[str, Any]) -> Grid:
    """Two runs, cell by cell: the change of the throughput, and whether it is more than the spreads."""
    earlier = {(cell.load, cell.data_to_pool, cell.threads): cell for cell in cells(before)}
    rows = []
    for cell in cells(after):
        other = earlier.get((cell.load, cell.data_to_pool, cell.threads))
        for size, figures in sorted(cell.figures.items()):
            new, old = figures.get(THROUGHPUT.key), other and other.figures.get(size, {}).get(THROUGHPUT.key)
            if not new or not old or not old["median"]:
                continue
            change = new["median"] - old["median"]
            word = NO_DIFFERENCE if abs(change) <= new["spread"] + old["spread"] else FASTER if change > 0 else SLOWER
            rows.append(
                [
                    cell.load,
                    f"{cell.data_to_pool:g}",
                    f"{cell.threads:g}",
                    size_text(size),
                    spread_text(THROUGHPUT, old),
                    spread_text(THROUGHPUT, new),
                    f"{word} ({change / old['median']:+.0%})",
                ]
            )
    return Grid(["Load", "Data in pools", "Threads", "Page size", "Then", "Now", "Now against then"], rows)


#: What two runs should have in common to be compared.
COMPARABLE = (
    ("Server", ("version",)),
    ("Client", ("sysbench",)),
    ("Kernel", ("machine", "kernel")),
    ("Processor", ("machine", "processor")),
    ("Processors", ("machine", "processors")),
    ("Storage", ("storage", "model")),
    ("File system", ("storage", "file_system")),
    ("Buffer pool", ("plan", "pool_bytes")),
    ("Log", ("plan", "log_bytes")),
    ("Seconds of a measurement", ("plan", "seconds")),
    ("Distribution", ("plan", "distribution")),
)


def different_circumstances(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Why two runs may differ for another reason than that which is looked for."""
    found = []
    for title, path in COMPARABLE:
        old, new = text(before, *path), text(after, *path)
        if old != new:
            found.append(f"{title}: {old or UNKNOWN} then, {new or UNKNOWN} now")
    names = sorted({*mapping(before, "settings"), *mapping(after, "settings")} - {"version"})
    pairs = [(name, text(before, "settings", name), text(after, "settings", name)) for name in names]
    return found + [f"{name}: {old or UNKNOWN} then, {new or UNKNOWN} now" for name, old, new in pairs if old != new]


def comparison(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {
        "date": date_text(text(before, "date")),
        "conclusion": text(before, "conclusion"),
        "grid": compared(before, after),
        "circumstances": different_circumstances(before, after),
    }

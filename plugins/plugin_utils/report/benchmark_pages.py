# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Writes the pages of benchmarks: one for each host, and an index."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError

from . import benchmark
from .benchmark_plots import draw_curves, draw_size_bars
from .figures import Grid
from .files import benchmark_page_name
from .pages import NO_PLOTS, address, environment
from .plots import drawing
from .svg import inline_svg
from .units import bytes_text, size_text
from .values import cleaned, text, texts, visible


class Result(NamedTuple):
    """A benchmark of a host. stem: the name of its file without the ending."""

    stem: str
    data: dict[str, Any]

    @property
    def host(self) -> str:
        return text(self.data, "host") or visible(self.stem)


def read_result(path: Path) -> Result:
    """A benchmark from a file; InnodbError when it holds none."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InnodbError(f"The benchmark {path} cannot be read: {error}", remedy="Measure this host again") from error
    if not isinstance(content, dict) or "measurements" not in content or "figures" not in content:
        raise InnodbError(f"{path} is not the result of a benchmark", remedy="Name a file that the playbook benchmark has left")
    return Result(path.stem, cleaned(content))


def read_results(directory: str) -> list[Result]:
    """All benchmarks of a directory, in the order of their names."""
    if not os.path.isdir(directory):
        raise InnodbError(f"There is no directory {directory}", remedy="Run the playbook benchmark first, or correct report_dir")
    return [read_result(path) for path in sorted(Path(directory).glob("*.json")) if not path.name.startswith(".")]


class Drawer:
    """Makes the views of plots, each with ids of its own."""

    def __init__(self, plots: bool) -> None:
        self.plots = plots
        self.count = 0

    def view(self, title: str, words: str, grid: Grid | None, function: Any, data: Any) -> dict[str, Any]:
        self.count += 1
        key = f"plot-{self.count}"
        view = {"title": title, "key": key, "drawing": "", "missing": "" if self.plots else NO_PLOTS, "grid": grid}
        if self.plots:
            # It consists of elements that were made anew from the parsed document: it holds no text that is markup.
            view["drawing"] = Markup(inline_svg(drawing(function, data), key, title, words))
        return view


def load_view(drawer: Drawer, load: str, group: list[benchmark.Cell], now: int | None, best: int | None) -> dict[str, Any]:
    """A load on data of one size: throughput and latency over threads, bars, and all figures as a table."""
    plots = []
    for figure in (benchmark.THROUGHPUT, benchmark.LATENCY):
        data = benchmark.curves(group, figure, now, best)
        if data.lines:
            plots.append(drawer.view(figure.label, benchmark.curves_words(data), benchmark.curves_grid(data), draw_curves, data))
    most = max(cell.threads for cell in group)
    for figure in benchmark.BARS:
        bars = benchmark.bars(group, figure, now, best)
        if bars:
            title = f"{figure.label}, {most:g} threads"
            words = f"{title}: " + ", ".join(f"{figure.write(each.value)} at {size_text(each.size)}" for each in bars)
            plots.append(drawer.view(title, words, None, draw_size_bars, (figure.write, bars)))
    return {"title": load, "plots": plots, "table": benchmark.table(group)}


def data_views(drawer: Drawer, data: dict[str, Any]) -> list[dict[str, Any]]:
    """For each size of the data its loads, and the bytes that each page size took."""
    now = benchmark.now_of(data)
    found: dict[float, dict[str, Any]] = {}
    for data_to_pool, load, group in benchmark.groups(data):
        rates = benchmark.by_page_size(data, "by_data", f"{data_to_pool:g}")
        best = benchmark.best_of(rates, now)
        section = found.setdefault(data_to_pool, {"title": benchmark.data_title(data_to_pool), "loads": [], "sizes": []})
        section["loads"].append(load_view(drawer, load, group, now, best))
    for data_to_pool, section in found.items():
        kinds = dict.fromkeys(text(entry, "dataset") for entry in benchmark.mappings(data, "datasets"))
        best = benchmark.best_of(benchmark.by_page_size(data, "by_data", f"{data_to_pool:g}"), now)
        for kind in kinds:
            bars = benchmark.size_bars(data, data_to_pool, kind, now, best)
            if bars:
                title = f"Bytes on disk: {kind}"
                words = ", ".join(f"{bytes_text(each.value)} at {size_text(each.size)}" for each in bars)
                section["sizes"].append(drawer.view(title, words, None, draw_size_bars, (bytes_text, bars)))
        if len(section["loads"]) == 1:
            section["loads"][0]["plots"] += section["sizes"]
            section["sizes"] = []
    return list(found.values())


def result_page(result: Result, plots: bool = True, before: dict[str, Any] | None = None) -> bytes:
    """The page of a benchmark. before: another run to compare it with."""
    data = result.data
    source = f"{result.stem}.json"
    view = {
        "host": result.host,
        "date": text(data, "date"),
        "kind": text(data, "kind"),
        "outcome": benchmark.outcome(data),
        "badge": benchmark.BADGES[benchmark.outcome(data)],
        "conclusion": text(data, "conclusion"),
        "glance": benchmark.glance(data),
        "sections": data_views(Drawer(plots), data),
        "plots": plots,
        "datasets": benchmark.datasets_grid(data),
        "log": benchmark.log_grid(data),
        "comparison": benchmark.comparison(before, data) if before else None,
        "circumstances": texts(data, "circumstances"),
        "surroundings": benchmark.surroundings(data),
        "settings": benchmark.settings_rows(data),
        "commands": benchmark.command_rows(data),
        "replayed": benchmark.replay_grid(data),
        "source": visible(source),
        "source_address": address(source),
    }
    return environment().get_template("benchmark.html.j2").render(view).encode()


def index_page(results: list[Result]) -> bytes:
    """All hosts, each with its conclusion."""
    rows = [
        {
            "host": result.host,
            "address": address(benchmark_page_name(result.stem)),
            "date": text(result.data, "date"),
            "conclusion": text(result.data, "conclusion"),
        }
        for result in results
    ]
    return environment().get_template("benchmarks.html.j2").render(rows=rows).encode()

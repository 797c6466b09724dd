# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Writes the pages: templates filled with what the other files of this package have made of the reports."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from . import figures, fleet, palette, recommendation, surroundings
from .files import benchmark_page_name
from .host import FAILED, HostReport
from .plots import draw
from .svg import inline_svg
from .units import date_text
from .values import visible

ROLES = Path(__file__).resolve().parents[3] / "roles"
TEMPLATES = ROLES / "assess" / "templates"
BENCHMARK_TEMPLATES = ROLES / "benchmark" / "templates"
#: Where the pages of benchmarks lie, seen from those of assessments.
BENCHMARKS = "benchmark"
NO_PLOTS = "Plots were switched off for this page."


class Plot:
    """A kind of plot: its title, and the functions that gather, tell and tabulate its numbers."""

    def __init__(self, kind: str, title: str, gather: Any, words: Any, grid: Any) -> None:
        self.kind = kind
        self.title = title
        self.gather = gather
        self.words = words
        self.grid = grid

    def view(self, report: HostReport, plots: bool) -> dict[str, Any]:
        """The plot for the template: a drawing with its numbers, or a sentence on what is missing."""
        data = self.gather(report)
        view = {"title": self.title, "key": f"plot-{self.kind}", "drawing": "", "missing": "", "grid": None}
        if isinstance(data, figures.Missing):
            return {**view, "missing": data.sentence}
        view["grid"] = self.grid(data)
        if not plots:
            return {**view, "missing": NO_PLOTS}
        # The drawing consists of elements that were made anew from the parsed document: it holds no text that is markup.
        view["drawing"] = Markup(inline_svg(draw(self.kind, data), view["key"], self.title, self.words(data)))
        return view


PLOTS = {
    plot.kind: plot
    for plot in (
        Plot("tables", "Bytes per table at each page size", figures.table_bars, figures.tables_words, figures.tables_grid),
        Plot("pool", "What the buffer pool holds", figures.pool_holdings, figures.pool_words, figures.pool_grid),
        Plot(
            "amplification",
            "Bytes read for the same work",
            figures.read_amplification,
            figures.amplification_words,
            figures.amplification_grid,
        ),
        Plot("widths", "Row widths against the limits", figures.row_widths, figures.widths_words, figures.widths_grid),
    )
}


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Templates in which every value is escaped, and a missing one is an error."""
    found = Environment(
        loader=FileSystemLoader([TEMPLATES, BENCHMARK_TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["moment"] = date_text
    found.globals["style"] = Markup(style())
    found.globals["badges"] = recommendation.BADGES
    return found


def style() -> str:
    """The style sheet, with the colours of both schemes."""
    sheet = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    dark = f"@media (prefers-color-scheme:dark){{:root{{{palette.variables('dark')}}}}}"
    return f":root{{{palette.variables('light')}}}\n{dark}\n{sheet}"


def address(name: str) -> str:
    """The name of a file in the same directory as a relative address."""
    return "./" + quote(name, errors="surrogateescape")


def host_page(report: HostReport, plots: bool = True) -> bytes:
    """The page of a host."""
    source = f"{report.stem}.json"
    view = {"report": report, "outcome": report.outcome, "source": visible(source), "source_address": address(source)}
    if report.outcome == FAILED:
        return environment().get_template("failed.html.j2").render(view).encode()
    view.update(
        headline=recommendation.headline(report),
        glance=recommendation.glance(report),
        sides=recommendation.sides(report),
        measured=recommendation.measured(report),
        measured_address=address(f"{BENCHMARKS}/{benchmark_page_name(report.stem)}"),
        candidates=recommendation.candidate_rows(report),
        blockers=recommendation.blocker_groups(report),
        warnings=recommendation.warning_groups(report),
        space=recommendation.space_facts(report),
        near=recommendation.near_limits(report),
        checks=recommendation.checks(report),
        server=surroundings.server_facts(report),
        settings=surroundings.setting_rows(report),
        io_bound=surroundings.io_bound(report),
        rates=surroundings.rate_rows(report),
        pool=surroundings.pool_facts(report),
        schema=surroundings.schema_facts(report),
        storage=surroundings.storage_groups(report),
        plots={kind: plot.view(report, plots) for kind, plot in PLOTS.items()},
    )
    return environment().get_template("host.html.j2").render(view).encode()


def fleet_page(hosts: list[HostReport], names: dict[str, str], skipped: list[dict[str, str]]) -> bytes:
    """The index of all hosts. names: the page of each host by the stem of its report."""
    script = (TEMPLATES / "fleet.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    pages = {stem: address(name) for stem, name in names.items()}
    view = fleet.fleet_view(hosts, pages, skipped)
    return environment().get_template("fleet.html.j2").render(**view, script=Markup(script), digest=digest).encode()

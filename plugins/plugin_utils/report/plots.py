# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Draws the plots of a host with matplotlib. Everything is in points; a plot is as wide as a column of the page."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError

from .figures import BEST, NOW, OTHER, Bar, Holding, Limit, TableBars, Widths
from .svg import INKS
from .units import NO_BREAK, bytes_text, count_text, ratio_text, share_text, size_text

WIDTH = 360
LINE = 18
TEXT_SIZE = 12.5
SMALL_TEXT_SIZE = 12
BAR_HEIGHT = 0.68
LEFT_MARGIN = 34
VALUE_MARGIN = 126
POINTS_PER_INCH = 72
NAME_LENGTH = 44
#: Limits whose lines would lie closer than this share get one label.
CLOSE = 0.12
TICKS = tuple(4**power for power in range(3, 9))

LIMIT_STYLES = {
    BEST: {"color": INKS["best"], "linewidth": 2.2},
    NOW: {"color": INKS["ink"], "linewidth": 1.4},
    OTHER: {"color": INKS["ink"], "linewidth": 1, "dashes": (3, 2)},
}

SETTINGS = {
    # Text stays text, and the same numbers give the same bytes.
    "svg.fonttype": "none",
    "svg.hashsalt": "pagesmith.innodb",
    # A dollar sign in the name of a table begins no formula.
    "text.parse_math": False,
    "font.size": TEXT_SIZE,
}


@contextmanager
def library() -> Iterator[tuple[type, type]]:
    """The classes Figure and FigureCanvasSVG of matplotlib, with our settings and not those of the user."""
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InnodbError(
            f"The plots need the Python library matplotlib on the controller, and it cannot be loaded: {error}",
            remedy="Install it for the Python that runs Ansible, with 'python3 -m pip install matplotlib' or the package"
            " python3-matplotlib, or set 'plots: false' for pages without plots",
        ) from error
    with matplotlib.rc_context(), warnings.catch_warnings():
        # Only measuring needs a font with the characters of every name; the browser draws them with its own fonts.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield Figure, FigureCanvasSVG


def draw(kind: str, data: Any) -> bytes:
    """The drawing of a plot as an SVG document. kind is a key of PLOTS."""
    return drawing(PLOTS[kind], data)


def drawing(function: Callable[[Any, Any], None], data: Any) -> bytes:
    """What a function draws into a figure, as an SVG document."""
    with library() as (figure_class, canvas_class):
        figure = figure_class()
        canvas_class(figure)
        function(figure, data)
        target = io.BytesIO()
        figure.savefig(target, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return target.getvalue()


def axes(figure: Any, height: float, left: float, right: float, top: float, bottom: float) -> Any:
    """Axes with these margins in a figure of this height."""
    figure.set_size_inches(WIDTH / POINTS_PER_INCH, height / POINTS_PER_INCH)
    return figure.add_axes((left / WIDTH, bottom / height, (WIDTH - left - right) / WIDTH, (height - top - bottom) / height))


def lines(figure: Any, count: float, right: float, longest: float) -> Any:
    """Axes for count lines from the top down, on which bars start at the left; longest: the value as long as the axes are wide."""
    ax = axes(figure, count * LINE + 6, LEFT_MARGIN, right, 3, 3)
    # Ticks would cost most of the time that a plot takes.
    ax.set_axis_off()
    ax.set_ylim(count - 0.5, -0.5)
    ax.set_xlim(0, longest or 1)
    return ax


def write(ax: Any, x: float, y: float, text: str, shift: float = 6, **more: Any) -> None:
    """Text on the line y, which begins shift points to the right of a value."""
    style = {"color": INKS["ink"], "va": "center_baseline", "annotation_clip": False, **more}
    ax.annotate(text, (x, y), (shift, 0), textcoords="offset points", **style)


def heading(ax: Any, y: float, text: str) -> None:
    """Text on a line of its own, from the left edge of the figure."""
    write(ax, 0, y, text, -LEFT_MARGIN)


def label_lines(ax: Any, places: list[float], sizes: list[int]) -> None:
    """Write the page sizes to the left of their lines."""
    for place, size in zip(places, sizes):
        write(ax, 0, place, size_text(size), -4, ha="right", color=INKS["soft"], size=SMALL_TEXT_SIZE)


def shortened(name: str) -> str:
    """The name with its middle left out when it is longer than a line."""
    half = NAME_LENGTH // 2 - 1
    return name if len(name) <= NAME_LENGTH else f"{name[:half]}…{name[-half:]}"


def draw_bars(ax: Any, bars: list[Bar], places: list[float]) -> None:
    ax.barh(places, [one.value for one in bars], BAR_HEIGHT, color=[INKS[one.role] for one in bars])
    for one, place in zip(bars, places):
        if one.error:
            ax.plot([max(one.value - one.error, 0), one.value + one.error], [place, place], color=INKS["ink"], linewidth=1.2)


def draw_tables(figure: Any, groups: list[TableBars]) -> None:
    """For each table its name, and below it a bar for each page size."""
    count = sum(len(group.bars) + 1 for group in groups) + (len(groups) - 1) * 0.4
    ax = lines(figure, count, VALUE_MARGIN, max(one.value + one.error for group in groups for one in group.bars))
    top, places, sizes = 0.0, [], []
    for group in groups:
        heading(ax, top, shortened(group.name))
        own = [top + 1 + number for number in range(len(group.bars))]
        draw_bars(ax, group.bars, own)
        for one, place in zip(group.bars, own):
            error = f" ±{NO_BREAK}{bytes_text(one.error)}" if one.error else ""
            write(ax, one.value + one.error, place, bytes_text(one.value) + error, size=SMALL_TEXT_SIZE)
        places += own
        sizes += [one.size for one in group.bars]
        top = own[-1] + 1.4
    label_lines(ax, places, sizes)


def draw_pool(figure: Any, holdings: list[Holding]) -> None:
    """For each page size a bar of all data, filled as far as the pool holds it, and a line of words above it."""
    count = len(holdings) * 2.6 - 0.6
    ax = lines(figure, count, 6, max(item.data_bytes for item in holdings))
    for number, item in enumerate(holdings):
        top = number * 2.6
        heading(
            ax,
            top,
            f"{share_text(item.share)} of {bytes_text(item.data_bytes)}, in {count_text(item.pages)} pages of {size_text(item.size)}",
        )
        ax.barh([top + 1], [item.data_bytes], BAR_HEIGHT, facecolor="none", edgecolor=INKS[item.role], linewidth=1.2, clip_on=False)
        ax.barh([top + 1], [item.held_bytes], BAR_HEIGHT, color=INKS[item.role])
    label_lines(ax, [number * 2.6 + 1 for number in range(len(holdings))], [item.size for item in holdings])


def draw_amplification(figure: Any, bars: list[Bar]) -> None:
    """A bar for each page size, and a line where today's is."""
    longest = max(1.05, *(one.value for one in bars))
    ax = lines(figure, len(bars) + 1.2, VALUE_MARGIN / 2, longest)
    places = [number + 1.2 for number in range(len(bars))]
    draw_bars(ax, bars, places)
    for one, place in zip(bars, places):
        # A ground of its own, for where the line of today passes.
        ground = {"facecolor": INKS["card"], "edgecolor": "none", "pad": 1}
        write(ax, one.value, place, ratio_text(one.value), size=SMALL_TEXT_SIZE, bbox=ground)
    ax.plot([1, 1], [0.5, len(bars) + 0.7], color=INKS["ink"], linewidth=1, dashes=(3, 2), zorder=1.5)
    ax.text(1, 0, "as today", ha="center", va="center_baseline", color=INKS["soft"], size=SMALL_TEXT_SIZE)
    label_lines(ax, places, [one.size for one in bars])


def draw_widths(figure: Any, widths: Widths) -> None:
    """A histogram over a logarithmic axis, with an upright line at each limit."""
    ax = axes(figure, 220, LEFT_MARGIN, 16, 42, 40)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, colors=INKS["soft"], labelsize=SMALL_TEXT_SIZE)
    ax.set_xscale("log", base=2)
    ax.set_xlim(widths.edges[0], widths.edges[-1])
    ax.set_ylim(0, max(widths.counts) * 1.05)
    ax.grid(axis="y", color=INKS["grid"], linewidth=0.8)
    ax.set_axisbelow(True)
    ax.stairs(widths.counts, widths.edges, fill=True, color=INKS[OTHER])
    ax.set_xticks(TICKS, [bytes_text(tick) for tick in TICKS])
    ax.minorticks_off()
    ax.yaxis.get_major_locator().set_params(integer=True, nbins=4)
    ax.set_xlabel("declared bytes of a row", color=INKS["soft"], size=SMALL_TEXT_SIZE, labelpad=6)
    above = ax.get_xaxis_transform()
    ax.text(-LEFT_MARGIN / (WIDTH - LEFT_MARGIN - 16), 1.16, "tables", transform=ax.transAxes, color=INKS["soft"], size=SMALL_TEXT_SIZE)
    ax.text(0.99, 1.16, "largest record by page size", transform=ax.transAxes, ha="right", color=INKS["soft"], size=SMALL_TEXT_SIZE)
    for limit in widths.limits:
        ax.plot([limit.limit_bytes] * 2, [0, 1], transform=above, **LIMIT_STYLES[limit.role])
    for place, label in limit_labels(widths.limits):
        # One of several sizes would run into its neighbour on the left.
        side = "left" if "," in label else "center"
        ax.text(place, 1.04, label, transform=above, ha=side, color=INKS["ink"], size=SMALL_TEXT_SIZE)


def limit_labels(limits: list[Limit]) -> list[tuple[float, str]]:
    """Where the page sizes are written over their lines; lines that lie close to one another share a label."""
    labels: list[tuple[float, str]] = []
    for limit in sorted(limits, key=lambda limit: (limit.limit_bytes, limit.size)):
        if labels and limit.limit_bytes < labels[-1][0] * (1 + CLOSE):
            labels[-1] = (labels[-1][0], f"{labels[-1][1]}, {size_text(limit.size)}")
        else:
            labels.append((limit.limit_bytes, size_text(limit.size)))
    return labels


PLOTS = {
    "tables": draw_tables,
    "pool": draw_pool,
    "amplification": draw_amplification,
    "widths": draw_widths,
}

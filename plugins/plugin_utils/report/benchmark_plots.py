# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Draws the plots of a benchmark with matplotlib: lines over threads with spread bars, and bars of page sizes."""

from __future__ import annotations

from typing import Any

from .benchmark import Curves
from .figures import BEST, NOW, Bar
from .plots import SMALL_TEXT_SIZE, VALUE_MARGIN, axes, draw_bars, label_lines, lines, write
from .svg import INKS
from .units import size_text

HEIGHT = 232
#: Page sizes are told apart by their dashes and their labels, not by colour alone.
DASHES = {4096: (1, 2), 8192: (5, 2), 16384: (), 32768: (5, 2, 1, 2), 65536: (9, 2)}
#: Labels at the ends of lines keep this distance, in parts of the height.
LABEL_DISTANCE = 0.085
HEADROOM = 1.12


def draw_curves(figure: Any, data: Curves) -> None:
    """A line for each page size over the numbers of threads, with a bar for the spread at each point."""
    ax = axes(figure, HEIGHT, 62, 40, 16, 44)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, colors=INKS["soft"], labelsize=SMALL_TEXT_SIZE)
    threads = sorted({point.threads for line in data.lines for point in line.points})
    highest = max(point.median + point.spread for line in data.lines for point in line.points) or 1
    ax.set_xscale("log", base=2)
    ax.set_xlim(threads[0] / 1.25, threads[-1] * 1.25)
    ax.set_ylim(0, highest * HEADROOM)
    ax.set_xticks(threads, [f"{count:g}" for count in threads])
    ax.minorticks_off()
    ax.yaxis.get_major_locator().set_params(nbins=5)
    ax.yaxis.set_major_formatter(lambda value, _place: data.figure.write(value))
    ax.grid(axis="y", color=INKS["grid"], linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set_xlabel("threads", color=INKS["soft"], size=SMALL_TEXT_SIZE, labelpad=6)
    # What matters is drawn last, above the others.
    for line in sorted(data.lines, key=lambda line: (line.role == NOW, line.role == BEST)):
        places, values = [point.threads for point in line.points], [point.median for point in line.points]
        width = 2.4 if line.role == BEST else 1.6
        ax.plot(places, values, color=INKS[line.role], linewidth=width, dashes=DASHES[line.size], marker="o", markersize=4)
        for point in line.points:
            ends = [max(point.median - point.spread, 0), point.median + point.spread]
            ax.plot([point.threads] * 2, ends, color=INKS[line.role], linewidth=1.2)
    for place, line in label_places(data, highest * HEADROOM):
        write(ax, line.points[-1].threads, place, size_text(line.size), 10, color=INKS["ink"], size=SMALL_TEXT_SIZE)


def label_places(data: Curves, top: float) -> list[tuple[float, Any]]:
    """Where the labels stand: at the ends of their lines, but apart from one another."""
    placed: list[tuple[float, Any]] = []
    for line in sorted(data.lines, key=lambda line: line.points[-1].median):
        place = line.points[-1].median
        if placed:
            place = max(place, placed[-1][0] + LABEL_DISTANCE * top)
        placed.append((place, line))
    return placed


def draw_size_bars(figure: Any, data: tuple[Any, list[Bar]]) -> None:
    """A bar for each page size with its value. data: how a value is written, and the bars."""
    text_of, bars = data
    ax = lines(figure, len(bars), VALUE_MARGIN, max(one.value + one.error for one in bars))
    places = [float(number) for number in range(len(bars))]
    draw_bars(ax, bars, places)
    for one, place in zip(bars, places):
        write(ax, one.value + one.error, place, text_of(one.value), size=SMALL_TEXT_SIZE)
    label_lines(ax, places, [one.size for one in bars])


PLOTS = {"curves": draw_curves, "size_bars": draw_size_bars}

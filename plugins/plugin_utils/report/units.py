# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Numbers as a person reads them. Sizes are bytes, times seconds, shares 0..1; None is written as not known."""

from __future__ import annotations

import datetime
import math

from markupsafe import Markup

from ansible_collections.pagesmith.innodb.plugins.module_utils import page_size

UNKNOWN = "not known"
NO_BREAK = "\u00a0"  # a number and its unit stay on one line
BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
SPANS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def significant(value: float) -> str:
    """Three digits that count: 4.62, 46.2, 462, 1,023."""
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    written = f"{value:,.{digits}f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


def count_text(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f}" if value == int(value) else significant(value)


def bytes_text(value: float | None) -> str:
    """46.2 GiB."""
    if value is None:
        return UNKNOWN
    exponent = 0
    # What rounds up to 1,024 is written in the next unit.
    while abs(value) >= 1023.5 and exponent < len(BINARY_UNITS) - 1:
        value /= 1024
        exponent += 1
    sign = "-" if value < 0 else ""
    return f"{sign}{significant(abs(value))}{NO_BREAK}{BINARY_UNITS[exponent]}"


def share_text(value: float | None) -> str:
    """94.2 %."""
    if value is None:
        return UNKNOWN
    percent = value * 100
    # A hit ratio of 99.96 % must not be read as perfect, nor one of 99.999 %.
    return f"{math.floor(percent * 100) / 100:.2f}{NO_BREAK}%" if 99.5 <= percent < 100 else f"{significant(percent)}{NO_BREAK}%"


def change_text(before: float | None, after: float | None) -> str:
    """+12 %, from before to after; empty when it cannot be said."""
    if not before or after is None:
        return ""
    percent = (after - before) / before * 100
    if abs(percent) < 0.5:
        return "as now"
    return f"{percent:+,.0f}{NO_BREAK}%"


def ratio_text(value: float | None) -> str:
    return UNKNOWN if value is None else f"{significant(value)}{NO_BREAK}×"


def duration_text(value: float | None) -> str:
    """The two largest units: 41 d 3 h."""
    if value is None:
        return UNKNOWN
    rest = int(value)
    parts = []
    for unit, seconds in SPANS:
        whole, rest = divmod(rest, seconds)
        if whole or (unit == "s" and not parts):
            parts.append(f"{whole}{NO_BREAK}{unit}")
        elif parts:
            break
    return " ".join(parts[:2])


def date_text(written: str) -> str:
    """2026-11-30 14:05 UTC from an ISO date; as it is when it is none."""
    try:
        moment = datetime.datetime.fromisoformat(written.replace("Z", "+00:00"))
    except ValueError:
        return written
    zone = f" {moment.tzname()}" if moment.tzinfo else ""
    return f"{moment:%Y-%m-%d %H:%M}{zone}"


def size_text(value: int | None) -> str:
    """A page size: 8k."""
    return page_size.label(value) if value else UNKNOWN


def bytes_markup(value: float | None) -> Markup:
    """The size in a fitting unit, with the exact one in its title."""
    if value is None:
        return Markup('<span class="unknown">{}</span>').format(UNKNOWN)
    return Markup('<span title="{:,.0f} bytes">{}</span>').format(value, bytes_text(value))

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The colours of the pages and the plots, for light and for dark surroundings, and what must be legible on what."""

from __future__ import annotations

from typing import NamedTuple

#: Least contrast by WCAG 2.2 level AA: of text, and of what is drawn.
TEXT_CONTRAST = 4.5
GRAPHIC_CONTRAST = 3.0


class Colour(NamedTuple):
    light: str
    dark: str


class Pair(NamedTuple):
    """Colour `front` stands on colour `back`, and needs this contrast at least."""

    front: str
    back: str
    contrast: float


COLOURS = {
    "page": Colour("#fbfbf9", "#15181c"),
    "card": Colour("#ffffff", "#1d2126"),
    "ink": Colour("#1d2229", "#e6e8eb"),
    "soft": Colour("#565e69", "#a4acb7"),
    "rule": Colour("#dcdeda", "#343a42"),
    "link": Colour("#0b5a94", "#7cc0f4"),
    # Plots: the size of today, the one that is recommended, the other candidates.
    "now": Colour("#5b6675", "#9aa5b4"),
    "best": Colour("#0b6fb8", "#58aef0"),
    "other": Colour("#8a919b", "#747c88"),
    "grid": Colour("#e3e5e1", "#31373f"),
    # Outcomes, each as the text of a badge and its ground.
    "change": Colour("#0a4f86", "#9dd0fa"),
    "change-ground": Colour("#e1effa", "#14324c"),
    "stay": Colour("#26583a", "#a3d9b5"),
    "stay-ground": Colour("#e3f1e7", "#183626"),
    "blocked": Colour("#744504", "#f0c27c"),
    "blocked-ground": Colour("#fbeed5", "#43300f"),
    "failed": Colour("#8d1f1b", "#f5b0aa"),
    "failed-ground": Colour("#fae4e2", "#4b1f1d"),
}

OUTCOME_COLOURS = ("change", "stay", "blocked", "failed")

PAIRS = (
    *(Pair(front, back, TEXT_CONTRAST) for front in ("ink", "soft", "link") for back in ("page", "card")),
    *(Pair(name, f"{name}-ground", TEXT_CONTRAST) for name in OUTCOME_COLOURS),
    *(Pair("ink", f"{name}-ground", TEXT_CONTRAST) for name in OUTCOME_COLOURS),
    *(Pair("soft", f"{name}-ground", TEXT_CONTRAST) for name in OUTCOME_COLOURS),
    *(Pair(name, "card", TEXT_CONTRAST) for name in OUTCOME_COLOURS),
    *(Pair(front, "card", GRAPHIC_CONTRAST) for front in ("now", "best", "other")),
)


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb by WCAG 2.2, 0 for black and 1 for white."""
    channels = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast of two colours by WCAG 2.2, 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def variables(scheme: str) -> str:
    """The declarations of CSS variables for C(light) or C(dark)."""
    return "".join(f"--{name}:{getattr(colour, scheme)};" for name, colour in COLOURS.items())

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The colours of the pages: legible by computation, in light and in dark, and none beside the table."""

from __future__ import annotations

import re

import pytest

from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report import palette, svg
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report.pages import TEMPLATES, style


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("pair", palette.PAIRS, ids=lambda pair: f"{pair.front} on {pair.back}")
def test_contrast(pair, scheme):
    front, back = (getattr(palette.COLOURS[name], scheme) for name in (pair.front, pair.back))
    assert palette.contrast(front, back) >= pair.contrast


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("#000000", "#ffffff", 21), ("#ffffff", "#ffffff", 1), ("#777777", "#ffffff", 4.48), ("#0000ff", "#ffffff", 8.59)],
)
def test_contrast_is_that_of_the_guidelines(one, other, expected):
    there, back = (palette.contrast(*pair) for pair in ((one, other), (other, one)))
    assert there == back == pytest.approx(expected, abs=0.005)


def test_every_colour_in_use_is_in_the_table():
    sheet = (TEMPLATES / "report.css").read_text()
    assert not re.search(r"#[0-9a-f]{3,8}\b", re.sub(r"#find", "", sheet)), "a colour that is not in the table"
    used = set(re.findall(r"var\(--([\w-]+)\)", sheet)) - {"sans", "mono"}
    assert used | set(svg.INKS) <= set(palette.COLOURS)
    assert set(palette.COLOURS) <= used | set(svg.INKS)


def test_every_coloured_text_of_the_sheet_is_among_the_pairs():
    texts = set(re.findall(r"(?<![\w-])color: var\(--([\w-]+)\)", (TEMPLATES / "report.css").read_text()))
    assert texts <= {pair.front for pair in palette.PAIRS if pair.contrast == palette.TEXT_CONTRAST}


def test_both_schemes_are_declared():
    sheet = style()
    assert sheet.startswith(":root{--page:#fbfbf9;")
    assert "@media (prefers-color-scheme:dark){:root{--page:#15181c;" in sheet

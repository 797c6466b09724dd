# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Numbers as a person reads them, and values out of reports that may hold anything."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report import units, values


def plain(text: str) -> str:
    """With spaces where a line must not break."""
    return text.replace(units.NO_BREAK, " ")


def test_a_number_and_its_unit_stay_together():
    assert units.bytes_text(1536) == "1.5\u00a0KiB"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1,023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1 MiB"),
        (49_603_870_720, "46.2 GiB"),
        (1023.4 * 1024**3, "1,023 GiB"),
        (1024**4, "1 TiB"),
        (5 * 1024**7, "5,120 EiB"),
        (None, "not known"),
    ],
)
def test_bytes(value, text):
    assert plain(units.bytes_text(value)) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.942, "94.2 %"), (1.0, "100 %"), (0.9996, "99.96 %"), (0.99999, "99.99 %"), (0, "0 %"), (None, "not known")]
)
def test_share(value, text):
    assert plain(units.share_text(value)) == text


@pytest.mark.parametrize(
    ("before", "after", "text"), [(100, 112, "+12 %"), (100, 70, "-30 %"), (1000, 1001, "as now"), (0, 5, ""), (None, 5, ""), (5, None, "")]
)
def test_change(before, after, text):
    assert plain(units.change_text(before, after)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 s"), (59.9, "59 s"), (60, "1 min"), (3_574_800, "41 d 9 h"), (86_400, "1 d"), (86_460, "1 d"), (None, "not known")],
)
def test_duration(value, text):
    assert plain(units.duration_text(value)) == text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("2026-11-30T14:05:12Z", "2026-11-30 14:05 UTC"),
        ("2026-11-30T14:05:12+01:00", "2026-11-30 14:05 UTC+01:00"),
        ("2026-11-30 14:05:12", "2026-11-30 14:05"),
        ("soon", "soon"),
    ],
)
def test_date(written, text):
    assert units.date_text(written) == text


@pytest.mark.parametrize(("value", "text"), [(5, "5"), (1234567, "1,234,567"), (2.84, "2.84"), (20120.5, "20,120"), (None, "not known")])
def test_count(value, text):
    assert units.count_text(value) == text


def test_markup_keeps_the_exact_bytes():
    assert units.bytes_markup(1536) == '<span title="1,536 bytes">1.5\u00a0KiB</span>'


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain", "plain"),
        ("größe 表 😀", "größe 表 😀"),
        ("two\nlines\tand more", "two lines and more"),
        ("\x00\x1b[31m", "\\u0000\\u001b[31m"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("\ud800", "\\ud800"),
        ("a\u2028b\ufffe", "a\\u2028b\\ufffe"),
        ("\u00a0", "\u00a0"),
    ],
)
def test_visible(given, shown):
    assert values.visible(given) == shown
    assert values.cleaned({given: [given, 1, None]}) == {shown: [shown, 1, None]}


@pytest.mark.parametrize("value", [True, "8", None, float("nan"), float("inf"), 10**400, [], {}])
def test_what_is_no_number(value):
    assert values.number({"a": value}, "a") is None


def test_amounts_and_page_sizes():
    assert (values.number({"a": -1}, "a"), values.amount({"a": -1}, "a"), values.amount({"a": {"b": 2.5}}, "a", "b")) == (-1, None, 2.5)
    assert (values.page_size({"a": 8192}, "a"), values.page_size({"a": 8193}, "a"), values.page_size({"a": "8192"}, "a")) == (
        8192,
        None,
        None,
    )
    assert list(values.by_page_size({"a": {"16384": {}, "4096": {}, "12": {}, "x": {}, "8192": 3}}, "a")) == [4096, 16384]

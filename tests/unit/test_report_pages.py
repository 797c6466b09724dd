# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The pages of an assessment: whole, safe, the same each time, and about what the reports say."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report import figures, files, pages, recommendation
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report.host import HostReport
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report.values import cleaned

REPORTS = Path(__file__).parent / "fixtures" / "report"
HOSTS = {report.stem: report for report in files.read_reports(str(REPORTS)).hosts}
VOID = {"meta", "br", "img", "input", "hr", "link"}
#: Elements of drawings, which may close themselves.
DRAWN = {"path", "use", "rect", "g", "defs"}
ADDRESSES = ("href", "src", "action", "formaction", "xlink:href", "data")


class Page(HTMLParser):
    """A page as elements and texts; it fails on an element that is not closed where it belongs."""

    def __init__(self, content: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.by_id: dict[str, str] = {}
        self.feed(content.decode())
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in DRAWN, f"<{tag}/> is no empty element of HTML"
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def rendered():
    return {stem: pages.host_page(report) for stem, report in HOSTS.items()}


@pytest.fixture(scope="module")
def index():
    hosts = list(HOSTS.values())
    return pages.fleet_page(hosts, files.page_names(hosts), [])


def test_pages_are_well_formed_and_hold_nothing_foreign(rendered, index):
    for name, content in {**rendered, "index": index}.items():
        page = Page(content)
        ids = [attributes["id"] for _tag, attributes in page.elements if "id" in attributes]
        assert sorted(set(ids)) == sorted(ids), name
        for tag, attributes in page.elements:
            assert not [key for key in attributes if key.startswith("on")], (name, tag)
            for key in ADDRESSES:
                assert attributes.get(key, "#").startswith(("#", "./")), (name, tag, attributes)
        assert "script" not in {tag for tag, _attributes in page.elements} or name == "index"
        assert not re.search(rb"@import|https?://", content), name
        assert not re.search(rb"url\((?!#)", content), name


def test_every_reference_within_a_page_has_its_target(rendered, index):
    for name, content in {**rendered, "index": index}.items():
        page = Page(content)
        ids = {attributes["id"] for _tag, attributes in page.elements if "id" in attributes}
        for _tag, attributes in page.elements:
            wanted = {attributes["href"][1:]} if (attributes.get("href") or "").startswith("#") else set()
            for key in ("aria-labelledby", "aria-describedby"):
                wanted |= set((attributes.get(key) or "").split())
            wanted |= set(re.findall(r"url\(#([^)]+)\)", " ".join(str(value) for value in attributes.values())))
            assert wanted <= ids, (name, attributes)


def test_the_same_reports_give_the_same_pages(rendered, index):
    assert {stem: pages.host_page(report) for stem, report in HOSTS.items()} == rendered
    hosts = list(HOSTS.values())
    assert pages.fleet_page(hosts, files.page_names(hosts), []) == index


def test_names_that_are_markup_stay_text(rendered, index):
    page = Page(rendered["hostile-db1"])
    assert "img" not in {tag for tag, _attributes in page.elements}
    assert page.text.count("<script>alert(1)</script>") > 5
    assert "{{ 7*7 }}" in page.text
    assert '"><img src=x onerror=alert(1)>' in page.text
    assert '"><img src=x onerror=alert(1)>' in Page(index).text
    # What would turn the direction of the text, or end it, is written as its number.
    assert "a.$x_{2}$ & \\u202egnp.exe" in page.text
    assert "\\ud800\\u0000\\u001b[31m" in page.text
    assert "\u202e" not in page.text


def test_pages_allow_no_script_but_the_one_of_the_index(rendered, index):
    def policy(content):
        return next(meta["content"] for meta in Page(content).all("meta") if meta.get("http-equiv") == "Content-Security-Policy")

    assert all(policy(content) == "default-src 'none'; style-src 'unsafe-inline'" for content in rendered.values())
    assert re.search(r"script-src 'sha256-[\w+/]{43}='$", policy(index))


@pytest.mark.parametrize("stem", ["shop-db1", "ledger-db1", "warehouse-db1", "zabbix-db1"])
def test_drawings_are_told_to_those_who_listen(rendered, stem):
    content = rendered[stem].decode()
    drawings = re.findall(r"<svg.*?</svg>", content, re.DOTALL)
    assert len(drawings) == 4
    for drawing in drawings:
        page = Page(drawing.encode())
        (svg,) = page.all("svg")
        assert svg["role"] == "img"
        title, words = svg["aria-labelledby"].split()
        assert re.search(rf'<title id="{title}">[^<]{{10,}}</title>', drawing)
        assert re.search(rf'<desc id="{words}">[^<]{{40,}}\.</desc>', drawing)


@pytest.mark.parametrize("stem", sorted(HOSTS))
def test_drawings_have_colours_of_the_page_and_text_as_text(rendered, stem):
    for drawing in re.findall(r"<svg.*?</svg>", rendered[stem].decode(), re.DOTALL):
        assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?!-)", re.sub(r"url\(#[^)]+\)|href=\"#[^\"]+\"", "", drawing))
        assert "<text" in drawing
        assert "DejaVu" not in drawing
        assert not re.search(r"\d{4}-\d\d-\d\dT", drawing)


def test_the_page_tells_a_change_and_both_sides(rendered):
    text = Page(rendered["shop-db1"]).text
    for expected in (
        "Move to 8k pages",
        "Page size now 16k",
        "Recommended 8k",
        "For 8k",
        "Against 8k",
        "Source: Percona XtraDB 5.5.23, data 4 times the pool",
        "Expected at 8k",
        "shop.products declares 3,120 of 4,011 bytes",
        "512 B logical, 4 KiB physical",
        "The server is bound by I/O",
        "Rows outside of the samples",
    ):
        assert expected in text, expected


def test_the_page_tells_blockers_with_their_remedies(rendered):
    text = Page(rendered["zabbix-db1"]).text
    assert text.index("At 8k: 3 objects") < text.index("At 4k: 4 objects"), "the more attractive size comes first"
    assert "1071 Specified key was too long; max key length is 1536 bytes" in text
    assert "ADD KEY items_8 (key_(384)) (tried on the private server)" in text
    assert "Remedy: none is known" in text


def test_sizes_have_their_exact_bytes(rendered):
    assert f'title="{HOSTS["shop-db1"].data_bytes:,} bytes">84.5\u00a0GiB<' in rendered["shop-db1"].decode()


def test_a_server_that_is_down_has_sentences_for_its_plots(rendered):
    text = Page(rendered["archive-db2"]).text
    assert text.count("not shown, because") == 4
    assert "Facts of schema: the server is not running" in text
    assert "nothing was rehearsed on this host" in text
    assert b"<svg" not in rendered["archive-db2"]


def test_a_failed_host_says_why(rendered):
    text = Page(rendered["cms-db4"]).text
    assert "could not be assessed" in text
    assert "Name the server with innodb_instance." in text


@pytest.mark.parametrize("part", ["facts", "rehearsal"])
@pytest.mark.parametrize("stem", sorted(HOSTS))
def test_a_page_comes_out_without_a_part(stem, part):
    """And without a blocker, which has a sentence of its own."""
    data = json.loads((REPORTS / f"{stem}.json").read_text(encoding="utf-8"))
    data.pop(part, None)
    for candidate in data.get("decision", {}).get("candidates", {}).values():
        candidate["blockers"] = []
    assert len(Page(pages.host_page(HostReport(stem, cleaned(data), HOSTS[stem].error), plots=False)).all("h1")) == 1


def test_without_plots_the_numbers_stay():
    page = Page(pages.host_page(HOSTS["shop-db1"], plots=False))
    assert not page.all("svg")
    assert page.text.count(pages.NO_PLOTS) == 4
    assert "36.2 GiB ± 967 MiB" in page.text


def test_index_groups_and_orders(index):
    page = Page(index)
    text = page.text
    places = [text.index(f"{title} {count} host") for title, count in (("Change", 2), ("Blocked", 1), ("Stay", 3), ("Not assessed", 1))]
    assert places == sorted(places)
    assert "16k to 4k: 1; 16k to 8k: 1" in text
    assert text.index("ledger-db1") < text.index("shop-db1")
    assert "./shop-db1.html" in {link["href"] for link in page.all("a")}
    assert "assessed 2026-11-30 14:05 UTC to" in text


def test_index_of_many_hosts():
    hosts = [HostReport(f"db{number:03}", HOSTS["shop-db1"].data | {"host": f"db{number:03}"}) for number in range(400)]
    page = Page(pages.fleet_page(hosts, files.page_names(hosts), [{"file": "other.json", "reason": "It is <b>else</b>."}]))
    assert "Change 400 hosts" in page.text
    assert "From 16k to 8k: 400." in page.text
    assert "other.json : It is <b>else</b>." in page.text


def test_index_of_nothing():
    assert "There is no report of an assessment" in Page(pages.fleet_page([], {}, [])).text


def shapes(value, path=()):
    """Every place of a report, as a path of keys and indexes."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from shapes(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value[:1]):
            yield from shapes(item, (*path, number))


def with_value(value, path, new):
    """A copy of the report with another value at a place."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = with_value(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("new", [None, "text", -1, float("inf"), [[1]], {"8192": 1}], ids=lambda value: str(value)[:12])
def test_a_page_comes_out_of_anything(new):
    data = HOSTS["zabbix-db1"].data
    data = {**data, "rehearsal": {"page_sizes": {"8192": data["rehearsal"]["page_sizes"]["8192"]}, "checked": ["a"]}}
    data = with_value(data, ("facts", "schema", "table_list"), data["facts"]["schema"]["table_list"][:1])
    for path in shapes(data):
        if path:
            report = HostReport("x", cleaned(with_value(data, path, new)))
            assert pages.host_page(report, plots=False).endswith(b"</html>")
            pages.fleet_page([report], files.page_names([report]), [])


ALL = [4096, 8192, 16384, 32768, 65536]


@pytest.mark.parametrize(
    ("favours", "against", "change", "stay"),
    [
        ([8192], [], 1, 1),
        ([8192, 4096], [16384], 1, 1),
        ([], [16384], 1, 1),
        ([], [4096], 0, 1),
        ([], [8192], -1, -1),
        ([4096], [8192], -1, -1),
        ([4096], [], -1, -1),
        ([16384], [4096, 8192], -1, -1),
        ([8192, 16384], [], 0, 1),
        ([8192], [8192], 0, 0),
        ([], [], 0, 0),
        (ALL, [], 0, 0),
        ([], ALL, 0, 0),
    ],
)
def test_direction_of_a_reason(favours, against, change, stay):
    assert recommendation.direction(8192, 16384, favours, against) == change
    assert recommendation.direction(8192, 8192, favours, against) == stay


@pytest.mark.parametrize(
    ("decision", "outcome"),
    [
        ({"recommended": 8192, "stay": False}, "change"),
        ({"recommended": 8192}, "change"),
        ({"recommended": 8192, "stay": False, "candidates": {"8192": {"allowed": False}}}, "blocked"),
        ({"recommended": 16384, "stay": True}, "stay"),
        ({"recommended": 16384, "stay": True, "without_blockers": 8192}, "blocked"),
        ({"recommended": 16384, "stay": True, "without_blockers": 16384}, "stay"),
        ({"recommended": None, "stay": True, "without_blockers": None}, "stay"),
        ({"stay": True, "candidates": {"8192": {"allowed": False, "score": 2}, "16384": {"allowed": True, "score": 0}}}, "blocked"),
        ({"stay": True, "candidates": {"8192": {"allowed": False, "score": -2}, "16384": {"allowed": True, "score": 0}}}, "stay"),
        ({"stay": True, "candidates": {"8192": {"allowed": False}, "16384": {"allowed": True}}}, "stay"),
    ],
    ids=range(10),
)
def test_outcome(decision, outcome):
    assert HostReport("x", {"facts": {"page_size": 16384}, "decision": decision}).outcome == outcome


def test_blockers_of_decision_and_rehearsal_are_one():
    eight = HOSTS["zabbix-db1"].candidates[8192]
    assert [blocker["object"] for blocker in eight.blockers] == ["zabbix.items", "zabbix.media_type", "zabbix.images"]
    assert eight.blockers[0]["before"] == "KEY items_8 (key_)"


def test_largest_tables_and_the_rest():
    groups = figures.table_bars(HOSTS["shop-db1"])
    assert [len(group.bars) for group in groups] == [3] * 9
    assert groups[-1].name == "6 other tables"
    assert sum(group.bars[2].value for group in groups) == HOSTS["shop-db1"].data_bytes
    first = json.loads((REPORTS / "shop-db1.json").read_text())["rehearsal"]["page_sizes"]["8192"]["per_table"]["shop.order_items"]
    assert (groups[0].bars[1].value, groups[0].bars[1].error) == (first["predicted_bytes"], first["error_bytes"])


def test_holdings_of_the_pool():
    holdings = {item.size: item for item in figures.pool_holdings(HOSTS["warehouse-db1"])}
    assert holdings[16384].share == 1.0
    shop = {item.size: item for item in figures.pool_holdings(HOSTS["shop-db1"])}
    assert shop[8192].pages == 12 * 1024**3 // 8192
    assert shop[16384].held_bytes == 12 * 1024**3


def test_widths_count_every_table():
    widths = figures.row_widths(HOSTS["shop-db1"])
    assert sum(widths.counts) == 14
    assert widths.over == {4096: 3, 8192: 0, 16384: 0}


def test_many_page_sizes_leave_fewer_tables():
    groups = figures.table_bars(HOSTS["warehouse-db1"])
    assert [len(group.bars) for group in groups] == [5] * len(groups)
    assert len(groups) == 5

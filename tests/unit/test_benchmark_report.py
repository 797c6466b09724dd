# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The pages of benchmarks, the comparison of two, and how an assessment takes one."""

from __future__ import annotations

import copy
import json
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.pagesmith.innodb.plugins.action.benchmark_report import write_pages
from ansible_collections.pagesmith.innodb.plugins.filter.reports import assessment, earlier_benchmark
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.measured import applicable
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report import benchmark, pages
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report.benchmark_pages import Result, index_page, result_page
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report.host import HostReport

FIXTURE = Path(__file__).parent / "fixtures" / "benchmark" / "db1.json"
ASSESSED = Path(__file__).parent / "fixtures" / "report" / "shop-db1.json"
DATA = json.loads(FIXTURE.read_text(encoding="utf-8"))


@pytest.fixture
def data() -> dict:
    return copy.deepcopy(DATA)


class Outline(HTMLParser):
    """The elements and texts of a page; all of its elements have to be closed in order."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.feed(content.decode())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.addresses += [given[name] for name in ("href", "src") if name in given]

    def handle_data(self, data):
        self.text += data


def test_page_holds_conclusion_figures_and_what_it_takes_to_repeat_it(data):
    page = Outline(result_page(Result("db1", data)))
    assert data["conclusion"] in page.text and "Another page size is faster" in page.text
    for words in (
        "±",
        "faster (+50%)",
        "Blocks of the log",
        "innodb_flush_log_at_trx_commit",
        "--innodb-page-size=4096",
        data["circumstances"][2],
    ):
        assert words in page.text
    # For each of two sizes of the data: two curves, three bars; and the bytes on disk.
    assert page.tags.count("svg") == 2 * 6
    assert len(page.ids) == len(set(page.ids)) and "script" not in page.tags
    assert all(address.startswith(("./", "#")) for address in page.addresses)


def test_page_tells_what_was_replayed(data):
    data["replay"] = {"kinds": [{"text": "SELECT a FROM t WHERE id = ?", "weight": 1200}], "left_out": {"its kind is rare": 3}}
    page = Outline(result_page(Result("db1", data), plots=False)).text
    for words in ("The host's own statements", "1,200replayedSELECT a FROM t WHERE id = ?", "3left outits kind is rare"):
        assert words in page
    del data["replay"]
    assert "The host's own statements" not in Outline(result_page(Result("db1", data), plots=False)).text


def test_the_same_result_gives_the_same_page(data):
    assert result_page(Result("db1", data)) == result_page(Result("db1", data))


def test_page_without_plots_has_the_numbers(data):
    page = Outline(result_page(Result("db1", data), plots=False))
    assert "svg" not in page.tags and "faster (+50%)" in page.text


def test_markup_in_a_result_stays_text(data):
    data["figures"][0]["load"] = data["conclusion"] = "<script>alert(1)</script>"
    assert "script" not in Outline(result_page(Result("db1", data), plots=False)).tags


@pytest.mark.parametrize(
    "part", ["figures", "datasets", "by_data", "machine", "storage", "plan", "log_blocks", "commands", "settings", "circumstances"]
)
@pytest.mark.parametrize("value", [None, [], {}, "words", 7, [None, {"load": 1, "variants": {"4096": 1}}]])
def test_a_result_with_odd_parts_has_a_page(data, part, value):
    data[part] = value
    assert result_page(Result("db1", data), plots=False)


def test_outcome(data):
    assert benchmark.outcome(data) == "change"
    data["by_data"]["4"]["4096"]["spread"] = data["by_data"]["4"]["8192"]["spread"] = 200
    assert benchmark.outcome(data) == "stay"


def test_comparison_of_two_runs(data):
    before = copy.deepcopy(data)
    before["figures"][2]["variants"]["16384"]["transactions_per_second"] = {"median": 100, "spread": 4}
    before["settings"]["innodb_flush_log_at_trx_commit"], before["version"] = "2", "10.11.18"
    found = benchmark.comparison(before, data)
    changed = [row for row in found["grid"].rows if "no difference" not in row[-1]]
    assert [(row[1], row[2], row[3], row[-1]) for row in changed] == [("4", "1", "16k", "faster (+100%)")]
    assert found["circumstances"] == ["Server: 10.11.18 then, 10.11.19 now", "innodb_flush_log_at_trx_commit: 2 then, 1 now"]


def test_runs_that_share_nothing(data):
    before = {**copy.deepcopy(data), "figures": []}
    assert benchmark.compared(before, data).rows == []
    assert "have no load" in Outline(result_page(Result("db1", data), False, before)).text


def test_pages_are_written_once(tmp_path):
    shutil.copy(FIXTURE, tmp_path)
    options = {"report_dir": str(tmp_path), "hosts": None, "index": True, "plots": False, "compare": None}
    assert write_pages(options, check_mode=True)["changed"] and len(list(tmp_path.iterdir())) == 1
    assert write_pages(options, check_mode=False)["written"] == [str(tmp_path / "db1.html"), str(tmp_path / "index.html")]
    assert write_pages(options, check_mode=False) == {"changed": False, "written": []}
    compared = write_pages({**options, "compare": str(FIXTURE)}, check_mode=False)
    assert compared["written"] == [str(tmp_path / "db1.html")]


def test_hosts_and_files_that_are_not_there(tmp_path):
    options = {"report_dir": str(tmp_path), "hosts": ["db9"], "index": True, "plots": False, "compare": None}
    with pytest.raises(InnodbError, match="no benchmark of db9"):
        write_pages(options, check_mode=False)
    (tmp_path / "db9.json").write_text("[]")
    with pytest.raises(InnodbError, match="is not the result of a benchmark"):
        write_pages(options, check_mode=False)


def test_index_names_every_host(data):
    page = Outline(index_page([Result("db1", data), Result("index", data)]))
    assert page.addresses == ["./db1.html", "./index-host.html"] and page.text.count(data["conclusion"]) == 2


def now(data_to_pool=None, hit_ratio=None, working_set_to_pool=None) -> dict:
    return {"data_to_pool": data_to_pool, "hit_ratio": hit_ratio, "working_set_to_pool": working_set_to_pool}


@pytest.mark.parametrize(
    ("server", "used"),
    [
        (now(0.3), 0.5),
        (now(9.0), 4),
        (now(9.0, hit_ratio=0.9999), 0.5),
        (now(9.0, hit_ratio=0.95), 4),
        (now(9.0, working_set_to_pool=0.6), 0.5),
    ],
)
def test_that_size_of_the_data_counts_which_is_like_the_servers(data, server, used):
    found = applicable(data, server)
    assert found["data_to_pool"] == used and found["page_sizes"] == data["by_data"][f"{used:g}"]


def test_no_size_of_the_data_is_like_the_servers(data):
    del data["by_data"]["4"]
    assert applicable(data, now(9.0))["page_sizes"] == {}


@pytest.mark.parametrize("given", [None, 7, {"page_sizes": {"8192": {}}}, {"by_data": 3, "page_sizes": {}}])
def test_other_benchmarks_are_taken_as_they_are(given):
    assert applicable(given, now(9.0)) is given


def test_an_assessment_finds_a_benchmark(tmp_path):
    assert earlier_benchmark(str(tmp_path), "db1") == {}
    (tmp_path / "benchmark").mkdir()
    shutil.copy(FIXTURE, tmp_path / "benchmark")
    found = earlier_benchmark(str(tmp_path), "db1")
    assert found["by_data"] == DATA["by_data"]
    assert assessment("db1", benchmark=found)["benchmark"]["conclusion"] == DATA["conclusion"]
    (tmp_path / "benchmark" / "db1.json").write_text("{")
    with pytest.raises(AnsibleFilterError, match="cannot be read"):
        earlier_benchmark(str(tmp_path), "db1")


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        ({"data_to_pool": 4, "age_days": 3}, "Data of 4 times the buffer pool are most like this server's, and counted."),
        ({"data_to_pool": None, "age_days": 3}, "It did not count"),
    ],
)
def test_the_page_of_an_assessment_shows_it(data, measured, words):
    report = json.loads(ASSESSED.read_text(encoding="utf-8"))
    report = {**report, **{"benchmark": assessment("db1", benchmark=data)["benchmark"]}}
    report["decision"]["measured"] = measured
    page = Outline(pages.host_page(HostReport("shop-db1", report), plots=False))
    assert words in page.text and "3 days before this assessment" in page.text and DATA["circumstances"][0] in page.text
    assert "./benchmark/shop-db1.html" in page.addresses

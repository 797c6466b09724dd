# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action assess_report: files in, pages out, nothing twice, nothing in check mode."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import threading
from pathlib import Path

import pytest
import yaml

from ansible_collections.pagesmith.innodb.plugins.action.assess_report import OPTIONS, write_pages
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.modules import assess_report as documentation
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report import files, plots

REPORTS = Path(__file__).parent / "fixtures" / "report"


@pytest.fixture
def reports(tmp_path):
    """A directory with the reports of two hosts, one of them failed."""
    for stem in ("archive-db2", "cms-db4"):
        shutil.copy(REPORTS / f"{stem}.json", tmp_path)
    return tmp_path


def run(directory: Path, check_mode: bool = False, **more) -> dict:
    return write_pages({"report_dir": str(directory), "hosts": None, "index": True, "plots": True, **more}, check_mode)


def listing(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_pages_are_written_once(reports):
    first = run(reports)
    assert first["changed"] is True
    assert [os.path.basename(path) for path in first["written"]] == ["archive-db2.html", "cms-db4.html", "index.html"]
    assert first["groups"] == {"change": [], "stay": ["archive-db2"], "blocked": [], "failed": ["cms-db4"]}
    before = listing(reports)
    assert set(before) == {"archive-db2.json", "archive-db2.html", "cms-db4.json", "cms-db4.html", "index.html"}
    assert {stat.S_IMODE(os.stat(path).st_mode) for path in first["written"]} == {0o644}
    assert run(reports) == {**first, "changed": False, "written": []}
    assert listing(reports) == before


def test_check_mode_writes_nothing_and_tells(reports):
    before = listing(reports)
    assert run(reports, check_mode=True) == run(reports, check_mode=True)
    assert listing(reports) == before
    assert run(reports, check_mode=True)["changed"] is True
    run(reports)
    assert run(reports, check_mode=True)["changed"] is False


def test_only_what_differs_is_written(reports):
    run(reports)
    (reports / "cms-db4.html").write_text("spoilt")
    os.chmod(reports / "index.html", 0o600)
    assert [os.path.basename(path) for path in run(reports)["written"]] == ["cms-db4.html", "index.html"]


def test_one_host_and_no_index(reports):
    result = run(reports, hosts=["cms-db4"], index=False)
    assert [os.path.basename(path) for path in result["written"]] == ["cms-db4.html"]
    assert "index" not in result


def test_one_host_and_no_index_reads_no_other_report(reports, monkeypatch):
    read = []
    monkeypatch.setattr(files, "read_report", lambda path, really=files.read_report: read.append(path.name) or really(path))
    result = run(reports, hosts=["cms-db4"], index=False)
    assert read == ["cms-db4.json"]
    assert list(result["pages"]) == ["cms-db4"]
    assert result["groups"]["stay"] == []
    run(reports, hosts=["cms-db4"])
    assert read[1:] == ["archive-db2.json", "cms-db4.json"]


def test_the_page_of_a_host_has_one_name_whatever_is_read(reports):
    for stem in ("index", "index-host"):
        shutil.copy(reports / "cms-db4.json", reports / f"{stem}.json")
    alone = run(reports, hosts=["index"], index=False)
    assert alone["pages"]["index"] == run(reports)["pages"]["index"] == str(reports / "index-host-host.html")


def test_a_host_without_report_is_an_error(reports):
    with pytest.raises(InnodbError, match="There is no report of db7, db8"):
        run(reports, hosts=["db8", "cms-db4", "db7"])


def test_a_directory_that_is_not_there(tmp_path):
    with pytest.raises(InnodbError, match="There is no directory .* Run the playbook assess first"):
        run(tmp_path / "none")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b'{"host": "x", "facts": {}}', "holds no decision"),
        (b'{"host": "x", "error": {"msg": "It broke."}}', "It broke."),
    ],
    ids=range(5),
)
def test_a_report_that_tells_nothing_is_a_failed_host(tmp_path, content, reason):
    (tmp_path / "x.json").write_bytes(content)
    assert run(tmp_path)["groups"]["failed"] == ["x"]
    assert reason in (tmp_path / "x.html").read_text()


@pytest.mark.parametrize("content", ["[]", '"x"', '{"host": "db1", "outcome": "migrated"}'])
def test_other_files_are_named_and_left_alone(reports, content):
    (reports / "db1.json").write_text(content)
    (reports / ".hidden.json").write_text("{")
    assert run(reports)["other_files"] == [{"file": "db1.json", "reason": "It is not the report of an assessment."}]
    assert not (reports / "db1.html").exists()
    assert "db1.json" in (reports / "index.html").read_text()


def test_a_host_called_index_keeps_off_the_index(reports):
    shutil.copy(reports / "cms-db4.json", reports / "index.json")
    result = run(reports)
    assert os.path.basename(result["pages"]["index"]) == "index-host.html"
    assert "./index-host.html" in (reports / "index.html").read_text()


def test_names_of_files_may_be_anything(reports):
    name = os.fsdecode(b'a "b" <c>?#%\xff')
    shutil.copy(reports / "cms-db4.json", reports / f"{name}.json")
    run(reports)
    assert (reports / f"{name}.html").exists()
    assert 'href="./a%20%22b%22%20%3Cc%3E%3F%23%25%FF.html"' in (reports / "index.html").read_text()
    assert run(reports)["changed"] is False


def test_two_runs_at_once_leave_whole_pages(reports):
    expected = shutil.copytree(reports, reports.parent / "expected")
    run(expected)
    runs = [threading.Thread(target=run, args=(reports,)) for _number in range(4)]
    for one in runs:
        one.start()
    for one in runs:
        one.join()
    assert listing(reports) == listing(expected)


def test_a_page_that_cannot_be_put_in_place_leaves_nothing_behind(reports):
    (reports / "cms-db4.html").mkdir()
    with pytest.raises(OSError):
        files.write_page(str(reports / "cms-db4.html"), b"x")
    assert not [name for name in listing_names(reports) if name.startswith(".page-")]


def listing_names(directory: Path) -> list[str]:
    return os.listdir(directory)


def test_without_the_library(monkeypatch, tmp_path):
    shutil.copy(REPORTS / "ledger-db1.json", tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InnodbError, match="python3 -m pip install matplotlib.*plots: false"):
        run(tmp_path)
    assert run(tmp_path, plots=False)["changed"] is True


def test_settings_of_the_user_change_nothing():
    import matplotlib

    with plots.library():
        expected = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}), plots.library():
        assert dict(matplotlib.rcParams) == expected
    assert matplotlib.rcParams["text.parse_math"] is True


def test_the_documentation_has_the_options_and_results():
    documented = yaml.safe_load(documentation.DOCUMENTATION)["options"]
    assert {name: {key: value for key, value in option.items() if key != "description"} for name, option in documented.items()} == OPTIONS
    returned = yaml.safe_load(documentation.RETURN)
    assert {*returned, "changed"} == {*write_pages({"report_dir": str(REPORTS), "hosts": [], "index": True, "plots": False}, True)}


def test_fixtures_are_reports():
    for path in REPORTS.glob("*.json"):
        report = json.loads(path.read_text())
        assert set(report) in ({"host", "date", "facts", "rehearsal", "decision"}, {"host", "date", "error"}), path.name

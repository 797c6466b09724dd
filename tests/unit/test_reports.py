# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filters for reports: what a host's report holds, and how it differs from what should be."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.pagesmith.innodb.plugins.filter.reports import (
    FilterModule,
    assessment,
    drift,
    drift_table,
    migration_report,
    migration_summary,
)

DAY = 86400
NOW = 100.0 * DAY
KEPT = "/var/lib/mysql.pagesmith-16k-x"


def facts(unfinished: tuple = (), runs: tuple = (), **more) -> dict:
    """What instance_info says of a server with 8k pages with which all is well, but for what is given."""
    found = {"page_size": 8192, "page_size_files": 8192, "page_size_server": 8192, "page_size_option": 8192, "running": True}
    return {**found, **more, "migration": {"unfinished": list(unfinished), "runs": list(runs)}}


def run(kept: tuple = (KEPT,), ended: float | None = NOW - 10 * DAY) -> dict:
    return {"kept": list(kept), "ended": ended}


@pytest.mark.parametrize("wanted", ["8k", 8192, "8192", "", None])
def test_no_drift(wanted):
    assert drift(facts(runs=[run()]), wanted, 14, NOW) == []


@pytest.mark.parametrize(
    ("found", "wanted", "sentences"),
    [
        pytest.param(facts(), "16k", ["The page size is 8192 bytes instead of 16384."], id="page size"),
        pytest.param(facts(page_size_server=16384), "8k", ["The server says 16384 bytes per page, its files 8192."], id="server"),
        pytest.param(
            facts(page_size_option=16384),
            "8k",
            ["The option files ask for 16384 bytes per page, the files have 8192: it would not start."],
            id="option files",
        ),
        pytest.param(facts(page_size_option=None), "8k", [], id="no option"),
        pytest.param(facts(running=False, page_size_server=None), "8k", ["The server is not running."], id="down"),
        pytest.param(facts(unfinished=["a", "b"]), "", ["The run a is unfinished.", "The run b is unfinished."], id="unfinished"),
        pytest.param(facts(runs=[run(), run(kept=()), run(ended=None)]), "", [f"{KEPT} is kept for 10 days, longer than 7."], id="kept"),
    ],
)
def test_drift(found, wanted, sentences):
    assert drift(found, wanted, 7, NOW) == sentences


@pytest.mark.parametrize(("days", "count"), [(10, 0), ("10", 0), (9.5, 1), ("9", 1), (0, 1)])
def test_retention(days, count):
    assert len(drift(facts(runs=[run()]), "", days, NOW)) == count


def test_drift_from_no_page_size():
    with pytest.raises(AnsibleFilterError, match="'12k' is no InnoDB page size"):
        drift(facts(), "12k", 7, NOW)


def test_report_keeps_what_is_public_and_names_the_undo():
    result = {"outcome": "migrated", "retained_directory": KEPT, "page_size_after": 8192, "invocation": {"x": 1}, "changed": True}
    assert migration_report(result, "db1") == {
        "outcome": "migrated",
        "retained_directory": KEPT,
        "page_size_after": 8192,
        "host": "db1",
        "undo": "ansible-playbook pagesmith.innodb.rollback -i INVENTORY --limit db1",
    }


@pytest.mark.parametrize("result", [{}, {"msg": "it broke", "failed": True}, {"retained_directory": None}])
def test_report_of_what_came_to_nothing(result):
    report = migration_report(result, "db1")
    assert (report["outcome"], report["undo"]) == ("failed", None)
    assert report.get("msg") == result.get("msg")


def test_filters():
    names = {"migration_report", "migration_summary", "drift", "drift_table", "assessment", "earlier_benchmark"}
    assert set(FilterModule().filters()) == names


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"outcome": "migrated", "page_size_after": 8192, "write_outage_seconds": 4.2, "retained_directory": KEPT}, "shut out for 4.2 s"),
        ({"outcome": "already", "page_size_after": 8192}, "nothing had to be done"),
        ({"outcome": "already", "msg": "Nothing is kept."}, "Nothing is kept."),
        ({"outcome": "rolled_back", "page_size_after": 16384, "lost_writes": ["table a.b content"]}, "Given up: table a.b content."),
        ({"outcome": "retired", "freed_bytes": 5 << 20, "removed": [KEPT]}, f"5 MiB were freed: {KEPT}."),
        ({"outcome": "planned", "plan": ["1. build"]}, "1. build"),
        ({"outcome": "migrated", "page_size_after": 8192, "allowed_differences": ["table a.b history"]}, "table a.b history"),
    ],
    ids=range(7),
)
def test_summary(result, text):
    assert text in " ".join(migration_summary(result))


def test_assessment_has_what_the_modules_said_and_nothing_of_ansible():
    facts = {"engine": "mariadb", "changed": False, "failed": False, "invocation": {"module_args": {"login_password": "x"}}}
    report = assessment("db1", facts=facts, rehearsal={"skipped": True}, decision={"recommended": 8192})
    assert {key: value for key, value in report.items() if key != "date"} == {
        "host": "db1",
        "facts": {"engine": "mariadb"},
        "decision": {"recommended": 8192},
    }


def test_assessment_that_failed_has_the_error_and_what_was_found_before():
    report = assessment("db1", facts={"engine": "mariadb"}, rehearsal={"failed": True, "msg": "no space"}, error="no space")
    assert (report["facts"], report["error"], "rehearsal" in report) == ({"engine": "mariadb"}, "no space", False)


def test_a_line_for_each_host_and_each_difference():
    variables = {
        "db1": {"migrate_facts": {"page_size": 8192}, "migrate_drift": []},
        "database2": {"migrate_facts": {"page_size": 16384}, "migrate_drift": ["The size is wrong.", "The run 8k is unfinished."]},
        "db3": {},
    }
    assert drift_table(variables, ["db1", "database2", "db3", "gone"]) == [
        "host       page size  drift",
        "db1             8192  -",
        "database2      16384  The size is wrong.",
        "database2      16384  The run 8k is unfinished.",
        "db3                -  It could not be looked at.",
        "gone               -  It could not be looked at.",
    ]

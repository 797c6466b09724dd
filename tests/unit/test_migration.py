# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decisions of a migration: the plan as sentences, going on with a run, the steps that are left, when to retire."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import migration, steps
from ansible_collections.pagesmith.innodb.plugins.module_utils.engines import Engine
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.facts import Facts, ServerFacts
from ansible_collections.pagesmith.innodb.plugins.module_utils.instance import Instance
from ansible_collections.pagesmith.innodb.plugins.module_utils.journal import BEGIN, END, MIGRATED, RETIRED, ROLLED_BACK, UNFINISHED, Run
from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import Layout, Paths, aside_paths, plan_paths
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_file import Options
from ansible_collections.pagesmith.innodb.plugins.module_utils.preflight import MIB, Blocker
from ansible_collections.pagesmith.innodb.plugins.module_utils.service import OwnProcess
from ansible_collections.pagesmith.innodb.plugins.module_utils.tables import Table

NAMES = ["build", "fence", "dump", "restore", "compare", "swap", "trial", "open", "catch_up", "finish"]
MOVES = [["/d", "/d.old"], ["/d.new", "/d"]]
LAYOUT = Layout("/d", "/d", False)
PATHS = plan_paths(LAYOUT, "16k-x")
BLOCKER = Blocker("replica", "d", "The server is a replica", "Wait")


def run(done: int = 0, begun: str | None = None, status: str = UNFINISHED, **facts) -> Run:
    """A run to 8k pages with this many steps done."""
    found = dict.fromkeys(NAMES[:done], END)
    if begun:
        found[begun] = BEGIN
    return Run("8k-x", found, {"target": 8192, "strategy": "dump_restore", **facts}, status=status)


def make_facts(page_size: int = 16384, layout: Layout = LAYOUT, **more) -> Facts:
    """A running server with one table of 10 MiB."""
    service = OwnProcess(["/usr/sbin/mariadbd"], "/d", "/dev/null")
    engine = Engine("mariadb", (10, 11, 19), "")
    instance = Instance(engine, "/usr/sbin/mariadbd", None, None, (), Options({}), "/d", "/d/mysql.sock", service)
    tables = [Table("app", "t", "InnoDB", "rows", size_bytes=10 * MIB), Table("app", "m", "MEMORY", "volatile", size_bytes=MIB)]
    server = ServerFacts(variables={"innodb_page_size": str(page_size)}, tables=tables, **more)
    return Facts(instance, True, page_size, layout, {}, {}, server)


def test_steps_are_those_of_the_documentation():
    assert [name for name, _step, _text in steps.STEPS] == NAMES


@pytest.mark.parametrize(
    ("found", "dump_valid", "left"),
    [
        pytest.param(run(), False, NAMES, id="new"),
        pytest.param(run(1, "fence"), False, NAMES, id="cut short in the fence"),
        pytest.param(run(2, "dump"), True, NAMES, id="a dump that was not done is never valid"),
        pytest.param(run(3, "restore"), True, [name for name in NAMES if name != "dump"], id="with its dump"),
        pytest.param(run(3, "restore"), False, NAMES, id="the old server was started since the dump"),
        pytest.param(run(5, "swap"), True, [name for name in NAMES if name != "dump"], id="before the renames were noted"),
        pytest.param(run(5, "swap", moves=MOVES), True, NAMES[5:], id="in the renames"),
        pytest.param(run(5, "swap", moves=[]), False, NAMES[5:], id="in renames of nothing"),
        pytest.param(run(6, "trial", moves=MOVES), False, NAMES[6:], id="in the trial"),
        pytest.param(run(8, "finish", moves=MOVES), False, NAMES[8:], id="following"),
        pytest.param(run(9, moves=MOVES), False, ["finish"], id="followed"),
        pytest.param(run(10, moves=MOVES), False, [], id="all done but the last note"),
    ],
)
def test_steps_left(found, dump_valid, left):
    assert migration.steps_left(found, dump_valid) == left


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, False),
        (run(3), True),
        (run(), True),
        (run(9, status=MIGRATED), False),
        (run(status=ROLLED_BACK), False),
        (run(status=RETIRED), False),
    ],
    ids=["no run", "unfinished", "begun", "migrated", "rolled back", "retired"],
)
def test_resumable(found, expected):
    assert migration.resumable(found, 8192) is expected


def test_a_finished_run_to_another_size_does_not_matter():
    assert migration.resumable(run(9, status=MIGRATED), 4096) is False


@pytest.mark.parametrize(
    ("found", "target", "message", "remedy"),
    [
        (run(3), 4096, "the run 8k-x to 8k pages was cut short", "innodb_page_size=8k"),
        (run(3, "rollback"), 8192, "the rollback of the run 8k-x was cut short", "playbook rollback"),
        (run(9, "rollback", status=MIGRATED), 8192, "the rollback of the run 8k-x was cut short", "playbook rollback"),
    ],
    ids=["another target", "in the rollback", "in the rollback of a finished run"],
)
def test_what_must_be_ended_first(found, target, message, remedy):
    with pytest.raises(InnodbError, match=message) as caught:
        migration.resumable(found, target)
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (run(1), False),
        (run(1, "fence"), False),
        (run(1, "fence", stopping=True), True),
        (run(5, stopping=True), True),
        (run(9, status=MIGRATED), False),
        (run(9, "rollback", MIGRATED), True),
    ],
    ids=["before the fence", "in the fence, but the server was left alone", "in the fence", "after it", "migrated", "in the rollback"],
)
def test_is_unfinished(found, expected):
    assert migration.is_unfinished(found) is expected


def test_names_of_runs_and_of_what_they_keep():
    assert migration.name_of(8192, 0.0) == "8k-19700101T000000Z"
    assert migration.name_of(16384, 86399.9) == "16k-19700101T235959Z"


def test_blockers_refuse_even_what_is_already_there():
    assert migration.make_plan(make_facts(8192), 8192, PATHS, [BLOCKER], "dump_restore", 2) == migration.Plan("refused", [BLOCKER])


def test_a_plan_for_what_is_already_there_has_no_steps():
    assert migration.make_plan(make_facts(8192), 8192, PATHS, [], "dump_restore", 2) == migration.Plan("already", [])


def test_plan():
    plan = migration.make_plan(make_facts(), 8192, PATHS, [], "dump_restore", 2)
    assert (plan.outcome, plan.blockers) == ("migrate", [])
    assert [line.split(": ")[0] for line in plan.lines] == [f"{number}. {name}" for number, name in enumerate(NAMES, 1)]
    assert plan.space.dump == 34 * MIB
    assert plan.notes[:2] == [
        "2 tables, about 10.0 MiB, go from 16k to 8k pages",
        f"up to 34 MiB for the dump and temporary files, and {plan.space.build // MIB} MiB for the new directory"
        " (2048 of it for the log while loading) are needed meanwhile",
    ]
    assert "the old data directory is kept as /d.pagesmith-16k-x" in plan.notes


@pytest.mark.parametrize(
    ("facts", "note"),
    [
        (make_facts(layout=replace(LAYOUT, binlog="/d/bin")), "the binary log /d/bin goes on where it stops"),
        (make_facts(replicas=2), "2 replicas lose their connection meanwhile"),
        (make_facts(layout=replace(LAYOUT, strays=["/d/x"])), "stays with the old data directory only: /d/x"),
        (make_facts(stray_directories=["a.b"]), "no schema, stays with the old data directory only: a.b"),
    ],
    ids=["binary log", "replicas", "strays", "stray directories"],
)
def test_what_is_left_or_disturbed_is_said(facts, note):
    assert [text for text in migration.make_plan(facts, 8192, PATHS, [], "dump_restore", 2).notes if text.startswith(note)]
    assert not [text for text in migration.make_plan(make_facts(), 8192, PATHS, [], "dump_restore", 2).notes if text.startswith(note)]


@pytest.mark.parametrize("inside", [False, True])
def test_names_aside_differ_from_all_others(inside):
    outside = {"innodb_undo_directory": "/undo"}
    paths = plan_paths(Layout("/d", "/d", inside, outside, ["/e/t.ibd"]), "16k-x")
    aside = aside_paths(paths, "8k-y-rolled-back")
    assert aside.retained == ("/d/.pagesmith-retained/8k-y-rolled-back" if inside else "/d.pagesmith-8k-y-rolled-back")
    assert aside.outside[0].retained == "/undo/.pagesmith-retained/8k-y-rolled-back"
    assert aside.external == (("/e/t.ibd", "/e/t.ibd.pagesmith-8k-y-rolled-back"),)
    assert (aside.datadir, aside.build, aside.inside) == (paths.datadir, paths.build, inside)
    assert Paths.from_dict(json.loads(json.dumps(aside.as_dict()))) == aside


DAY = 86400.0


@pytest.mark.parametrize(
    ("times", "days", "said"),
    [
        ({"finish": 0.0}, 7, "ended 5.0 days ago and what it keeps is to stay 7 days"),
        ({"finish": 0.0, "rollback": 4 * DAY}, 2, "ended 1.0 days ago and what it keeps is to stay 2 days"),
        ({}, 0.5, "ended 0.0 days ago and what it keeps is to stay 0.5 days"),
    ],
    ids=["migrated", "rolled back later", "never ended"],
)
def test_retire_waits(times, days, said):
    found = replace(run(9, status=MIGRATED, paths=PATHS.as_dict()), times=times)
    with pytest.raises(InnodbError, match=said):
        migration.retire(None, make_facts().instance, found, PATHS.retained, days, 5 * DAY)

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What stands against a migration: each check with facts made by hand, and what a user may allow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import live_preflight
from ansible_collections.pagesmith.innodb.plugins.module_utils.census import Difference
from ansible_collections.pagesmith.innodb.plugins.module_utils.channels import channels_of
from ansible_collections.pagesmith.innodb.plugins.module_utils.engines import Engine
from ansible_collections.pagesmith.innodb.plugins.module_utils.facts import Facts, ServerFacts
from ansible_collections.pagesmith.innodb.plugins.module_utils.instance import Instance
from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import Layout
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_file import Options, Setting
from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES
from ansible_collections.pagesmith.innodb.plugins.module_utils.preflight import (
    MIB,
    Request,
    already_there,
    blockers_of_rehearsal,
    find_blockers,
)
from ansible_collections.pagesmith.innodb.plugins.module_utils.service import OwnProcess
from ansible_collections.pagesmith.innodb.plugins.module_utils.space import (
    DUMP_SHARE,
    EMPTY_BYTES,
    GROWTH,
    LOAD_LOG_BYTES,
    SORT_SHARE,
    needed_space,
)
from ansible_collections.pagesmith.innodb.plugins.module_utils.tables import Table

DATADIR = "/var/lib/mysql"
REPLICATES = {"connection_name": "", "master_host": "db1", "master_port": "3306", "slave_io_running": "Yes", "slave_sql_running": "Yes"}
BROKEN = {"connection_name": "west", "slave_io_running": "Connecting", "last_io_error": "Access denied"}
AHEAD = {
    "slave_sql_running": "No",
    "relay_master_log_file": "b.1",
    "exec_master_log_pos": "4",
    "master_log_file": "b.1",
    "read_master_log_pos": "9",
}
GIB = 1 << 30
VARIABLES = {
    "innodb_page_size": "16384",
    "innodb_buffer_pool_size": str(128 * MIB),
    "innodb_force_recovery": "0",
    "innodb_read_only": "OFF",
}


def make_table(name: str = "t", kind: str = "rows", **more) -> Table:
    return Table("app", name, more.pop("engine", "InnoDB"), kind, **more)


def server(variables: dict | None = None, **more) -> ServerFacts:
    """A server against which nothing stands, but for what is given."""
    more.setdefault("tables", [make_table(size_bytes=100 * MIB)])
    return ServerFacts(account="root@localhost", variables={**VARIABLES, **(variables or {})}, **{"all_privileges": True, **more})


def facts(server_facts: ServerFacts | None = None, engine: Engine | None = None, **more) -> Facts:
    instance = Instance(
        engine=engine or Engine("mariadb", (10, 11, 19), ""),
        program="/usr/sbin/mariadbd",
        defaults_file="/etc/my.cnf",
        group_suffix=None,
        arguments=(),
        options=Options({}),
        datadir=DATADIR,
        socket="/run/mysqld/mysqld.sock",
        service=OwnProcess(["/usr/sbin/mariadbd"], DATADIR, "/dev/null"),
    )
    found = Facts(
        instance, True, 16384, Layout(DATADIR, DATADIR, False), {"datadir": {"free_bytes": 100 * GIB}}, {}, server_facts or server()
    )
    return replace(found, **more)


def request(**more) -> Request:
    return replace(Request(8192, frozenset(), "/var/lib/pagesmith", 100 * GIB, True, drop_in="/etc/my.cnf.d/zz-pagesmith.cnf"), **more)


def layout(**more) -> Layout:
    return Layout(DATADIR, DATADIR, False, **more)


def ids(found: Facts, asked: Request | None = None) -> list[str]:
    return [blocker.id for blocker in find_blockers(found, asked or request())]


def test_nothing_stands_against_an_ordinary_server():
    assert ids(facts()) == []


@pytest.mark.parametrize(
    ("found", "blockers"),
    [
        pytest.param(facts(engine=Engine("mysql", (8, 4, 0), "")), ["engine"], id="engine without support"),
        pytest.param(facts(engine=Engine("mysql", (9, 7, 0), "")), [], id="MySQL that was run"),
        pytest.param(
            facts(engine=Engine("mysql", (9, 7, 0), ""), layout=Layout(DATADIR, DATADIR, True, outside={"innodb_undo_directory": "/u"})),
            ["outside innodb_undo_directory", "mount_point"],
            id="places of MySQL",
        ),
        pytest.param(
            facts(server({"log_bin_basename": "/srv/binlog"}), engine=Engine("mysql", (9, 7, 0), "")), ["binary_log"], id="binary log"
        ),
        pytest.param(
            facts(server(hazards=[{"id": "keyring", "object": "k", "message": "k keeps keys", "remedy": "Take it out"}])),
            ["keyring k"],
            id="not carried",
        ),
        pytest.param(facts(page_size=None), ["data_directory"], id="no data directory"),
        pytest.param(facts(page_size=8192), ["page_size_unclear"], id="server and files differ"),
        pytest.param(facts(server({"innodb_force_recovery": "1"})), ["innodb_force_recovery"], id="force recovery"),
        pytest.param(facts(server({"innodb_read_only": "ON"})), ["innodb_read_only"], id="read-only"),
        pytest.param(facts(server(all_privileges=False)), ["privileges"], id="privileges"),
        pytest.param(facts(server(prepared_xa=2)), ["prepared_xa"], id="prepared XA"),
        pytest.param(facts(server(long_transactions=["a", "b"])), ["long_transaction"] * 2, id="long transactions"),
        pytest.param(facts(server(channels=channels_of([REPLICATES]))), [], id="replica"),
        pytest.param(facts(server(channels=channels_of([{**REPLICATES, **BROKEN}]))), ["replica west"], id="broken replica"),
        pytest.param(facts(server(channels=channels_of([{**REPLICATES, **AHEAD}]))), ["replica default"], id="received, not applied"),
        pytest.param(
            facts(server(channels=channels_of([{**REPLICATES, **AHEAD}])), engine=Engine("mysql", (9, 7, 0), "")),
            [],
            id="received, not applied, MySQL",
        ),
        pytest.param(facts(server({"wsrep_on": "ON"})), ["galera"], id="Galera"),
        pytest.param(facts(server({"wsrep_on": "OFF"}, replicas=3)), [], id="a source with replicas"),
        pytest.param(facts(layout=layout(symbolic_links=["/l"])), ["symbolic_link"], id="symbolic link"),
        pytest.param(facts(layout=layout(system_files=("ibdata1", "/srv/ibdata2"))), ["data_file_path"], id="system file by its path"),
        pytest.param(facts(layout=layout(strays=["/s"], external=["/e/t.ibd"])), [], id="strays and external tablespaces"),
        pytest.param(facts(server(tables=[make_table(kind="unknown")])), ["engine of app.t"], id="unknown engine"),
        pytest.param(facts(server(unreadable={"app.t": "damaged"})), ["table app.t unreadable"], id="unreadable"),
        pytest.param(facts(server(memory_rows={"app.m": 3})), ["table app.m content"], id="MEMORY with rows"),
        pytest.param(facts(server(history=["app.v"])), ["table app.v history"], id="history"),
        pytest.param(facts(storage={"datadir": {"free_bytes": GIB}}), ["space"], id="space"),
        pytest.param(facts(server({"innodb_buffer_pool_size": str(4 * MIB)})), ["buffer_pool"], id="buffer pool"),
    ],
)
def test_facts(found, blockers):
    assert ids(found) == blockers
    for blocker in find_blockers(found, request()):
        assert blocker.message
        assert blocker.remedy
        assert blocker.object


@pytest.mark.parametrize(
    ("changes", "blockers"),
    [
        pytest.param({"other_run": True}, ["locked"], id="another run"),
        pytest.param({"server_files_unwritable": (("/d", "it is read-only"),)}, ["unwritable"], id="unwritable"),
        pytest.param({"drop_in": None}, ["option_files"], id="no place for the option file"),
        pytest.param({"same_file_system": False, "work_free_bytes": MIB}, ["space"], id="space for the dump"),
        pytest.param({"same_file_system": True, "work_free_bytes": MIB}, [], id="the dump shares the space"),
    ],
)
def test_requests(changes, blockers):
    assert ids(facts(), request(**changes)) == blockers


def test_a_server_that_is_down_is_the_only_blocker():
    down = facts(running=False)
    down.server = None
    assert ids(down) == ["server_down"]


@pytest.mark.parametrize(("target", "refused"), [(4096, False), (16384, False), (32768, True), (65536, True)])
def test_page_sizes_the_engine_does_not_have(target, refused):
    assert ("page_size" in ids(facts(engine=Engine("mysql", (5, 6, 51), "")), request(target=target))) is refused


@pytest.mark.parametrize(("line", "place"), [(3, "/etc/z.cnf:3"), (0, "/etc/z.cnf")])
def test_an_option_that_is_set_later(line, place):
    pair = (Setting("innodb_page_size", "8k", "/ours", 1), Setting("innodb_page_size", "16k", "/etc/z.cnf", line))
    [blocker] = find_blockers(facts(), request(overridden=(pair,)))
    assert (blocker.id, blocker.object) == ("option_overridden", f"innodb_page_size {place}")


@pytest.mark.parametrize(
    ("tables", "known", "blocked"),
    [
        ([], frozenset(), True),
        ([Table("mysql", "db", "Aria", "rows"), Table("sys", "x", "InnoDB", "rows")], frozenset(), True),
        ([make_table()], frozenset(), False),
        ([], frozenset(["/var/lib/mysql.old"]), False),
    ],
    ids=["empty server", "system tables only", "tables", "ours"],
)
def test_an_attempt_by_hand(tables, known, blocked):
    found = facts(server(tables=tables), leftovers={"/var/lib/mysql.old": 8192})
    assert ("manual_attempt" in ids(found, request(known_retained=known))) is blocked


def test_only_differences_of_tables_can_be_allowed():
    found = facts(server(memory_rows={"app.m": 3, "app.n": 1}, prepared_xa=1, all_privileges=False))
    allowed = frozenset(["table app.m content", "prepared_xa", "privileges", "table app.x content"])
    assert ids(found, request(allowed=allowed)) == ["privileges", "prepared_xa", "table app.n content"]


@pytest.mark.parametrize("target", PAGE_SIZES)
def test_needed_space(target):
    tables = [
        make_table(size_bytes=100 * MIB),
        make_table("c", size_bytes=10 * MIB, compressed=True),
        make_table("m", kind="volatile", size_bytes=GIB),
    ]
    space = needed_space(facts(server(tables=tables)), target, 2)
    assert space.dump == (170 + 220) * MIB
    assert space.build == int(110 * MIB * GROWTH[target]) + EMPTY_BYTES[target] + LOAD_LOG_BYTES


@pytest.mark.parametrize(("at_once", "sorted_mib"), [(0, 0), (1, 200), (2, 300), (8, 300)])
def test_space_to_put_rows_in_order(at_once, sorted_mib):
    """Of as many tables as are loaded at once, the largest; not of those whose rows go as text."""
    sizes = {"a": 200 * MIB, "b": 100 * MIB, "c": MIB, "d": 2 * GIB}
    tables = [make_table(name, size_bytes=size) for name, size in sizes.items()]
    space = needed_space(facts(server(tables=tables)), 8192, at_once)
    assert space.dump == int(sum(sizes.values()) * DUMP_SHARE + sorted_mib * MIB * SORT_SHARE)


@pytest.mark.parametrize(("missing", "blocked"), [(0, False), (1, True)])
@pytest.mark.parametrize("same", [True, False])
def test_space_to_the_byte(same, missing, blocked):
    need = needed_space(facts(), 8192, 0)
    free = need.build + (need.dump if same else 0) - missing
    asked = request(same_file_system=same, work_free_bytes=need.dump)
    assert ("space" in ids(facts(storage={"datadir": {"free_bytes": free}}), asked)) is blocked


@pytest.mark.parametrize(("variable", "files", "there"), [("8192", 8192, True), ("8192", 16384, False), ("16384", 8192, False)])
def test_already_there(variable, files, there):
    assert already_there(facts(server({"innodb_page_size": variable}), page_size=files), 8192) is there


def test_files_alone_do_not_prove_that_it_is_there():
    down = facts(page_size=8192)
    down.server = None
    assert not already_there(down, 8192)


def test_blockers_of_the_rehearsal():
    refused, changed = blockers_of_rehearsal(
        [
            Difference("table app.wide", "creation", "CREATE TABLE", "Row size too large"),
            Difference("table app.t", "row_format", "Compressed\n  x", "y" * 300),
        ]
    )
    assert refused.id == "table app.wide creation"
    assert refused.message == "table app.wide is refused at the target page size: Row size too large"
    assert "innodb_allow_differences: ['table app.wide creation']" in refused.remedy
    assert changed.message == f"table app.t comes out with another row_format: Compressed x becomes {'y' * 197}..."
    assert set(changed.as_dict()) == {"id", "object", "message", "remedy"}


@pytest.mark.parametrize("strategy", ["side_by_side", "live"])
def test_strategies_with_a_successor_take_no_replica(strategy):
    binlog = {"log_bin": "ON", "binlog_format": "ROW"}
    plain = facts(server(binlog), layout=layout(binlog=f"{DATADIR}/binlog"))
    replica = facts(server(binlog, channels=channels_of([REPLICATES])), layout=layout(binlog=f"{DATADIR}/binlog"))
    assert live_preflight.find_blockers(plain, strategy) == []
    (blocker,) = live_preflight.find_blockers(replica, strategy)
    assert blocker.id == "live replica default" and "db1:3306" in blocker.message and "dump_restore" in blocker.remedy
    assert live_preflight.find_blockers(replica, "dump_restore") == []

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Channels of a replica from what servers show, when one has caught up, and what holds a replica while it starts."""

from __future__ import annotations

import re

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import replication
from ansible_collections.pagesmith.innodb.plugins.module_utils.channels import (
    applied,
    behind,
    channels_of,
    counted_as_applied,
    lost,
    trouble,
)
from ansible_collections.pagesmith.innodb.plugins.module_utils.engines import Engine

MARIADB = {
    "connection_name": "",
    "master_host": "10.0.0.1",
    "master_port": "3306",
    "slave_io_running": "Yes",
    "slave_sql_running": "Yes",
    "seconds_behind_master": "0",
    "using_gtid": "No",
    "gtid_slave_pos": "0-1-70",
    "relay_master_log_file": "binlog.000009",
    "exec_master_log_pos": "400",
    "master_log_file": "binlog.000010",
    "read_master_log_pos": "4",
    "sql_delay": "0",
}
MYSQL = {
    "channel_name": "west",
    "source_host": "db1",
    "source_port": 3307,
    "replica_io_running": "Yes",
    "replica_sql_running": "Yes",
    "seconds_behind_source": 0,
    "auto_position": "1",
    "executed_gtid_set": "aaaa:1-5,\nbbbb:1-7",
    "relay_source_log_file": "binlog.000009",
    "exec_source_log_pos": 400,
}
ENGINES = [Engine("mariadb", (10, 11, 19), ""), Engine("mysql", (9, 7, 0), "")]
RUNS = {"io": True, "sql": True}


def channel(**more):
    return channels_of([{**MARIADB, **more}])[0]


def test_the_place_is_in_the_terms_of_the_request():
    by_place, by_gtid = channels_of([MARIADB, MYSQL])
    assert by_place.place == {"file": "binlog.000009", "position": 400}
    assert by_gtid.place == {"gtid": "aaaa:1-5,bbbb:1-7"}
    assert by_gtid.noted() == {"channel": "west", "host": "db1", "port": 3307, "io": True, "sql": True, "gtid": "aaaa:1-5,bbbb:1-7"}
    assert channel(using_gtid="Slave_Pos").place == {"gtid": "0-1-70"}


def test_a_channel_without_a_source_is_none():
    assert channels_of([{**MARIADB, "master_host": ""}, {"channel_name": "group_replication_applier", "source_host": "x"}]) == []


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, None),
        ({"slave_io_running": "No", "slave_sql_running": "No"}, None),
        ({"slave_io_running": "Connecting", "last_io_error": "refused"}, r"does not reach its source \(Connecting\): refused"),
        ({"slave_sql_running": "No", "last_sql_error": "1062"}, "has stopped: 1062"),
        ({"slave_io_running": "No", "last_io_error": "1236"}, "has stopped: 1236"),
    ],
)
def test_trouble(more, reason):
    found = trouble(channel(**more))
    assert found is None if reason is None else re.search(reason, found)


def test_what_a_receiver_makes_the_server_count_as_applied():
    stands = {"slave_sql_running": "No"}
    assert counted_as_applied(channel(**stands))
    assert not counted_as_applied(channel())
    assert not counted_as_applied(channel(**stands, slave_io_running="No"))
    assert not counted_as_applied(channel(**stands, using_gtid="Slave_Pos"))
    assert not counted_as_applied(channel(**stands, master_log_file="binlog.000009", read_master_log_pos="400"))


@pytest.mark.parametrize(
    ("more", "wanted", "reason"),
    [
        ({}, RUNS, None),
        ({"seconds_behind_master": "1"}, RUNS, None),
        ({"seconds_behind_master": "2"}, RUNS, "it is 2 s behind"),
        ({"seconds_behind_master": "31", "sql_delay": "30"}, RUNS, None),
        ({"seconds_behind_master": None}, RUNS, "how far it is behind is not known yet"),
        ({"slave_io_running": "Connecting"}, RUNS, "its IO thread is in the state Connecting"),
        ({"slave_sql_running": "No", "last_sql_error": "e"}, RUNS, "its SQL thread is in the state No: e"),
        ({"slave_sql_running": "No", "seconds_behind_master": None}, {"io": True, "sql": False}, None),
        ({"slave_io_running": "No", "slave_sql_running": "No"}, {"io": False, "sql": False}, None),
    ],
)
def test_behind(more, wanted, reason):
    assert behind(channel(**more), wanted) == reason


def test_waiting_is_of_no_use_once_a_thread_has_ended_with_an_error():
    assert lost(channel(slave_sql_running="No", last_sql_error="1062"), RUNS)
    assert not lost(channel(slave_io_running="Connecting", last_io_error="refused"), RUNS)
    assert not lost(channel(slave_sql_running="No"), RUNS)


def test_what_was_received_is_applied():
    assert applied(channel(), "binlog.000009", 400)
    assert not applied(channel(), "binlog.000009", 401)
    assert not applied(channel(), "binlog.000010", 4)
    assert applied(channel(relay_master_log_file="binlog.1000000"), "binlog.999999", 900)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_statements(engine):
    expected = {
        "mariadb": ("STOP SLAVE %s IO_THREAD", "START SLAVE %s"),
        "mysql": ("STOP REPLICA IO_THREAD FOR CHANNEL %s", "START REPLICA FOR CHANNEL %s"),
    }[engine.name]
    found = [replication.statement(engine, "STOP", "west", "IO_THREAD"), replication.statement(engine, "START", "west")]
    assert [" ".join(sql.split()) for sql, _parameters in found] == list(expected)
    assert all(parameters == ("west",) for _sql, parameters in found)


@pytest.mark.parametrize("content", [None, "", "[mysqld]\ninnodb_page_size=8192\n"])
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_the_lines_that_hold_a_replica_leave_no_trace(engine, content):
    lines = replication.hold_lines(engine, "-b", {"read_only": ["read_only"], "memory_tables": ["`a`.`b`"]}, "/w/init.sql")
    assert "init_file = /w/init.sql" in lines
    assert "[mysqld-b]" in lines and "read_only = ON" in lines and engine.trait("hold_option") in lines
    held = replication.held(content, lines)
    assert held.startswith(content or "") and held.endswith(lines)
    assert replication.held(held, lines) == held
    assert replication.without_hold(held, lines) == (content or None)


def test_the_first_use_of_a_memory_table_is_not_logged():
    found = replication.init_statements("SET GLOBAL a=1;\n\n", {"memory_tables": ["`a`.`b`"]})
    assert found == "SET GLOBAL a=1;\nSET sql_log_bin=0;\nSELECT 1 FROM `a`.`b` LIMIT 1;\n"
    assert replication.init_statements("", {"memory_tables": []}) == "SET sql_log_bin=0;\n"
    assert "init_file" not in replication.hold_lines(ENGINES[0], None, {"read_only": [], "memory_tables": []}, "/w/init.sql")


def test_files_of_a_replica(tmp_path):
    wanted = [
        "master.info",
        "master-west.info",
        "multi-master.info",
        "relay-log.info",
        "relay-log-west.info",
        "host-relay-bin.000003",
        "host-relay-bin.index",
        "host-relay-bin-west.000001",
    ]
    for name in [*wanted, "ibdata1", "binlog.000001", "other.info"]:
        (tmp_path / name).write_text("")
    (tmp_path / "relay-log.info").write_text("5\n./host-relay-bin.000003\n4\n")
    state = {"relay_log": None}
    assert replication.carried_names(str(tmp_path), ENGINES[0], {}, state) == sorted(wanted)
    outside = {"relay_log": "/var/log/mysql/relay"}
    assert replication.carried_names(str(tmp_path), ENGINES[1], {}, outside) == []

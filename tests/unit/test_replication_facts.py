# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Roles, channels and replicas from the rows that servers of several kinds show."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.replication_facts import (
    downstream_of,
    galera_of,
    role_of,
    upstream_of,
)

MARIADB_CHANNEL = {
    "connection_name": "",
    "master_host": "10.0.0.1",
    "master_port": "3306",
    "master_server_id": "7",
    "slave_io_running": "Yes",
    "slave_sql_running": "Yes",
    "seconds_behind_master": "4",
    "gtid_io_pos": "0-1-77",
    "gtid_slave_pos": "0-1-70",
    "last_io_error": "",
    "last_sql_error": "",
}
MYSQL_CHANNEL = {
    "channel_name": "west",
    "source_host": "10.0.0.9",
    "source_port": "3307",
    "source_server_id": "0",
    "source_uuid": "aaaa",
    "replica_io_running": "Connecting",
    "replica_sql_running": "Yes",
    "seconds_behind_source": None,
    "executed_gtid_set": "aaaa:1-5",
    "last_io_error": "Access denied",
}


def test_channels_of_mariadb_and_mysql():
    assert upstream_of([MARIADB_CHANNEL, MYSQL_CHANNEL]) == [
        {
            "channel": "",
            "host": "10.0.0.1",
            "port": 3306,
            "addresses": ["10.0.0.1"],
            "server_id": 7,
            "server_uuid": None,
            "running": True,
            "lag_seconds": 4,
            "gtid": "0-1-70",
            "error": None,
        },
        {
            "channel": "west",
            "host": "10.0.0.9",
            "port": 3307,
            "addresses": ["10.0.0.9"],
            "server_id": None,
            "server_uuid": "aaaa",
            "running": False,
            "lag_seconds": None,
            "gtid": "aaaa:1-5",
            "error": "Access denied",
        },
    ]


def test_channels_of_group_replication_are_no_upstream():
    assert upstream_of([{"channel_name": "group_replication_applier"}, {"channel_name": "group_replication_recovery"}]) == []


@pytest.mark.parametrize(
    ("registered", "senders", "expected"),
    [
        ([], [], []),
        ([{"server_id": "2", "host": "replica2", "port": "3306"}], ["10.0.0.2:51200"], [("replica2", 3306, 2)]),
        ([{"server_id": "2", "host": "", "port": "3306"}], ["10.0.0.2:51200"], [("10.0.0.2", 3306, 2)]),
        ([{"server_id": "2", "host": "", "port": "0"}, {"server_id": "3", "host": ""}], ["a:1", "b:2"], [(None, None, 2), (None, None, 3)]),
        ([], ["10.0.0.2:51200", "localhost"], [("10.0.0.2", None, None), ("localhost", None, None)]),
    ],
)
def test_replicas(registered, senders, expected):
    found = downstream_of(registered, senders)
    assert [(each["host"], each["port"], each["server_id"]) for each in found] == expected


@pytest.mark.parametrize(
    ("upstream", "downstream", "galera", "group", "role"),
    [
        ([], [], None, False, "standalone"),
        ([1], [], None, False, "replica"),
        ([], [1], None, False, "primary"),
        ([1], [1], None, False, "intermediate"),
        ([1], [1], {"cluster_size": 3}, False, "galera"),
        ([], [], None, True, "group_replication"),
    ],
)
def test_roles(upstream, downstream, galera, group, role):
    assert role_of(upstream, downstream, galera, group) == role


def test_a_node_of_galera():
    status = {"wsrep_cluster_size": "3", "wsrep_cluster_status": "Primary", "wsrep_local_state_comment": "Synced", "wsrep_ready": "ON"}
    found = galera_of(status, {"wsrep_on": "ON", "wsrep_cluster_name": "c", "wsrep_sst_method": "rsync"})
    assert found["cluster_size"] == 3
    assert found["ready"] is True
    assert (found["cluster_status"], found["local_state_comment"], found["sst_method"]) == ("Primary", "Synced", "rsync")


@pytest.mark.parametrize(
    ("status", "variables"),
    [({"wsrep_cluster_size": "0"}, {"wsrep_on": "ON"}), ({"wsrep_cluster_size": "3"}, {"wsrep_on": "OFF"}), ({}, {})],
)
def test_servers_with_the_library_alone_are_no_nodes(status, variables):
    assert galera_of(status, variables) is None

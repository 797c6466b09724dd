# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Who replicates from whom, by the servers' own facts, and the order of a rollout."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.addresses import parse_fib_trie, parse_if_inet6
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.topology import (
    line,
    not_following,
    plan_rollout,
    standing,
    unsettled,
)

BEFORE, AFTER = 16384, 8192


def channel(number: int, **more: Any) -> dict[str, Any]:
    """A channel from the server of this number."""
    address = f"10.0.0.{number}"
    given = {"channel": "", "host": address, "port": 3306, "addresses": [address], "server_id": number, "running": True, "lag_seconds": 0}
    return {**given, "error": None, **more}


def server(number: int, *sources: Any, **more: Any) -> dict[str, Any]:
    """Facts of a server; sources are numbers, or channels."""
    replication = {
        "upstream": [source if isinstance(source, dict) else channel(source) for source in sources],
        "downstream": [],
        "identity": {"server_id": number, "server_uuid": None, "port": 3306},
        "galera": None,
        "group_replication": False,
    }
    facts = {
        "page_size": BEFORE,
        "running": True,
        "addresses": ["127.0.0.1", f"10.0.0.{number}"],
        "replication": {**replication, **more.pop("replication", {})},
        "migration": {"unfinished": [], "runs": []},
    }
    return {**facts, **more}


def plan(size: int = 1, **hosts: Any) -> dict[str, Any]:
    return plan_rollout(hosts, AFTER, size)


def order(found: dict[str, Any]) -> list[str]:
    return [entry["host"] for entry in found["order"]]


def roles(found: dict[str, Any]) -> dict[str, str]:
    return {entry["host"]: entry["role"] for entry in found["order"]}


def ids(found: dict[str, Any]) -> list[str]:
    return [blocker["id"] for blocker in found["blockers"]]


def test_one_server_is_a_plan_of_one():
    found = plan(a=server(1))
    assert (found["batches"], found["blockers"], roles(found)) == ([["a"]], [], {"a": "standalone"})


def test_replicas_before_their_primary_and_the_deepest_first():
    found = plan(a=server(1), b=server(2, 1), c=server(3, 1), d=server(4, 3))
    assert order(found) == ["d", "b", "c", "a"]
    assert roles(found) == {"a": "primary", "b": "replica", "c": "intermediate", "d": "replica"}
    assert found["batches"] == [["d"], ["b"], ["c"], ["a"]]
    assert found["blockers"] == []
    # No more than one of a group, however many are allowed.
    assert plan(5, a=server(1), b=server(2, 1), c=server(3, 1), d=server(4, 3))["batches"] == found["batches"]


def test_groups_go_side_by_side():
    found = plan(2, a=server(1), b=server(2, 1), x=server(11), y=server(12, 11), z=server(21))
    assert found["batches"] == [["b", "y"], ["a", "x"], ["z"]]
    assert found["order"][0]["group"] != found["order"][1]["group"]


def test_several_sources():
    found = plan(a=server(1), b=server(2), c=server(3, 1, {**channel(2), "channel": "second"}))
    assert order(found) == ["c", "a", "b"]
    assert found["order"][0]["sources"] == ["a", "b"]
    assert len({entry["group"] for entry in found["order"]}) == 1


def test_a_source_outside_is_told():
    found = plan(b=server(2, 9), c=server(3, 2))
    assert order(found) == ["c", "b"]
    assert found["order"][1]["outside"] == ["10.0.0.9:3306"]
    assert "10.0.0.9:3306, which is none of these hosts" in line(2, found["order"][1])


@pytest.mark.parametrize(
    ("asked", "source"),
    [
        pytest.param({"server_id": None, "host": "db1", "addresses": ["10.0.0.1"]}, "a", id="by its address"),
        pytest.param({"host": "vip", "addresses": ["10.0.0.99"]}, "a", id="by its server_id behind another address"),
        pytest.param({"server_id": None, "server_uuid": "u-1", "addresses": ["10.0.0.99"]}, "a", id="by its uuid"),
        pytest.param({"server_id": None, "addresses": ["10.0.0.99"]}, None, id="nobody"),
        pytest.param({"server_id": None, "port": 3307}, None, id="another port"),
        pytest.param({"server_id": None, "addresses": ["127.0.0.1"]}, None, id="the replica's own machine"),
        pytest.param({"server_id": 9}, None, id="another server at the address"),
    ],
)
def test_how_a_source_is_found(asked, source):
    primary = server(1, replication={"identity": {"server_id": 1, "server_uuid": "u-1", "port": 3306}})
    found = plan(a=primary, b=server(2, channel(1, **asked)))
    entry = next(entry for entry in found["order"] if entry["host"] == "b")
    assert entry["sources"] == ([source] if source else [])
    assert found["blockers"] == []


def test_instances_of_one_machine_are_told_apart_by_their_ports():
    here = {"addresses": ["127.0.0.1", "10.0.0.1"]}
    ports = [{"identity": {"server_id": number, "server_uuid": None, "port": port}} for number, port in ((1, 3306), (2, 3307))]
    local = channel(1, addresses=["127.0.0.1"], host="127.0.0.1")
    found = plan(a=server(1, **here, replication=ports[0]), b=server(2, local, **here, replication={**ports[1], "upstream": [local]}))
    assert order(found) == ["b", "a"]


def test_two_servers_of_one_id():
    found = plan(a=server(1), b=server(1, addresses=["10.0.0.5"]), c=server(3, channel(1)))
    assert found["order"][0]["sources"] == ["a"], "the address decides"
    unclear = plan(a=server(1), b=server(1, addresses=["10.0.0.5"]), c=server(3, channel(1, addresses=["10.0.0.99"])))
    assert ids(unclear) == ["ambiguous c"]
    assert "can be a, b" in unclear["blockers"][0]["message"]


def test_circles_are_refused():
    found = plan(a=server(1, 2), b=server(2, 1), c=server(3, 1), z=server(9))
    assert ids(found) == ["circular a", "circular b", "circular c"]


@pytest.mark.parametrize(
    ("facts", "blocked"),
    [
        (server(1, replication={"galera": {"cluster_size": 3}}), "galera a"),
        (server(1, replication={"group_replication": True}), "group_replication a"),
        (server(1, running=False, replication={"upstream": None}), "server_down a"),
        (server(1, channel(9, running=False, error="Duplicate entry")), "replication a"),
        (server(1, channel(9, running=False)), None),
    ],
)
def test_what_stands_against_a_rollout(facts, blocked):
    found = plan(a=facts, b=server(2))
    assert ids(found) == ([blocked] if blocked else [])
    assert all(blocker["message"] and blocker["remedy"] for blocker in found["blockers"])
    assert ids(plan(a=facts)) == [], "of one server its own migration tells everything"


def test_the_next_run_goes_on():
    """What is done is looked at together; what was cut short, with its server down, comes first and is still above its replica."""
    down = server(2, running=False, settings=[{"name": "server_id", "value": "2"}, {"name": "port", "value": "3306"}])
    del down["replication"]
    noted = {"status": "unfinished", "channels": [{"channel": "", "host": "10.0.0.1", "port": 3306, "io": True, "sql": True}]}
    down["migration"] = {"unfinished": ["run"], "runs": [noted]}
    connecting = channel(2, running=False, error="Can't connect")
    hosts = {"a": server(1), "b": down, "c": server(3, channel(2), page_size=AFTER), "d": server(4, 1, page_size=AFTER)}
    found = plan(**hosts)
    assert found["batches"] == [["b"], ["c", "d"], ["a"]]
    assert [entry["state"] for entry in found["order"]] == ["resume", "already", "already", "migrate"]
    assert found["order"][0]["sources"] == ["a"]
    assert found["blockers"] == []
    # Its replica can't reach it, which is because of the run.
    waiting = plan(**{**hosts, "c": server(3, connecting, page_size=AFTER)})
    assert waiting["blockers"] == []


PLAN = {"order": [{"host": host} for host in "abc"], "batches": [["a", "b"], ["c"]]}


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ({"a": "migrated", "b": "already"}, []),
        ({"a": "planned", "b": "planned"}, []),
        ({"a": "migrated"}, ["b"]),
        ({"a": "rolled_back", "b": "migrated"}, ["a"]),
    ],
)
def test_a_rollout_goes_on_only_when_all_before_are_well(outcomes, expected):
    variables = {host: {"migrate_result": {"outcome": outcomes[host]}} if host in outcomes else {} for host in "abc"}
    assert unsettled(PLAN, variables, "c") == expected
    assert unsettled(PLAN, variables, "a") == []


def test_where_it_stands():
    variables = {"a": {"migrate_result": {"outcome": "migrated"}}, "b": {"migrate_result": {"outcome": "migrated"}}, "c": {}}
    assert standing(PLAN, variables, "b") == "done: a; failed: b; not begun: c"


@pytest.mark.parametrize(
    ("now", "missing"),
    [
        ([channel(1)], []),
        ([channel(1, lag_seconds=1)], []),
        ([channel(1, lag_seconds=2)], ["replication from 10.0.0.1:3306 is 2 s behind"]),
        ([channel(1, lag_seconds=None)], ["replication from 10.0.0.1:3306 is None s behind"]),
        ([channel(1, running=False, error="gone")], ["replication from 10.0.0.1:3306 does not run: gone"]),
        ([], ["replication from 10.0.0.1:3306 does not run"]),
        (None, ["replication from 10.0.0.1:3306 does not run"]),
    ],
)
def test_replicas_that_do_not_follow(now, missing):
    assert not_following(now, [channel(1)]) == missing
    assert not_following(now, [channel(1, running=False)]) == []


def test_addresses():
    trie = """        |-- 10.123.8.0
                 /24 link UNICAST
              |-- 10.123.8.1
                 /32 host LOCAL
           |-- 127.0.0.1
              /32 host LOCAL
           |-- 10.123.8.1
              /32 host LOCAL
"""
    assert parse_fib_trie(trie) == ["10.123.8.1", "127.0.0.1"]
    assert parse_if_inet6("fe800000000000000000000000000001 02 40 20 80 eth0\n") == ["fe80::1"]

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decisions of a migration that keeps the server running: positions, limits, who may pass the relay, what is compared again."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import cut_over, following, live_copy, live_options, successor
from ansible_collections.pagesmith.innodb.plugins.module_utils.binary_log import Changes, Position
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_values import MIB
from ansible_collections.pagesmith.innodb.plugins.module_utils.outage import Parts
from ansible_collections.pagesmith.innodb.plugins.module_utils.socket_relay import uid_of_connection

TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   107        0 1 1
   1: 0100007F:D431 0100007F:A2C3 01 00000000:00000000 00:00000000 00000000   107        0 2 1
   2: 0100007F:A2C3 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 3 1
""".splitlines()


@pytest.fixture
def tables() -> Iterator[dict]:
    yield {name: SimpleNamespace(schema="app", name=name, title=f"app.{name}") for name in "abc"}


def test_the_user_behind_a_connection():
    assert uid_of_connection(TCP, 0xD431, 0xA2C3) == 107
    assert uid_of_connection(TCP, 0xA2C3, 0xD431) == 0
    assert uid_of_connection(TCP, 1, 0xA2C3) is None


@pytest.mark.parametrize(
    ("now", "wanted", "expected"),
    [
        (("b.000001", 10), ("b.000001", 10), True),
        (("b.000001", 9), ("b.000001", 10), False),
        (("b.000010", 4), ("b.000009", 999), True),
        (("b.999999", 4), ("b.1000000", 4), False),
        (("", 0), ("b.000001", 4), False),
    ],
)
def test_reached(now, wanted, expected):
    assert following.reached(Position(*now), Position(*wanted)) is expected


@pytest.mark.parametrize("word", [("master", "slave"), ("source", "replica")])
def test_status_of_both_words(word):
    upper, lower = word
    row = {
        f"{upper}_log_file": "b.2",
        f"read_{upper}_log_pos": "9",
        f"relay_{upper}_log_file": "b.1",
        f"exec_{upper}_log_pos": "7",
        f"{lower}_io_running": "Connecting",
        f"{lower}_sql_running": "No",
        "last_io_error": "",
        "last_sql_error": "no such table",
    }
    assert following.parse_status(row) == following.Status(Position("b.2", 9), Position("b.1", 7), True, False, "no such table")


def test_filters():
    assert following.find_filters({"replicate_do_db": "a", "replicate_ignore_db": ""}) == ["replicate_do_db"]


def test_limits_of_the_load():
    assert live_options.over_limit({"Threads_running": 5}, {"threads_running": "5"}) == []
    assert live_options.over_limit({"Threads_running": 5}, {"threads_running": "6"}) == ["Threads_running is 6, more than 5"]
    with pytest.raises(InnodbError, match="no status counter Threads"):
        live_options.over_limit({"Threads": 1}, {})


def test_memory_of_the_successor():
    assert successor.pool_bytes(512 * MIB, 4096 * MIB, 10 * MIB) == 512 * MIB
    assert successor.pool_bytes(8192 * MIB, 4096 * MIB, 10 * MIB) == 2048 * MIB
    assert successor.pool_bytes(8 * MIB, 4096 * MIB, 10 * MIB) == 10 * MIB


def test_what_moves_is_no_part_of_a_steady_census():
    definition = "CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB{} DEFAULT CHARSET=latin1 COMMENT=') ENGINE=x AUTO_INCREMENT=1'"
    census = {"table a.t": {"definition": definition.format(" AUTO_INCREMENT=7")}, "server": {"x": "1"}, "table a.s": {"state": "3"}}
    assert live_copy.steady(census) == {"table a.t": {"definition": definition.format("")}, "table a.s": {}}
    assert live_copy.steady(census, {"table a.s": "9"})["table a.s"] == {"state": "9"}


def test_what_is_compared_again(tables):
    seconds = {"app.a": 0.3, "app.b": 0.1, "app.c": 0.2}
    titles = [table.title for table in cut_over.affordable(list(tables.values()), seconds, 0.35)]
    assert titles == ["app.b", "app.c"]
    assert cut_over.affordable(list(tables.values()), seconds, 0.05) == []


def test_changed_tables(tables):
    proof = SimpleNamespace(tables={table.title: table for table in tables.values()})
    rows = Changes(Position("b.1", 4), tables={("app", "b"), ("app", "gone")})
    assert [table.title for table in cut_over.changed_tables(proof, rows)] == ["app.b"]
    statements = Changes(Position("b.1", 4), row_statements=1)
    assert len(cut_over.changed_tables(proof, statements)) == 3


def test_an_outage_has_a_limit():
    parts = Parts(1000.0)
    parts.mark("fence")
    parts.require_left()
    assert list(parts.seconds) == ["fence"] and parts.left() < 1000
    with pytest.raises(InnodbError, match="took longer than 0 s"):
        Parts(0.0).require_left()

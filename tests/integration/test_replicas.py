# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Migrating a replica, an intermediate one included, and a server that has replicas: all go on, by GTID and by file and position."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from harness import PATIENCE, USER, Refused, Sandbox
from replicas import ACCOUNT, GTID, PASSWORD, PLACE, SHOP, replicate, rows, same, server, status

from ansible_collections.pagesmith.innodb.plugins.module_utils import replication, strategies
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError


@pytest.fixture(params=[GTID, PLACE], ids=["gtid", "file and position"])
def chain(request: pytest.FixtureRequest) -> Iterator[tuple[Sandbox, Sandbox, Sandbox]]:
    """A primary, its replica, and the replica of that."""
    with ExitStack() as stack:
        servers = [server(stack, number) for number in (1, 2, 3)]
        for each in servers:
            each.sql(ACCOUNT)
        for source, replica in zip(servers, servers[1:]):
            replicate(replica, source, request.param)
        servers[0].sql(SHOP)
        same(servers[1], servers[0])
        same(servers[2], servers[0])
        yield tuple(servers)


def test_every_server_of_a_chain(chain: tuple[Sandbox, Sandbox, Sandbox]) -> None:
    primary, middle, last = chain
    for number, each in enumerate((last, middle, primary), 1):
        before = each.sql("SHOW GLOBAL VARIABLES LIKE 'gtid_binlog_pos'")
        result = each.migrate("8k")
        assert result["outcome"] == "migrated" and each.page_size() == 8192
        assert each.sql("SHOW GLOBAL VARIABLES LIKE 'gtid_binlog_pos'") == before
        option_file = each.include / "zz-pagesmith.cnf"
        assert "skip_slave_start" not in option_file.read_text()
        assert option_file.stat().st_mtime <= each.socket.stat().st_mtime, "no restart is pending"
        if each is not primary:
            # A replica must not write its own transaction at the first use of such a table.
            each.sql("SELECT * FROM shop.basket")
            assert each.sql("SHOW GLOBAL VARIABLES LIKE 'gtid_binlog_pos'") == before
        primary.sql(f"INSERT INTO shop.orders (what) VALUES ('after {number}')")
        same(middle, primary)
        same(last, primary)
    for each in (middle, last):
        assert (status(each)["Slave_IO_Running"], status(each)["Slave_SQL_Running"]) == ("Yes", "Yes")


def test_the_password_of_a_replica_reaches_no_journal(chain: tuple[Sandbox, Sandbox, Sandbox]) -> None:
    _primary, middle, _last = chain
    result = middle.migrate("8k", dump_keep=True)
    assert PASSWORD not in json.dumps(result, default=str)
    assert PASSWORD in (middle.datadir / "master.info").read_text(), "the replica has it as before"
    for path in middle.work_path().rglob("*"):
        assert not path.is_file() or PASSWORD.encode() not in path.read_bytes(), path


def place(replica: Sandbox) -> list:
    """Where a replica stands, in the terms by which it goes on."""
    found = status(replica)
    return [found["Using_Gtid"], found["Exec_Master_Log_Pos"], found["Gtid_Slave_Pos"]]


def test_what_stood_still_stands_still(chain: tuple[Sandbox, Sandbox, Sandbox]) -> None:
    primary, middle, last = chain
    middle.sql("SET GLOBAL read_only=1; STOP SLAVE SQL_THREAD")
    last.sql("STOP SLAVE")
    primary.sql("INSERT INTO shop.orders (what) VALUES ('not yet')")
    deadline = time.monotonic() + PATIENCE
    while str(status(middle)["Read_Master_Log_Pos"]) != primary.sql("SHOW MASTER STATUS").split()[1]:
        assert time.monotonic() < deadline, status(middle)
        time.sleep(0.05)
    receives = status(middle)["Using_Gtid"] != "No"
    if not receives:
        # The source tells a receiver that comes by file and position a GTID, which the server would take for that of its applier.
        with pytest.raises(Refused, match=r"counts all of them as applied.*STOP SLAVE '' IO_THREAD"):
            middle.migrate("8k")
        middle.sql("STOP SLAVE IO_THREAD")
    at = {each: place(each) for each in (middle, last)}
    for each in (middle, last):
        assert each.migrate("8k")["outcome"] == "migrated"
        assert place(each) == at[each]
    assert (status(middle)["Slave_IO_Running"], status(middle)["Slave_SQL_Running"]) == ("Yes" if receives else "No", "No")
    assert (status(last)["Slave_IO_Running"], status(last)["Slave_SQL_Running"]) == ("No", "No")
    assert middle.sql("SELECT @@read_only").strip() == "1"
    assert rows(middle) == rows(last) == rows(primary) - 1
    # And they go on from where they stood.
    middle.sql("START SLAVE")
    last.sql("START SLAVE")
    same(middle, primary)
    same(last, primary)


def test_a_failure_after_the_fence_lets_replication_go_on(chain: tuple[Sandbox, Sandbox, Sandbox], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the new server has not the place of the old one, nobody gets to it, and the old one replicates again."""
    primary, middle, last = chain
    last.sql("STOP SLAVE")

    def refuse(*_details: object) -> None:
        raise InnodbError("the replica has another position", state="")

    failing = tuple((name, refuse if name == "compare" else step, text) for name, step, text in strategies.STEPS[strategies.DUMP_RESTORE])
    monkeypatch.setitem(strategies.STEPS, strategies.DUMP_RESTORE, failing)
    for each in (middle, last):
        files = sorted(path.name for path in each.include.iterdir())
        with pytest.raises(InnodbError, match="another position"):
            each.migrate("8k")
        assert each.page_size() == 16384
        assert sorted(path.name for path in each.include.iterdir()) == files
    assert status(last)["Slave_SQL_Running"] == "No"
    primary.sql("INSERT INTO shop.orders (what) VALUES ('afterwards')")
    same(middle, primary)
    assert rows(last) == rows(primary) - 1


def test_rollback_of_a_replica(chain: tuple[Sandbox, Sandbox, Sandbox]) -> None:
    primary, _middle, last = chain
    last.migrate("8k")
    primary.sql("INSERT INTO shop.orders (what) VALUES ('meanwhile')")
    same(last, primary)
    last.rollback(discard=True)
    assert last.page_size() == 16384
    # What it had applied since it applies again.
    same(last, primary)


def test_channels_with_names() -> None:
    with ExitStack() as stack:
        sources = [server(stack, number, gtid_domain_id=number) for number in (11, 12)]
        replica = server(stack, 13, gtid_domain_id=13, relay_log="relay/received", replicate_ignore_table="shop11.secret")
        (replica.datadir / "relay").mkdir()
        shutil.chown(replica.datadir / "relay", USER, USER)
        for source in sources:
            source.sql(ACCOUNT)
        for number, source, start in zip((11, 12), sources, (GTID, PLACE)):
            replicate(replica, source, start, f"from-{number}")
            source.sql(SHOP.replace("shop", f"shop{number}"))
            same(replica, source, f"shop{number}.orders")
        assert replica.migrate("4k")["outcome"] == "migrated"
        sources[0].sql("CREATE TABLE shop11.secret (id INT); INSERT INTO shop11.secret VALUES (1)")
        for number, source in zip((11, 12), sources):
            source.sql(f"INSERT INTO shop{number}.orders (what) VALUES ('after')")
            same(replica, source, f"shop{number}.orders")
        assert replica.sql("SHOW TABLES FROM shop11").split() == ["basket", "orders"], "the filter is there still"


def test_a_replica_that_does_not_reach_its_source_is_refused(chain: tuple[Sandbox, Sandbox, Sandbox]) -> None:
    primary, middle, _last = chain
    primary.stop()
    deadline = time.monotonic() + PATIENCE
    while status(middle)["Slave_IO_Running"] != "Connecting":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with pytest.raises(Refused, match="does not reach its source"):
        middle.migrate("8k")


def test_a_filter_set_by_statement_is_refused(chain: tuple[Sandbox, Sandbox, Sandbox]) -> None:
    _primary, _middle, last = chain
    last.sql("STOP SLAVE; SET GLOBAL replicate_ignore_table='shop.secret'; START SLAVE")
    with pytest.raises(Refused, match="replicate_ignore_table was set while the server ran"):
        last.migrate("8k")


def test_a_replica_that_does_not_catch_up(chain: tuple[Sandbox, Sandbox, Sandbox], monkeypatch: pytest.MonkeyPatch) -> None:
    """The new server stays, the failure says what is missing, and the next run only waits."""
    primary, middle, _last = chain
    waits = []

    def late(*arguments: object) -> None:
        if not waits:
            middle.sql("STOP SLAVE IO_THREAD")
        waits.append(arguments)
        real(*arguments)

    real = replication.wait_until_caught_up
    monkeypatch.setattr(replication, "wait_until_caught_up", late)
    with pytest.raises(InnodbError, match="has not caught up within 1 s.*IO thread is in the state No.*holds all data"):
        middle.migrate("8k", catch_up_timeout=1)
    assert middle.page_size() == 8192
    middle.sql("START SLAVE IO_THREAD")
    result = middle.migrate("8k")
    assert result["outcome"] == "migrated" and len(waits) == 2
    primary.sql("INSERT INTO shop.orders (what) VALUES ('more')")
    same(middle, primary)


def test_temporary_tables_of_the_source_are_waited_for(chain: tuple[Sandbox, Sandbox, Sandbox], monkeypatch: pytest.MonkeyPatch) -> None:
    primary, middle, _last = chain
    monkeypatch.setattr(replication, "TEMPORARY_TABLES_SECONDS", 1.0)
    with primary.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION binlog_format='STATEMENT'")
        cursor.execute("CREATE TEMPORARY TABLE shop.now SELECT * FROM shop.orders LIMIT 3")
        cursor.execute("INSERT INTO shop.orders (what) SELECT what FROM shop.now")
        same(middle, primary)
        pid = middle.servers()
        with pytest.raises(InnodbError, match="has temporary tables of its source"):
            middle.migrate("8k")
        assert middle.servers() == pid, "the server was not stopped"
        cursor.execute("INSERT INTO shop.orders (what) SELECT what FROM shop.now")
        same(middle, primary)
    assert middle.migrate("8k")["outcome"] == "migrated"
    same(middle, primary)
    assert not list(Path(middle.work_path()).glob("run-*"))

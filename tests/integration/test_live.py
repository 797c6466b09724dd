# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The strategy live: what happens on the running server meanwhile arrives, what can't be followed is refused."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from content import read_content, require_equal
from harness import CASES, Refused, Sandbox
from writers import load

from ansible_collections.pagesmith.innodb.plugins.module_utils import eager_flushing, live_steps
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.live_options import LiveOptions
from ansible_collections.pagesmith.innodb.plugins.module_utils.session import Login, connect
from ansible_collections.pagesmith.innodb.plugins.module_utils.tablespace import page_size_of_file

BINARY_LOG = {"log_bin": "binlog", "server_id": "5", "binlog_format": "ROW"}
INNODB_ONLY = "ALTER TABLE shop.audit ENGINE=InnoDB; ALTER TABLE shop.visits ENGINE=InnoDB"


@pytest.fixture
def server() -> Iterator[Sandbox]:
    with Sandbox(settings=BINARY_LOG) as sandbox:
        yield sandbox


def everything(server: Sandbox) -> dict:
    with server.connect() as connection:
        return read_content(connection)


@pytest.mark.parametrize("strategy", ["side_by_side", "live"])
def test_every_kind_of_object_arrives(server: Sandbox, strategy: str) -> None:
    server.sql((CASES / "shop.sql").read_text())
    if strategy == "live":
        server.sql(INNODB_ONLY)
    server.restart()
    before = everything(server)
    result = server.migrate("8k", strategy=strategy)
    assert (result["outcome"], result["strategy"], server.page_size()) == ("migrated", strategy, 8192)
    require_equal(before, everything(server))
    assert server.migrate("8k", strategy=strategy)["outcome"] == "already"
    assert server.rollback()["lost_writes"] == []
    require_equal(before, everything(server))


def between(monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox, statements: str) -> None:
    """Have statements run on the server after the copy and before the successor begins to apply."""
    follow = live_steps.Follower.start

    def start(itself: live_steps.Follower) -> None:
        sandbox.sql(statements)
        follow(itself)

    monkeypatch.setattr(live_steps.Follower, "start", start)


def test_what_happens_while_it_is_followed_arrives(server: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    server.sql((CASES / "shop.sql").read_text() + INNODB_ONLY)
    between(
        monkeypatch,
        server,
        "CREATE USER late@localhost IDENTIFIED BY 'secret'; GRANT SELECT ON shop.* TO late@localhost; USE shop;"
        "CREATE TABLE late (id INT AUTO_INCREMENT PRIMARY KEY, v INT);"
        "INSERT INTO late (v) VALUES (1), (2), (3); DELETE FROM late WHERE id=3;"
        "CREATE VIEW late_view AS SELECT v FROM late; CREATE TRIGGER late_trigger BEFORE INSERT ON late FOR EACH ROW SET NEW.v=NEW.v+1;"
        "CREATE EVENT late_event ON SCHEDULE EVERY 1 YEAR DO DELETE FROM late;"
        "CREATE SEQUENCE late_sequence; SELECT NEXTVAL(late_sequence);"
        "CREATE PROCEDURE late_procedure() SELECT 1; ALTER TABLE audit ADD COLUMN late INT;",
    )
    result = server.migrate("8k", strategy="live")
    assert result["outcome"] == "migrated"
    assert server.sql("SELECT status FROM information_schema.events WHERE event_name='late_event'") == "ENABLED\n"
    assert server.sql("SHOW GRANTS FOR late@localhost").count("GRANT") == 2
    assert server.sql("SELECT NEXTVAL(shop.late_sequence) > 1") == "1\n"
    # The counter stands where it stood although the row that moved it is gone; the trigger works.
    assert server.sql("INSERT INTO shop.late (v) VALUES (10); SELECT id, v FROM shop.late ORDER BY id DESC LIMIT 1") == "4\t11\n"
    assert server.sql("SHOW ALL SLAVES STATUS; SELECT @@gtid_slave_pos") == "\n"


def test_definitions_that_change_in_the_copy_begin_it_again(server: Sandbox) -> None:
    """A statement that waits for the copy is let through at once, and the copy is made anew."""
    server.sql(
        "CREATE DATABASE app; USE app; CREATE TABLE t (id INT PRIMARY KEY, v CHAR(200)); INSERT INTO t SELECT seq, '' FROM seq_1_to_300000"
    )
    altered = threading.Event()

    def alter() -> None:
        partial = server.work
        while not any(names for _path, _directories, names in os.walk(partial) if any(name.endswith(".rows") for name in names)):
            time.sleep(0.01)
        server.sql("ALTER TABLE app.t ADD COLUMN w INT DEFAULT 7, ALGORITHM=COPY")
        altered.set()

    thread = threading.Thread(target=alter)
    thread.start()
    result = server.migrate("8k", strategy="live")
    thread.join()
    assert altered.is_set() and result["outcome"] == "migrated"
    assert server.sql("SELECT SUM(w) FROM app.t") == f"{7 * 300000}\n"


@pytest.mark.parametrize(
    ("settings", "statements", "blocker"),
    [
        ({}, "", "log_bin"),
        ({**BINARY_LOG, "binlog_format": "STATEMENT"}, "", "live binlog_format"),
        (BINARY_LOG, "CREATE DATABASE a; CREATE TABLE a.t (i INT) ENGINE=MyISAM", "live engine of a.t"),
    ],
    ids=["no binary log", "statements", "another engine"],
)
def test_what_cannot_be_followed_is_refused(settings: dict, statements: str, blocker: str) -> None:
    with Sandbox(settings=settings) as sandbox:
        sandbox.sql(statements)
        with pytest.raises(Refused) as caught:
            sandbox.migrate("8k", strategy="live")
        assert [found.id for found in caught.value.blockers] == [blocker]
        assert sandbox.page_size() == 16384


def test_a_log_that_leaves_schemas_out_is_refused() -> None:
    with Sandbox(settings={**BINARY_LOG, "binlog_ignore_db": "secret"}) as sandbox:
        with pytest.raises(InnodbError, match="the binary log leaves schemas out"):
            sandbox.migrate("8k", strategy="live")
        assert sandbox.page_size() == 16384 and sandbox.answers()


def test_what_the_binary_log_does_not_tell_is_found(server: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    server.sql("CREATE DATABASE app; CREATE TABLE app.t (id INT PRIMARY KEY)")
    between(monkeypatch, server, "SET sql_log_bin=0; INSERT INTO app.t VALUES (1)")
    with pytest.raises(InnodbError, match="table app.t content") as caught:
        server.migrate("8k", strategy="live")
    assert "runs on with all its data" in caught.value.state
    assert server.sql("SELECT id FROM app.t") == "1\n"


def test_too_long_an_outage_opens_the_old_server_again(server: Sandbox) -> None:
    with load(server, 5) as clients:
        with pytest.raises(InnodbError, match="took longer than 0.05 s"):
            server.migrate("8k", strategy="live", live=LiveOptions(outage_seconds=0.05))
        clients.wait_for_more()
    assert server.page_size() == 16384
    clients.check()


def test_a_lock_that_is_not_to_be_had_costs_the_copy_only(server: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    server.sql("CREATE DATABASE app; CREATE TABLE app.t (id INT PRIMARY KEY)")
    monkeypatch.setattr(live_steps, "ATTEMPTS", 2)
    with server.connect() as other, other.cursor() as cursor:
        start = live_steps.Follower.start

        def lock(itself: live_steps.Follower) -> None:
            cursor.execute("LOCK TABLES app.t WRITE")
            start(itself)

        monkeypatch.setattr(live_steps.Follower, "start", lock)
        with pytest.raises(InnodbError, match="held still within 1 s|can't be read"):
            server.migrate("8k", strategy="live", live=LiveOptions(lock_seconds=1))
        cursor.execute("INSERT INTO app.t VALUES (1)")
    assert server.sql("SELECT id FROM app.t") == "1\n"


def test_a_cut_over_that_is_put_off_leaves_the_settings_of_the_server(server: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    server.sql("CREATE DATABASE app; CREATE TABLE app.t (id INT PRIMARY KEY); SET GLOBAL innodb_max_dirty_pages_pct=71")
    wait, seen = eager_flushing.wait, []
    with connect(Login(unix_socket=str(server.socket), user="root")) as session, server.connect() as other, other.cursor() as cursor:
        before = eager_flushing.current(session)

        def lock(sessions: list) -> list[int]:
            seen.append(eager_flushing.current(session))
            left = wait(sessions)
            cursor.execute("LOCK TABLES app.t WRITE")
            return left

        monkeypatch.setattr(eager_flushing, "wait", lock)
        with pytest.raises(InnodbError, match="held still within 1 s"):
            server.migrate("8k", strategy="live", live=LiveOptions(lock_seconds=1, attempts=1))
        wanted = eager_flushing.wanted(before)
        assert [{name: float(values[name]) for name in wanted} for values in seen] == [{name: float(wanted[name]) for name in wanted}]
        assert eager_flushing.current(session) == before


def test_a_rollback_in_the_middle_of_the_load_keeps_what_was_written(server: Sandbox) -> None:
    """Without being told to, it refuses to give that up."""
    with load(server, 10) as clients:
        server.migrate("8k", strategy="live")
        clients.wait_for_more()
        with pytest.raises(InnodbError, match="would lose what was written since the migration, here: table app") as caught:
            server.rollback()
        assert "innodb_rollback_keep_writes" in caught.value.remedy
        clients.wait_for_more()
        assert server.page_size() == 8192
        result = server.rollback(keep=True)
        assert (result["outcome"], result["lost_writes"], result["page_size_after"]) == ("rolled_back", [], 16384)
        clients.wait_for_more()
    assert server.page_size() == 16384
    clients.check()
    kept = server.kept()
    assert [Path(path).is_dir() for path in kept] == [True, True]
    assert sorted(page_size_of_file(f"{path}/ibdata1") for path in kept) == [8192, 16384]


@pytest.mark.parametrize("strategy", ["dump_restore", "live"])
def test_every_kind_of_change_since_the_migration_is_kept(server: Sandbox, strategy: str) -> None:
    server.sql((CASES / "shop.sql").read_text())
    server.sql(INNODB_ONLY)
    server.restart()
    server.migrate("8k", strategy=strategy)
    retained = server.kept()[0]
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(Path(retained).rglob("*"))}
    server.sql(
        "CREATE DATABASE later; CREATE TABLE later.t (id INT AUTO_INCREMENT PRIMARY KEY, v DOUBLE);"
        "INSERT INTO later.t (v) VALUES (0.1), (1e300); ALTER TABLE shop.audit ADD COLUMN more INT;"
        "CREATE USER since@localhost IDENTIFIED BY 'x'; GRANT SELECT ON later.* TO since@localhost;"
        "CREATE EVENT later.e ON SCHEDULE EVERY 1 DAY DO DELETE FROM later.t; CREATE VIEW later.v AS SELECT v FROM later.t;"
        "CREATE TRIGGER later.g BEFORE INSERT ON later.t FOR EACH ROW SET NEW.v=NEW.v+1; INSERT INTO later.t (v) VALUES (7)"
    )
    server.restart()
    now = everything(server)
    result = server.rollback(keep=True)
    assert (len(result["set_aside"]), result["retained_directory"]) == (1, None)
    assert server.page_size() == 16384
    require_equal(now, everything(server))
    assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in before} == before
    with pytest.raises(AssertionError, match="nothing to roll back"):
        server.rollback(keep=True)


def test_a_rollback_that_cannot_keep_writes_changes_nothing(server: Sandbox) -> None:
    server.sql("CREATE DATABASE app; CREATE TABLE app.t (id INT PRIMARY KEY)")
    server.migrate("8k", strategy="live")
    server.sql("INSERT INTO app.t VALUES (1); SET sql_log_bin=0; INSERT INTO app.t VALUES (2)")
    with pytest.raises(InnodbError, match="table app.t content") as caught:
        server.rollback(keep=True)
    assert "runs on with all its data" in caught.value.state
    server.sql("DELETE FROM app.t WHERE id=2; FLUSH BINARY LOGS")
    time.sleep(1)
    server.sql("PURGE BINARY LOGS BEFORE NOW()")
    with pytest.raises(InnodbError, match="what was written since can't be kept: the file binlog.[0-9]+ of the binary log is gone"):
        server.rollback(keep=True)
    assert (server.page_size(), server.sql("SELECT id FROM app.t")) == (8192, "1\n")

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""instance_info on real servers: up, down, busy, replicating, with tables near limits and with an account that may do little."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from harness import Sandbox
from test_cases import parse_fits

TESTS = Path(__file__).resolve().parent.parent
MODULE = "ansible_collections.pagesmith.innodb.plugins.modules.instance_info"
# A module of ansible-core 2.19 is told how its arguments are written; others do not ask.
START = (
    f"import sys; sys.path.insert(0, {str(TESTS)!r}); import conftest; conftest.pytest_configure();"
    f" import ansible.module_utils.basic as basic; basic._ANSIBLE_PROFILE = 'legacy'; from {MODULE} import main; main()"
)
PATIENCE = 60
ROW_ERROR, KEY_ERROR = "1118", "1071"
DEFAULT_SUBSETS = ("server", "layout", "storage", "settings", "schema", "replication", "migration")
TABLES = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE orders (id INT PRIMARY KEY, note TEXT, KEY (note(30))) CHARACTER SET utf8mb4;
INSERT INTO orders SELECT seq, REPEAT('x', 400) FROM seq_1_to_5000;
CREATE TABLE parts (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 4;
CREATE TABLE packed (id INT PRIMARY KEY, v TEXT) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4;
CREATE TABLE pages (id INT PRIMARY KEY) PAGE_COMPRESSED=1;
CREATE TABLE `t-1 \u00fc` (id INT PRIMARY KEY, words TEXT, FULLTEXT (words)) ROW_FORMAT=COMPACT;
CREATE TABLE words (id INT PRIMARY KEY) ENGINE=MyISAM;
CREATE TABLE aria (id INT PRIMARY KEY) ENGINE=Aria;
CREATE TABLE memory (id INT PRIMARY KEY) ENGINE=MEMORY;
CREATE VIEW recent AS SELECT * FROM orders;
CREATE TRIGGER before_order BEFORE INSERT ON orders FOR EACH ROW SET NEW.note='';
CREATE PROCEDURE nothing() SELECT 1;
CREATE EVENT never ON SCHEDULE EVERY 1 YEAR DO SELECT 1;
ANALYZE TABLE orders;
"""


def start_module(server: Sandbox, subsets: tuple[str, ...], more: dict[str, Any]) -> dict[str, Any]:
    """The module in a process of its own, as Ansible starts it."""
    given = {
        **({"gather_subset": list(subsets)} if subsets else {}),
        "sample_seconds": 1,
        "instance": {"defaults_file": str(server.option_file), "manager": "process", "socket": str(server.socket)},
        "work_dir": str(server.work),
        **more,
    }
    done = subprocess.run(
        [sys.executable, "-c", START], input=json.dumps({"ANSIBLE_MODULE_ARGS": given}), capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def info(server: Sandbox, *subsets: str, **more: Any) -> dict[str, Any]:
    result = start_module(server, subsets, more)
    assert not result.get("failed"), result["msg"]
    return result


def tables_of(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {table["table"]: table for table in result["schema"]["table_list"]}


@pytest.fixture(scope="module")
def filled() -> Iterator[Sandbox]:
    """A server with tables of many kinds."""
    with Sandbox(settings={"innodb_io_capacity": "345"}) as server:
        server.sql(TABLES)
        yield server


def test_all_that_was_asked_for_is_told(filled):
    result = info(filled)
    assert set(DEFAULT_SUBSETS) <= set(result)
    assert "workload" not in result
    assert (result["running"], result["page_size"], result["page_size_files"], result["changed"]) == (True, 16384, 16384, False)


def test_tables(filled):
    result = info(filled, "schema")
    schema, tables = result["schema"], tables_of(result)
    assert set(tables) == {f"shop.{name}" for name in ("orders", "parts", "packed", "pages", "t-1 \u00fc", "words", "aria", "memory")}
    assert schema["schemas"] == ["shop"]
    assert {kind: schema["objects"][kind] for kind in ("views", "triggers", "routines", "events")} == {
        **{"views": 1, "triggers": 1, "routines": 1, "events": 1},
    }
    assert schema["by_engine"].keys() == {"InnoDB", "MyISAM", "Aria", "MEMORY"}
    assert {name: entry["tables"] for name, entry in schema["by_row_format"].items()} == {"Dynamic": 3, "Compressed": 1, "Compact": 1}
    assert schema["compressed"] == {"tables": 2, "key_block_sizes": {"4096": 1}}
    assert schema["large_objects"]["tables"] == 3
    assert tables["shop.pages"]["compressed"] and not tables["shop.orders"]["compressed"]


def test_sizes_are_those_of_the_server(filled):
    orders = tables_of(info(filled, "schema"))["shop.orders"]
    query = "SELECT data_length, index_length FROM information_schema.tables WHERE table_name='orders'"
    assert [orders["data_bytes"], orders["index_bytes"]] == [int(value) for value in filled.sql(query).split()]
    assert orders["rows"] == pytest.approx(5000, rel=0.1)
    assert orders["average_row_bytes"] == pytest.approx(450, rel=0.4)
    # The beginning of 30 characters of at most four bytes.
    assert orders["widest_key_bytes"] == 120


def test_settings_and_where_they_are_set(filled):
    server = info(filled, "server")["server"]
    line = filled.option_text().splitlines().index("innodb_io_capacity=345") + 1
    assert server["origins"]["innodb_io_capacity"] == {"value": "345", "file": str(filled.option_file), "line": line}
    assert server["origins"]["innodb_page_size"] == {"value": "16384", "default": True}
    filled.sql("SET GLOBAL innodb_io_capacity=346")
    server = info(filled, "server")["server"]
    assert server["origins"]["innodb_io_capacity"]["value"] == "346"
    assert server["origins"]["innodb_io_capacity"]["place"] == "set while the server runs"
    assert server["page_size_agrees"] and server["page_size_notes"] == []
    assert server["uptime_seconds"] >= 0
    assert filled.sql("SELECT VERSION()").strip() in server["vendor_build"]


def test_nothing_is_opened_written_or_left(filled):
    def opened() -> int:
        return int(filled.sql("SHOW GLOBAL STATUS LIKE 'Opened_tables'").split()[1])

    info(filled, "all")
    before, tables = filled.snapshot(), opened()
    info(filled, "all", table_list_limit=0)
    assert filled.snapshot() == before
    assert opened() - tables <= 3


def test_a_table_that_somebody_changes_holds_nothing_up(filled):
    with filled.connect() as connection, connection.cursor() as cursor:
        cursor.execute("LOCK TABLES shop.orders WRITE")
        begun = time.monotonic()
        result = info(filled)
        assert time.monotonic() - begun < 30
    assert tables_of(result)["shop.orders"]["rows"] > 0


def test_no_time_is_no_error(filled):
    result = info(filled, "all", subset_timeout=0.0001)
    assert result["page_size"] == 16384
    assert "subset_timeout" in result["omitted"]["schema.tables"]
    assert "subset_timeout" in result["omitted"]["workload"]


def test_an_account_that_may_do_nothing(filled):
    filled.sql("CREATE USER IF NOT EXISTS nobody IDENTIFIED BY 'pw'")
    result = info(filled, "all", login_user="nobody", login_password="pw")
    assert result["page_size"] == 16384
    assert "PROCESS" in result["omitted"]["schema.tables"]
    assert (result["schema"]["tables"], result["schema"]["near_limits"]) == (None, None)
    assert result["replication"]["role"] is None
    assert "replication.upstream" in result["omitted"]
    assert result["server"]["origins"]


def test_counters(filled):
    stop = threading.Event()

    def work() -> None:
        with filled.connect() as connection, connection.cursor() as cursor:
            while not stop.is_set():
                cursor.execute("SELECT COUNT(*) FROM shop.orders")
                cursor.execute("UPDATE shop.orders SET note='y' WHERE id=1")

    worker = threading.Thread(target=work)
    worker.start()
    try:
        workload = info(filled, "workload", sample_seconds=2)["workload"]
    finally:
        stop.set()
        worker.join()
    assert workload["sample_seconds"] == pytest.approx(2, abs=1.5)
    assert workload["sampled"]["reads"] > 1 and workload["sampled"]["writes"] > 1
    assert 0.9 < workload["sampled"]["buffer_pool_hit_ratio"] <= 1
    assert workload["buffer_pool"]["size_bytes"] == 64 << 20
    assert workload["io_bound"]["verdict"] == "unknown"
    assert "minutes only" in workload["io_bound"]["reasons"][0]


def test_counters_without_a_sample(filled):
    begun = time.monotonic()
    workload = info(filled, "workload", sample_seconds=0)["workload"]
    assert time.monotonic() - begun < 30
    assert (workload["sampled"], workload["sample_seconds"]) == (None, 0)
    assert workload["since_start"]["reads"] > 0


def test_limits_of_other_page_sizes():
    """Every table that a real server refuses for its rows or keys is near a limit or past it."""
    with Sandbox() as server:
        for table in parse_fits():
            server.sql(f"CREATE DATABASE {table.name}; USE {table.name}; {table.statement}")
        near = {(each["table"], each["page_size"], each["kind"]) for each in info(server, "schema")["schema"]["near_limits"]}
        kinds = {ROW_ERROR: "row", KEY_ERROR: "key"}
        refused = {
            (f"{table.name}.{table.name}", int(size[:-1]) * 1024, kinds[verdict])
            for table in parse_fits()
            for size, verdict in table.verdicts.items()
            if verdict in kinds
        }
        assert refused and refused <= near, refused - near


def test_a_beginning_of_a_column_in_a_key_is_no_wide_key(filled):
    filled.sql(
        "CREATE TABLE shop.wide (id INT PRIMARY KEY, v VARCHAR(768), w VARCHAR(768), KEY (v(50)), KEY whole (w)) CHARACTER SET utf8mb4"
    )
    try:
        near = info(filled, "schema", table_list_limit=0)["schema"]["near_limits"]
        assert {(each["page_size"], each["kind"], each["declared_bytes"]) for each in near if each["table"] == "shop.wide"} == {
            *((size, "key", 3072) for size in (4096, 8192, 16384, 32768, 65536)),
        }
        filled.sql("ALTER TABLE shop.wide DROP KEY whole")
        result = info(filled, "schema")
        assert tables_of(result)["shop.wide"]["widest_key_bytes"] == 200
        assert not [each for each in result["schema"]["near_limits"] if each["table"] == "shop.wide"]
    finally:
        filled.sql("DROP TABLE shop.wide")


@pytest.mark.parametrize("size", ["4k", "64k"])
def test_up_and_down_agree(size):
    with Sandbox(size=size) as server:
        server.sql(TABLES if size != "64k" else TABLES.replace("ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4", ""))
        up = info(server, "all")
        server.stop()
        down = info(server, "all")
    assert (up["running"], down["running"]) == (True, False)
    assert up["page_size"] == down["page_size"] == down["page_size_files"]
    assert down["page_size_server"] is None
    assert down["omitted"]["workload"] == down["omitted"]["replication"] == "the server is not running"
    assert "schema.rows" in down["omitted"] and "server.uptime_seconds" in down["omitted"]
    for name in ("layout", "storage", "settings"):
        assert down[name].keys() == up[name].keys() if isinstance(up[name], dict) else down[name] == up[name]
    assert down["server"]["page_size_agrees"]
    assert down["server"]["origins"]["innodb_page_size"] == up["server"]["origins"]["innodb_page_size"]
    of_up, of_down = tables_of(up), tables_of(down)
    # Without the server no table is seen that has no file of its own, and a letter of Europe stays as its code.
    assert {name.replace("\u00fc", "@1o") for name in of_up} - set(of_down) == {"shop.memory"}
    for name in ("shop.orders", "shop.parts"):
        assert of_down[name]["engine"] == of_up[name]["engine"]
        assert of_down[name]["data_bytes"] >= of_up[name]["data_bytes"]
    assert of_down["shop.packed"]["key_block_size"] == of_up["shop.packed"]["key_block_size"]


def test_an_option_file_that_does_not_agree(sandbox):
    sandbox.option_file.write_text(sandbox.option_file.read_text().replace("[mysqld]", "[mysqld]\ninnodb_page_size=8k"))
    result = info(sandbox, "server")
    assert (result["page_size"], result["page_size_option"]) == (16384, 8192)
    assert result["server"]["page_size_agrees"] is False
    assert "line 2 asks for 8192 bytes, the data directory has 16384" in result["server"]["page_size_notes"][0]
    assert result["server"]["origins"]["innodb_page_size"] == {"value": "16384", "default": True}


@contextmanager
def replicating() -> Iterator[tuple[Sandbox, Sandbox]]:
    """A primary of 16k pages and a replica of 8k."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    network = {"skip-networking": False, "bind-address": "127.0.0.1", "port": port, "log_bin": None, "server_id": 1}
    with Sandbox(settings=network) as primary, Sandbox(settings={"server_id": 2, "report_host": "replica.test"}, size="8k") as replica:
        primary.sql("CREATE USER repl IDENTIFIED BY 'pw'; GRANT REPLICATION SLAVE ON *.* TO repl; CREATE DATABASE shop")
        replica.sql(
            f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='repl', MASTER_PASSWORD='pw',"
            " MASTER_USE_GTID=slave_pos; START SLAVE"
        )
        deadline = time.monotonic() + PATIENCE
        while "shop" not in replica.sql("SHOW DATABASES"):
            assert time.monotonic() < deadline, replica.sql("SHOW ALL SLAVES STATUS")
            time.sleep(0.1)
        yield primary, replica


def test_replication():
    with replicating() as (primary, replica):
        above, below = info(primary, "replication")["replication"], info(replica, "replication")["replication"]
        assert (above["role"], below["role"]) == ("primary", "replica")
        # The replica has no network of its own, so there is no port to tell.
        assert above["downstream"] == [{"host": "replica.test", "port": None, "server_id": 2}]
        assert (above["upstream"], below["downstream"]) == ([], [])
        (channel,) = below["upstream"]
        assert (channel["host"], channel["running"], channel["lag_seconds"], channel["error"]) == ("127.0.0.1", True, 0, None)
        assert (above["log_bin"], below["log_bin"]) == (True, False)
        assert above["gtid"]["position"] == below["gtid"]["position"] == channel["gtid"] != ""
        assert (above["galera"], above["group_replication"]) == (None, False)
        replica.sql("STOP SLAVE SQL_THREAD")
        (channel,) = info(replica, "replication")["replication"]["upstream"]
        assert (channel["running"], channel["lag_seconds"]) == (False, None)


def test_another_server_on_the_socket_is_refused(filled):
    with Sandbox() as other:
        instance = {"defaults_file": str(filled.option_file), "manager": "process", "socket": str(other.socket)}
        result = start_module(filled, (), {"instance": instance})
    assert result["failed"] and str(other.datadir) in result["msg"]

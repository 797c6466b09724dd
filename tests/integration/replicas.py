# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Private servers that replicate from one another."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack

from harness import PATIENCE, Sandbox

PASSWORD = "Corr3ct-horse"
# Not in the binary log, which then begins with what the servers have in common.
ACCOUNT = f"""
SET sql_log_bin=0;
CREATE USER copy@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';
GRANT REPLICATION SLAVE ON *.* TO copy@'127.0.0.1';
RESET MASTER;
"""
SHOP = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(200) NOT NULL);
CREATE TABLE shop.basket (id INT) ENGINE=MEMORY;
INSERT INTO shop.orders (what) SELECT CONCAT('order ', seq) FROM seq_1_to_500;
"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def server(stack: ExitStack, number: int, **settings: object) -> Sandbox:
    given = {
        "skip-networking": False,
        "bind-address": "127.0.0.1",
        "port": free_port(),
        "server_id": number,
        "log_bin": "binlog",
        "log_slave_updates": "ON",
        "gtid_strict_mode": "ON",
        "slave_net_timeout": 10,
        **settings,
    }
    return stack.enter_context(Sandbox(settings=given))


def status(replica: Sandbox, channel: str = "") -> dict[str, str]:
    with replica.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW ALL SLAVES STATUS")
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row)) for row in cursor.fetchall()]
    return next(row for row in rows if row["Connection_name"] == channel)


def replicate(replica: Sandbox, source: Sandbox, start: str, channel: str = "") -> None:
    """Let a server replicate from another one, from the beginning of its binary log."""
    replica.sql(
        f"CHANGE MASTER '{channel}' TO master_host='127.0.0.1', master_port={source.settings['port']}, master_user='copy',"
        f" master_password='{PASSWORD}', master_connect_retry=1, {start}; START SLAVE '{channel}'"
    )


def rows(sandbox: Sandbox, table: str = "shop.orders") -> int:
    return int(sandbox.sql(f"SELECT COUNT(*) FROM {table}"))


def same(replica: Sandbox, source: Sandbox, table: str = "shop.orders") -> None:
    """Wait until a replica has the rows of its source."""
    wanted = source.sql(f"CHECKSUM TABLE {table}")
    assert "NULL" not in wanted
    deadline = time.monotonic() + PATIENCE
    while replica.sql(f"CHECKSUM TABLE {table}", "--force") != wanted:
        assert time.monotonic() < deadline, status(replica)
        time.sleep(0.05)


GTID = "master_use_gtid=slave_pos"
PLACE = "master_use_gtid=no"

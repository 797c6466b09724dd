# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What differs between engines and versions when one server follows another: rows for the table of engines.py."""

from __future__ import annotations

from .trait_row import ANY, BOTH_MYSQL, FOREVER, MARIADB, Row

#: Following by file and position, which every server offers, with GTIDs and without. {port}, {offset} and {seconds} are numbers of ours.
MARIADB_STATEMENTS = {
    "change": "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER=%s, MASTER_PASSWORD=%s, MASTER_LOG_FILE=%s,"
    " MASTER_LOG_POS={offset}, MASTER_USE_GTID=no, MASTER_CONNECT_RETRY=1, MASTER_SSL=0",
    "start_receiver": "START SLAVE IO_THREAD",
    "start_applier": "START SLAVE SQL_THREAD",
    "start_applier_until": "START SLAVE SQL_THREAD UNTIL MASTER_LOG_FILE=%s, MASTER_LOG_POS={offset}",
    "stop_applier": "STOP SLAVE SQL_THREAD",
    "stop_receiver": "STOP SLAVE IO_THREAD",
    "stop": "STOP SLAVE",
    "forget": "RESET SLAVE ALL",
    "status": "SHOW SLAVE STATUS",
    "position": "SHOW MASTER STATUS",
}
MYSQL_STATEMENTS = {
    "change": "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER=%s, SOURCE_PASSWORD=%s,"
    " SOURCE_LOG_FILE=%s, SOURCE_LOG_POS={offset}, SOURCE_AUTO_POSITION=0, SOURCE_CONNECT_RETRY=1, SOURCE_SSL=0, GET_SOURCE_PUBLIC_KEY=1",
    "start_receiver": "START REPLICA IO_THREAD",
    "start_applier": "START REPLICA SQL_THREAD",
    "start_applier_until": "START REPLICA SQL_THREAD UNTIL SOURCE_LOG_FILE=%s, SOURCE_LOG_POS={offset}",
    "stop_applier": "STOP REPLICA SQL_THREAD",
    "stop_receiver": "STOP REPLICA IO_THREAD",
    "stop": "STOP REPLICA",
    "forget": "RESET REPLICA ALL",
    "status": "SHOW REPLICA STATUS",
    "position": "SHOW BINARY LOG STATUS",
}

FOLLOWING_ROWS = (
    Row("following", (MARIADB,), ANY, FOREVER, MARIADB_STATEMENTS),
    Row("following", BOTH_MYSQL, (8, 0, 26), (8, 2), {**MYSQL_STATEMENTS, "position": "SHOW MASTER STATUS"}),
    Row("following", BOTH_MYSQL, (8, 2), FOREVER, MYSQL_STATEMENTS),
    # A server that follows takes every change as it is and stops at the first that does not fit, whatever its option files say.
    Row(
        "follower_options",
        (MARIADB,),
        ANY,
        FOREVER,
        (
            "--slave-exec-mode=STRICT",
            "--slave-skip-errors=OFF",
            "--slave-parallel-threads=4",
            "--relay-log-recovery=0",
            "--relay-log-purge=1",
            "--innodb-flush-log-at-trx-commit=2",
            "--read-only=0",
        ),
    ),
    Row(
        "follower_options",
        BOTH_MYSQL,
        (8, 0, 26),
        FOREVER,
        (
            "--replica-exec-mode=STRICT",
            "--replica-skip-errors=OFF",
            "--replica-parallel-workers=4",
            "--relay-log-recovery=0",
            "--relay-log-purge=1",
            "--innodb-flush-log-at-trx-commit=2",
            "--replicate-same-server-id",
            "--skip-log-replica-updates",
        ),
    ),
    # Whether a server that shuts down waits for those who receive its binary log, and lets no commit slip in meanwhile.
    Row("shutdown_waits_for_receivers", (MARIADB,), ANY, FOREVER, False),
    Row("shutdown_waits_for_receivers", BOTH_MYSQL, ANY, FOREVER, True),
    # Whether a server that follows has the server_id of its source: an event keeps the number of the server that made it, and only
    # where events are rows of a table can it be another one.
    Row("follower_keeps_server_id", (MARIADB,), ANY, FOREVER, False),
    Row("follower_keeps_server_id", BOTH_MYSQL, ANY, FOREVER, True),
    # Where a successor keeps what it knows of its source until it follows no more: over its restarts, and apart from what is carried.
    Row(
        "successor_files",
        (MARIADB,),
        ANY,
        FOREVER,
        (
            "--relay-log={build}/pagesmith-relay",
            "--master-info-file={build}/pagesmith-master.info",
            "--relay-log-info-file={build}/pagesmith-relay-log.info",
        ),
    ),
    Row(
        "successor_files",
        BOTH_MYSQL,
        ANY,
        FOREVER,
        ("--relay-log={build}/pagesmith-relay", "--relay-log-index={build}/pagesmith-relay.index"),
    ),
    # An event that was made while a server followed is switched off there; a statement puts it back, or it is made again.
    Row("enable_event", (MARIADB,), ANY, FOREVER, "UPDATE mysql.event SET status='ENABLED', created=created WHERE db=%s AND name=%s"),
    Row("enable_event", BOTH_MYSQL, ANY, FOREVER, None),
    # Tables of the system schema in which a server that follows keeps how far it is, and those that a server writes by itself.
    Row("follower_tables", (MARIADB,), ANY, FOREVER, ("gtid_slave_pos", "event")),
    Row(
        "follower_tables",
        BOTH_MYSQL,
        ANY,
        FOREVER,
        ("slave_master_info", "slave_relay_log_info", "slave_worker_info", "gtid_executed"),
    ),
    # Settings of the server under which the binary log can't be followed by reading it: variable, and the values that are no obstacle.
    Row(
        "followable",
        (MARIADB,),
        ANY,
        FOREVER,
        {"encrypt_binlog": ("OFF",), "binlog_format": ("ROW", "MIXED"), "wsrep_on": ("OFF",)},
    ),
    Row(
        "followable",
        BOTH_MYSQL,
        ANY,
        FOREVER,
        {"binlog_encryption": ("OFF",), "binlog_format": ("ROW", "MIXED"), "binlog_transaction_compression": ("OFF",)},
    ),
)

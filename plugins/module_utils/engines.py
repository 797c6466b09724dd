# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What differs between engines and versions, as rows of a table.

A row says: from version SINCE up to, but without, version UNTIL of ENGINE, the trait NAME has VALUE.
Everything that depends on the engine asks Engine.trait(); there is no comparison of versions anywhere else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from .errors import InnodbError
from .following_rows import FOLLOWING_ROWS
from .page_size import PAGE_SIZES
from .trait_row import ANY, BOTH_MYSQL, FOREVER, MARIADB, MYSQL, PERCONA, Row, Version

#: How a version came to its rows: a test runs every step on it, or the data are those of its neighbours and nobody ran it.
RUN = "run"
UNVERIFIED = "unverified"


class Hazard(NamedTuple):
    """Something in a server that a migration would not carry. query names what there is of it; message has {name}."""

    id: str
    query: str
    message: str
    remedy: str


STATIC_PRIVILEGES = frozenset(
    [
        "SELECT",
        "INSERT",
        "UPDATE",
        "DELETE",
        "CREATE",
        "DROP",
        "RELOAD",
        "SHUTDOWN",
        "PROCESS",
        "FILE",
        "REFERENCES",
        "INDEX",
        "ALTER",
        "SUPER",
        "EXECUTE",
        "EVENT",
        "TRIGGER",
    ]
) | {
    "SHOW DATABASES",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "REPLICATION SLAVE",
    "REPLICATION CLIENT",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "CREATE USER",
    "CREATE TABLESPACE",
    "CREATE ROLE",
    "DROP ROLE",
}

#: Types that are the same in a table of InnoDB and in one of MyISAM made from it. A JSON document is a text there.
MARIADB_BINARY_TYPES = (
    *("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "bit"),
    *("date", "datetime", "timestamp", "time", "year", "enum", "set", "inet4", "inet6", "uuid", "vector"),
    *("char", "varchar", "tinytext", "text", "mediumtext", "longtext"),
    *("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"),
    *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection"),
)
#: Dates are taken as they are, and the table is one of MyISAM whatever the server is told to make instead.
MARIADB_BINARY_SETTINGS = "SET STATEMENT sql_mode='ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION', enforce_storage_engine=NULL FOR "

#: Filters of a replica that were set while it ran are gone with its next start, and then it applies what it must not.
MYSQL_REPLICATION_FILTER = Hazard(
    "replication_filter",
    "SELECT filter_name FROM performance_schema.replication_applier_filters WHERE configured_by LIKE 'CHANGE_REPLICATION_FILTER%%'",
    "The replication filter {name} was set by statement, so it is lost when the server is stopped",
    "Write it into the option file as well",
)
MARIADB_HAZARDS = (
    Hazard(
        "replication_filter",
        "SELECT LOWER(variable_name) FROM information_schema.system_variables"
        " WHERE variable_name LIKE 'REPLICATE%%' AND global_value_origin='SQL'",
        "{name} was set while the server ran, so it is lost when the server is stopped",
        "Write it into the option file as well",
    ),
)

#: What MySQL 8 and later may hold that is not carried. Each is looked for in the running server.
MYSQL_HAZARDS = (
    Hazard(
        "encrypted",
        "SELECT name FROM information_schema.innodb_tablespaces WHERE encryption='Y'",
        "The tablespace {name} is encrypted, and keys are not carried",
        "Decrypt it (ALTER TABLE ... ENCRYPTION='N'), and encrypt it again afterwards",
    ),
    Hazard(
        "encrypted",
        "SELECT variable_name FROM performance_schema.global_variables WHERE variable_value='ON'"
        " AND variable_name IN ('innodb_redo_log_encrypt','innodb_undo_log_encrypt','binlog_encryption')",
        "{name} is on, and keys are not carried",
        "Switch it off, and on again afterwards",
    ),
    Hazard(
        "keyring",
        "SELECT plugin_name FROM information_schema.plugins WHERE plugin_type='KEYRING' OR plugin_name LIKE 'keyring%%'",
        "The plugin {name} keeps keys, which are not carried",
        "Take the keyring out, if nothing is encrypted with it",
    ),
    Hazard(
        "undo_tablespace",
        "SELECT name FROM information_schema.innodb_tablespaces WHERE space_type='Undo'"
        " AND name NOT IN ('innodb_undo_001','innodb_undo_002')",
        "The undo tablespace {name} would not be made again",
        "Drop it (ALTER UNDO TABLESPACE ... SET INACTIVE, DROP UNDO TABLESPACE), and create it again afterwards",
    ),
    Hazard(
        "resource_group",
        "SELECT resource_group_name FROM information_schema.resource_groups WHERE resource_group_name NOT IN ('USR_default','SYS_default')",
        "The resource group {name} would not be made again",
        "Drop it, and create it again afterwards",
    ),
    Hazard(
        "group_member",
        "SELECT member_host FROM performance_schema.replication_group_members WHERE member_state<>'OFFLINE'",
        "The server is a member of a replication group ({name})",
        "Groups are not supported yet",
    ),
    MYSQL_REPLICATION_FILTER,
)
MYSQL_KEYRING_COMPONENT = Hazard(
    "keyring",
    "SELECT status_value FROM performance_schema.keyring_component_status WHERE status_key='Component_name'",
    "The component {name} keeps keys, which are not carried",
    "Take the keyring out, if nothing is encrypted with it",
)
MYSQL_READ_ONLY_SCHEMA = Hazard(
    "read_only_schema",
    "SELECT schema_name FROM information_schema.schemata_extensions WHERE options<>''",
    "The schema {name} has the option READ ONLY, which would not be carried",
    "ALTER DATABASE ... READ ONLY = 0, and 1 again afterwards",
)
MYSQL_TABLESPACE_ATTRIBUTE = Hazard(
    "tablespace_attribute",
    "SELECT tablespace_name FROM information_schema.tablespaces_extensions WHERE engine_attribute IS NOT NULL",
    "The tablespace {name} has an ENGINE_ATTRIBUTE, which would not be carried",
    "ALTER TABLESPACE ... ENGINE_ATTRIBUTE='', and set it again afterwards",
)
MYSQL_LIBRARY = Hazard(
    "library",
    "SELECT CONCAT(library_schema,'.',library_name) FROM information_schema.libraries",
    "The library {name} would not be carried",
    "Drop it, and create it again afterwards",
)
MYSQL_DUALITY_VIEW = Hazard(
    "duality_view",
    "SELECT CONCAT(table_schema,'.',table_name) FROM information_schema.json_duality_views",
    "The JSON duality view {name} would not be carried",
    "Drop it, and create it again afterwards",
)

#: Session settings under which MySQL shows definitions whole.
MYSQL_READ_SESSION = {"information_schema_stats_expiry": 0, "show_create_table_verbosity": 0}
#: Session settings under which MySQL takes definitions as they are and adds nothing to them.
MYSQL_CREATE_SESSION = {"sql_require_primary_key": 0}
#: A private server must not join the cluster of its option files.
OUTSIDE_CLUSTERS = ("--loose-wsrep-on=OFF", "--loose-wsrep-provider=none")
MYSQL_PRIVATE = (
    "--skip-networking",
    "--skip-log-bin",
    "--max-execution-time=0",
    "--max-allowed-packet=1G",
    "--event-scheduler=OFF",
    "--general-log=0",
    "--slow-query-log=0",
    "--init-file=/dev/null",
    "--read-only=OFF",
    "--super-read-only=OFF",
    "--offline-mode=OFF",
    # Persisted variables win over the command line.
    "--persisted-globals-load=OFF",
    # The X plugin listens on a port and a socket of its own.
    "--mysqlx=0",
    "--default-table-encryption=OFF",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--innodb-buffer-pool-load-at-startup=OFF",
)
MYSQL_TRIAL = ("--skip-networking", "--event-scheduler=OFF", "--init-file=/dev/null", "--persisted-globals-load=OFF", "--mysqlx=0")

ROWS = (
    # How a data directory is made: the program and its arguments, filled in by data_directory.py.
    Row("initialise", (MARIADB,), (10, 4), FOREVER, "mariadb-install-db"),
    Row("initialise", BOTH_MYSQL, (5, 7, 6), FOREVER, "mysqld"),
    # What the tests run on (docs/support.md is made of these rows). Where a version was never run, a migration is refused.
    Row("evidence", (MARIADB,), (10, 4), (10, 5), UNVERIFIED),
    Row("evidence", (MARIADB,), (10, 5), (10, 6), RUN),
    Row("evidence", (MARIADB,), (10, 6), (10, 11), UNVERIFIED),
    Row("evidence", (MARIADB,), (10, 11), (11, 0), RUN),
    Row("evidence", (MARIADB,), (11, 0), (11, 8), UNVERIFIED),
    Row("evidence", (MARIADB,), (11, 8), (11, 9), RUN),
    Row("evidence", (MARIADB,), (11, 9), FOREVER, UNVERIFIED),
    Row("evidence", BOTH_MYSQL, ANY, (9, 7), UNVERIFIED),
    Row("evidence", (MYSQL,), (9, 7), (9, 8), RUN),
    Row("evidence", (MYSQL,), (9, 8), FOREVER, UNVERIFIED),
    Row("evidence", (PERCONA,), (9, 7), FOREVER, UNVERIFIED),
    # Whether a version that no test runs is migrated all the same, by the data of its neighbours.
    Row("migrated_unverified", (MARIADB,), ANY, FOREVER, True),
    Row("migrated_unverified", BOTH_MYSQL, ANY, FOREVER, False),
    # What an account has to be granted on *.* to see and carry everything.
    Row("all_privileges", (MARIADB,), ANY, FOREVER, frozenset({"ALL PRIVILEGES"})),
    Row("all_privileges", BOTH_MYSQL, ANY, (8, 0), frozenset({"ALL PRIVILEGES"})),
    Row("all_privileges", BOTH_MYSQL, (8, 0), FOREVER, STATIC_PRIVILEGES | {"XA_RECOVER_ADMIN"}),
    # Page sizes that make an instance of that size. MySQL 5.6 answers 32k and 64k with a 16k instance and a warning.
    Row("page_sizes", (MARIADB,), (10, 1), FOREVER, PAGE_SIZES),
    Row("page_sizes", (PERCONA,), (5, 5), (5, 6), (4096, 8192, 16384)),
    Row("page_sizes", BOTH_MYSQL, (5, 6), (5, 7, 6), (4096, 8192, 16384)),
    Row("page_sizes", BOTH_MYSQL, (5, 7, 6), FOREVER, PAGE_SIZES),
    # Smallest innodb_buffer_pool_size in MiB by page size in bytes, as the server states it when it refuses to start.
    Row("minimum_pool_mib", (MARIADB,), ANY, FOREVER, {4096: 5, 8192: 5, 16384: 6, 32768: 11, 65536: 21}),
    # MySQL makes its doublewrite buffer through the pool, which takes 260 pages of it.
    Row("minimum_pool_mib", BOTH_MYSQL, ANY, FOREVER, {4096: 5, 8192: 5, 16384: 5, 32768: 9, 65536: 17}),
    # What innodb_io_capacity is when nobody sets it.
    Row("default_io_capacity", (MARIADB,), ANY, FOREVER, 200),
    Row("default_io_capacity", BOTH_MYSQL, ANY, (8, 4), 200),
    Row("default_io_capacity", BOTH_MYSQL, (8, 4), FOREVER, 10000),
    # Tables of the system schema that belong to the server at hand and are not carried.
    Row(
        "system_tables_left",
        (MARIADB,),
        ANY,
        FOREVER,
        ("innodb_index_stats", "innodb_table_stats", "general_log", "slow_log", "transaction_registry"),
    ),
    # The set of executed GTIDs is no table for clients: it is carried by statement.
    Row(
        "system_tables_left",
        BOTH_MYSQL,
        (5, 7),
        FOREVER,
        ("innodb_index_stats", "innodb_table_stats", "general_log", "slow_log", "gtid_executed"),
    ),
    # Tables to which the server writes its logs: they take no rows from a client, so their files are carried.
    Row("log_tables", (MARIADB, *BOTH_MYSQL), ANY, FOREVER, ("general_log", "slow_log")),
    # Tables that hold accounts and what they may do: loaded last, so that a failed load cannot lock its own session out.
    Row(
        "account_tables",
        (MARIADB,),
        (10, 4),
        FOREVER,
        ("global_priv", "db", "tables_priv", "columns_priv", "procs_priv", "proxies_priv", "roles_mapping"),
    ),
    Row(
        "account_tables",
        BOTH_MYSQL,
        (8, 0),
        FOREVER,
        (
            "user",
            "db",
            "tables_priv",
            "columns_priv",
            "procs_priv",
            "proxies_priv",
            "role_edges",
            "default_roles",
            "global_grants",
            "password_history",
        ),
    ),
    # How a table of the system schema is emptied before its rows are loaded.
    Row("empty_table", (MARIADB,), ANY, FOREVER, "TRUNCATE TABLE {table}"),
    Row("empty_table", BOTH_MYSQL, ANY, FOREVER, "DELETE FROM {table}"),
    # Installed plugins and the position of an applier are rows of tables of these names.
    Row("plugin_table", (MARIADB, *BOTH_MYSQL), ANY, FOREVER, True),
    Row("gtid_slave_pos", (MARIADB,), (10, 0, 2), FOREVER, True),
    Row("gtid_slave_pos", BOTH_MYSQL, ANY, FOREVER, False),
    # Statements that give an empty server the set of executed GTIDs of another one; none where it is rows of a table.
    Row("set_gtid_executed", (MARIADB,), ANY, FOREVER, ()),
    Row("set_gtid_executed", BOTH_MYSQL, (8, 0), (8, 2), ("RESET MASTER", "SET GLOBAL gtid_purged=%s")),
    Row("set_gtid_executed", BOTH_MYSQL, (8, 2), FOREVER, ("RESET BINARY LOGS AND GTIDS", "SET GLOBAL gtid_purged=%s")),
    # What a server is as a whole, beside its objects: aspect and variable.
    Row("server_identity", (MARIADB,), ANY, FOREVER, {}),
    Row("server_identity", BOTH_MYSQL, (8, 0), FOREVER, {"gtid_executed": "gtid_executed", "server_uuid": "server_uuid"}),
    Row("replica_status", (MARIADB,), ANY, FOREVER, "SHOW ALL SLAVES STATUS"),
    Row("replica_status", BOTH_MYSQL, ANY, (8, 0, 22), "SHOW SLAVE STATUS"),
    Row("replica_status", BOTH_MYSQL, (8, 0, 22), FOREVER, "SHOW REPLICA STATUS"),
    # START or STOP of the threads of a channel; the parameter is its name.
    Row("replica_threads", (MARIADB,), ANY, FOREVER, "{verb} SLAVE %s {threads}"),
    Row("replica_threads", BOTH_MYSQL, ANY, (8, 0, 22), "{verb} SLAVE {threads}FOR CHANNEL %s"),
    Row("replica_threads", BOTH_MYSQL, (8, 0, 22), FOREVER, "{verb} REPLICA {threads}FOR CHANNEL %s"),
    # The counter of temporary tables that live in the applier.
    Row("replica_temporary_tables", (MARIADB,), ANY, FOREVER, "Slave_open_temp_tables"),
    Row("replica_temporary_tables", BOTH_MYSQL, ANY, (8, 0, 26), "Slave_open_temp_tables"),
    Row("replica_temporary_tables", BOTH_MYSQL, (8, 0, 26), FOREVER, "Replica_open_temp_tables"),
    # The option that keeps a server from replicating by itself when it starts.
    Row("hold_option", (MARIADB,), ANY, FOREVER, "skip_slave_start"),
    Row("hold_option", BOTH_MYSQL, ANY, (8, 0, 26), "skip_slave_start"),
    Row("hold_option", BOTH_MYSQL, (8, 0, 26), FOREVER, "skip_replica_start"),
    # Variables that bar clients from writing and that are often set while a server runs.
    Row("read_only_variables", (MARIADB,), ANY, FOREVER, ("read_only",)),
    Row("read_only_variables", BOTH_MYSQL, ANY, (5, 7, 8), ("read_only",)),
    Row("read_only_variables", BOTH_MYSQL, (5, 7, 8), FOREVER, ("read_only", "super_read_only")),
    # Files in which a server keeps what it knows of its sources, its passwords included; MySQL has them in tables.
    Row(
        "replica_files",
        (MARIADB,),
        ANY,
        FOREVER,
        ("{source}.info", "{source}-*.info", "{relay}.info", "{relay}-*.info", "multi-master.info"),
    ),
    Row("replica_files", BOTH_MYSQL, ANY, FOREVER, ()),
    # Options of a private server, which has run as its directory, that keep it from what the real one has as a replica.
    Row(
        "replica_apart",
        (MARIADB,),
        ANY,
        FOREVER,
        ("--relay-log={run}/relay", "--master-info-file={run}/master.info", "--relay-log-info-file={run}/relay-log.info"),
    ),
    Row(
        "replica_apart",
        BOTH_MYSQL,
        ANY,
        FOREVER,
        ("--relay-log={run}/relay", "--relay-log-index={run}/relay.index", "--relay-log-recovery=OFF"),
    ),
    Row("replicas_registered", (MARIADB,), ANY, FOREVER, "SHOW SLAVE HOSTS"),
    Row("replicas_registered", BOTH_MYSQL, ANY, (8, 0, 22), "SHOW SLAVE HOSTS"),
    Row("replicas_registered", BOTH_MYSQL, (8, 0, 22), FOREVER, "SHOW REPLICAS"),
    # Variables with the position in GTIDs and the mode, and the members of a replication group.
    Row("gtid_variables", (MARIADB,), (10, 0, 2), FOREVER, ("gtid_current_pos", "gtid_strict_mode")),
    Row("gtid_variables", BOTH_MYSQL, (5, 6), FOREVER, ("gtid_executed", "gtid_mode")),
    Row("group_members", (MARIADB,), ANY, FOREVER, None),
    Row("group_members", BOTH_MYSQL, ANY, (5, 7, 17), None),
    Row("group_members", BOTH_MYSQL, (5, 7, 17), FOREVER, "SELECT * FROM performance_schema.replication_group_members"),
    # How a session ends its own statements after a time. MySQL has it for SELECT alone.
    Row("statement_limit", (MARIADB,), (10, 1, 1), FOREVER, "SET SESSION max_statement_time={seconds:.3f}"),
    Row("statement_limit", BOTH_MYSQL, ANY, (5, 7, 8), None),
    Row("statement_limit", BOTH_MYSQL, (5, 7, 8), FOREVER, "SET SESSION max_execution_time={milliseconds:.0f}"),
    # Where a running server got the value of each variable: its own word for the place, and the option file if it tells.
    Row(
        "variable_origins",
        (MARIADB,),
        (10, 5),
        FOREVER,
        "SELECT variable_name AS name, global_value_origin AS origin, global_value_path AS path FROM information_schema.system_variables",
    ),
    Row(
        "variable_origins",
        (MARIADB,),
        (10, 1),
        (10, 5),
        "SELECT variable_name AS name, global_value_origin AS origin, NULL AS path FROM information_schema.system_variables",
    ),
    Row("variable_origins", BOTH_MYSQL, ANY, (8, 0), None),
    Row(
        "variable_origins",
        BOTH_MYSQL,
        (8, 0),
        FOREVER,
        "SELECT variable_name AS name, variable_source AS origin, variable_path AS path FROM performance_schema.variables_info",
    ),
    # The tables of InnoDB, the names of their tablespaces by the number of the table, and the files; MariaDB spells names as in the file
    # system, MySQL as in the dictionary.
    Row(
        "table_files",
        (MARIADB,),
        ANY,
        FOREVER,
        {
            "owners": "SELECT table_schema, table_name, CAST(CONVERT(table_schema USING filename) AS BINARY) folder,"
            " CAST(CONVERT(table_name USING filename) AS BINARY) stem FROM information_schema.tables WHERE engine='InnoDB'",
            "names": "SELECT table_id, name FROM information_schema.innodb_sys_tables",
            "files": "SELECT name, name AS path, file_size FROM information_schema.innodb_sys_tablespaces",
        },
    ),
    Row(
        "table_files",
        BOTH_MYSQL,
        (8, 0),
        FOREVER,
        {
            "owners": "SELECT table_schema, table_name, table_schema folder, table_name stem FROM information_schema.tables"
            " WHERE engine='InnoDB'",
            "names": "SELECT t.table_id, s.name FROM information_schema.innodb_tables t JOIN information_schema.innodb_tablespaces s"
            " ON s.space=t.space",
            "files": "SELECT s.name, f.file_name AS path, s.file_size FROM information_schema.innodb_tablespaces s"
            " JOIN information_schema.files f ON f.file_id=s.space WHERE s.space_type='Single'",
        },
    ),
    # The beginning of the names of the tables in which InnoDB shows its own dictionary.
    Row("dictionary_prefix", (MARIADB,), ANY, FOREVER, "innodb_sys_"),
    Row("dictionary_prefix", BOTH_MYSQL, ANY, (8, 0), "innodb_sys_"),
    Row("dictionary_prefix", BOTH_MYSQL, (8, 0), FOREVER, "innodb_"),
    # Definitions lie in the server's dictionary, where they can be asked for without opening a table, and not in a file for each table.
    Row("definitions_in_dictionary", (MARIADB,), ANY, FOREVER, False),
    Row("definitions_in_dictionary", BOTH_MYSQL, ANY, (8, 0), False),
    Row("definitions_in_dictionary", BOTH_MYSQL, (8, 0), FOREVER, True),
    # The numbers of the tablespaces that are encrypted.
    Row(
        "encrypted_spaces",
        (MARIADB,),
        (10, 1, 3),
        FOREVER,
        "SELECT space FROM information_schema.innodb_tablespaces_encryption WHERE encryption_scheme<>0",
    ),
    Row("encrypted_spaces", BOTH_MYSQL, ANY, (8, 0), None),
    Row(
        "encrypted_spaces",
        BOTH_MYSQL,
        (8, 0),
        FOREVER,
        "SELECT space FROM information_schema.innodb_tablespaces WHERE encryption='Y'",
    ),
    # History of system-versioned tables can be written by a client.
    Row("history_loadable", (MARIADB,), ANY, (10, 11), False),
    Row("history_loadable", BOTH_MYSQL, ANY, FOREVER, False),
    Row("history_loadable", (MARIADB,), (10, 11), FOREVER, True),
    # Session settings under which definitions are shown whole, and are taken as they are.
    Row("read_session", (MARIADB,), ANY, FOREVER, {}),
    Row("read_session", BOTH_MYSQL, (8, 0), (8, 0, 30), MYSQL_READ_SESSION),
    Row(
        "read_session",
        BOTH_MYSQL,
        (8, 0, 30),
        FOREVER,
        {**MYSQL_READ_SESSION, "show_gipk_in_create_table_and_information_schema": 1},
    ),
    Row("create_session", (MARIADB,), ANY, FOREVER, {"enforce_storage_engine": "NULL"}),
    Row("create_session", BOTH_MYSQL, (8, 0, 13), (8, 0, 30), MYSQL_CREATE_SESSION),
    Row("create_session", BOTH_MYSQL, (8, 0, 30), (8, 4), {**MYSQL_CREATE_SESSION, "sql_generate_invisible_primary_key": 0}),
    Row(
        "create_session",
        BOTH_MYSQL,
        (8, 4),
        FOREVER,
        {**MYSQL_CREATE_SESSION, "sql_generate_invisible_primary_key": 0, "restrict_fk_on_non_standard_key": 0},
    ),
    # What the server may hold that is not carried.
    Row("hazards", (MARIADB,), ANY, (10, 5), ()),
    Row("hazards", (MARIADB,), (10, 5), FOREVER, MARIADB_HAZARDS),
    Row("hazards", BOTH_MYSQL, (8, 0, 24), (9, 2), (*MYSQL_HAZARDS, MYSQL_KEYRING_COMPONENT, MYSQL_READ_ONLY_SCHEMA)),
    Row(
        "hazards",
        BOTH_MYSQL,
        (9, 2),
        (9, 4),
        (*MYSQL_HAZARDS, MYSQL_KEYRING_COMPONENT, MYSQL_READ_ONLY_SCHEMA, MYSQL_TABLESPACE_ATTRIBUTE, MYSQL_LIBRARY),
    ),
    Row(
        "hazards",
        BOTH_MYSQL,
        (9, 4),
        FOREVER,
        (
            *MYSQL_HAZARDS,
            MYSQL_KEYRING_COMPONENT,
            MYSQL_READ_ONLY_SCHEMA,
            MYSQL_TABLESPACE_ATTRIBUTE,
            MYSQL_LIBRARY,
            MYSQL_DUALITY_VIEW,
        ),
    ),
    # Directories of InnoDB outside the data directory can be moved with it.
    Row("outside_directories", (MARIADB,), ANY, FOREVER, True),
    Row("outside_directories", BOTH_MYSQL, ANY, FOREVER, False),
    # The server looks for tablespaces in all directories below the data directory, those with a dot as well.
    Row("finds_tablespaces_anywhere", (MARIADB,), ANY, FOREVER, False),
    Row("finds_tablespaces_anywhere", BOTH_MYSQL, (8, 0), FOREVER, True),
    # Session settings under which any row the server holds goes back in unchanged.
    Row("load_session", BOTH_MYSQL, (8, 0), FOREVER, {}),
    Row(
        "load_session",
        (MARIADB,),
        ANY,
        (10, 11),
        {"check_constraint_checks": 0},
    ),
    Row(
        "load_session",
        (MARIADB,),
        (10, 11),
        FOREVER,
        {"check_constraint_checks": 0, "system_versioning_insert_history": 1},
    ),
    # Types of columns whose rows go from server to server as files of MyISAM, and how a statement that makes such a table begins
    # (see carriers). Rows with any other type, and all of MySQL, go as text.
    Row("binary_types", (MARIADB,), ANY, FOREVER, MARIADB_BINARY_TYPES),
    Row("binary_types", BOTH_MYSQL, ANY, FOREVER, ()),
    Row("binary_settings", (MARIADB,), ANY, FOREVER, MARIADB_BINARY_SETTINGS),
    Row("binary_settings", BOTH_MYSQL, ANY, FOREVER, ""),
    # Options of a private server: no client but ours, nothing runs by itself, nothing is written to a log of the real one.
    Row(
        "private_options",
        (MARIADB,),
        ANY,
        FOREVER,
        (
            "--skip-networking",
            "--skip-slave-start",
            *OUTSIDE_CLUSTERS,
            "--skip-log-bin",
            "--max-statement-time=0",
            "--max-allowed-packet=1G",
            "--event-scheduler=OFF",
            "--general-log=0",
            "--slow-query-log=0",
            "--init-file=",
            "--performance-schema=OFF",
            "--innodb-buffer-pool-dump-at-shutdown=OFF",
            "--innodb-buffer-pool-load-at-startup=OFF",
        ),
    ),
    Row("private_options", BOTH_MYSQL, (8, 0, 11), (8, 0, 26), ("--skip-slave-start", *MYSQL_PRIVATE)),
    Row("private_options", BOTH_MYSQL, (8, 0, 26), FOREVER, ("--skip-replica-start", *MYSQL_PRIVATE)),
    # The same when the server shall stay as the real option files have it, but for its doors.
    Row(
        "trial_options",
        (MARIADB,),
        ANY,
        FOREVER,
        ("--skip-networking", "--skip-slave-start", *OUTSIDE_CLUSTERS, "--event-scheduler=OFF", "--init-file="),
    ),
    Row("trial_options", BOTH_MYSQL, (8, 0, 11), (8, 0, 26), ("--skip-slave-start", *MYSQL_TRIAL)),
    Row("trial_options", BOTH_MYSQL, (8, 0, 26), FOREVER, ("--skip-replica-start", *MYSQL_TRIAL)),
    # The option for the size of the log.
    Row("log_size_option", (MARIADB,), ANY, FOREVER, "--innodb-log-file-size={bytes}"),
    Row("log_size_option", BOTH_MYSQL, ANY, (8, 0, 30), "--innodb-log-file-size={bytes}"),
    Row("log_size_option", BOTH_MYSQL, (8, 0, 30), FOREVER, "--innodb-redo-log-capacity={bytes}"),
    # What a rehearsal's server takes from the host while the real server runs beside it.
    Row(
        "scratch_options",
        (MARIADB,),
        ANY,
        FOREVER,
        (
            "--innodb-log-file-size=16M",
            "--key-buffer-size=1M",
            "--aria-pagecache-buffer-size=8M",
            "--max-connections=20",
            "--table-open-cache=100",
        ),
    ),
    Row(
        "scratch_options",
        BOTH_MYSQL,
        (8, 0, 30),
        FOREVER,
        ("--innodb-redo-log-capacity=32M", "--key-buffer-size=1M", "--max-connections=20", "--table-open-cache=100"),
    ),
    Row(
        "scratch_options",
        BOTH_MYSQL,
        ANY,
        (8, 0, 30),
        ("--innodb-log-file-size=16M", "--key-buffer-size=1M", "--max-connections=20", "--table-open-cache=100"),
    ),
    # A server whose files are thrown away need not bring them to the disk in time, and reads samples from where we put them.
    Row(
        "unsafe_options",
        (MARIADB,),
        ANY,
        FOREVER,
        (
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-doublewrite=0",
            "--sync-frm=0",
            "--secure-file-priv=",
            "--innodb-stats-auto-recalc=0",
        ),
    ),
    Row(
        "unsafe_options",
        BOTH_MYSQL,
        (5, 6),
        FOREVER,
        ("--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--secure-file-priv=", "--innodb-stats-auto-recalc=0"),
    ),
    # Statements before the rows are loaded, and after: without its log a server loads faster, and its files are thrown away if it dies.
    Row("before_load", (MARIADB,), ANY, FOREVER, ()),
    Row("before_load", BOTH_MYSQL, ANY, (8, 0, 21), ()),
    Row("before_load", BOTH_MYSQL, (8, 0, 21), FOREVER, ("ALTER INSTANCE DISABLE INNODB REDO_LOG",)),
    Row("after_load", (MARIADB,), ANY, FOREVER, ()),
    Row("after_load", BOTH_MYSQL, ANY, (8, 0, 21), ()),
    Row("after_load", BOTH_MYSQL, (8, 0, 21), FOREVER, ("ALTER INSTANCE ENABLE INNODB REDO_LOG",)),
    # Loading: no statistics thread beside the load; pages are written all the time, so that the shutdown has little left to write;
    # definition files are brought to the disk together, before the directory is used (steps.swap); rows of the dump are read
    # through a link (carriers).
    Row(
        "load_options",
        (MARIADB,),
        ANY,
        FOREVER,
        (
            "--innodb-stats-auto-recalc=0",
            "--use-stat-tables=NEVER",
            "--innodb-io-capacity=4000",
            "--innodb-io-capacity-max=20000",
            "--innodb-max-dirty-pages-pct=5",
            "--innodb-max-dirty-pages-pct-lwm=0.001",
            "--sync-frm=0",
            "--symbolic-links",
            "--myisam-recover-options=OFF",
        ),
    ),
    Row(
        "load_options",
        BOTH_MYSQL,
        (8, 0),
        FOREVER,
        ("--innodb-stats-auto-recalc=0", "--innodb-io-capacity=4000", "--innodb-io-capacity-max=20000"),
    ),
    # Files of the data directory that the server needs again and initialisation does not make.
    Row(
        "carried_files",
        (MARIADB,),
        ANY,
        FOREVER,
        ("debian-*.flag", "mysql_upgrade_info", "mariadb_upgrade_info", "*.pem", "*.key", "*.cnf"),
    ),
    Row("carried_files", BOTH_MYSQL, ANY, FOREVER, ("debian-*.flag", "mysql_upgrade_info", "mysql_upgrade_history", "*.key")),
    # The same, but the new server makes files of these names as well, which those of the old one replace: its identity, its
    # persisted variables, its keys.
    Row("replaced_files", (MARIADB,), ANY, FOREVER, ()),
    Row("replaced_files", BOTH_MYSQL, ANY, FOREVER, ("*.cnf", "*.pem")),
    # Carried files whose content is compared.
    Row("compared_files", (MARIADB,), ANY, FOREVER, ()),
    Row("compared_files", BOTH_MYSQL, ANY, FOREVER, ("*.cnf",)),
    # A directory of this name, or any other that is no schema, counts as a schema unless told otherwise.
    Row("ignore_directory_option", (MARIADB,), ANY, FOREVER, "ignore_db_dirs"),
    Row("ignore_directory_option", BOTH_MYSQL, ANY, FOREVER, None),
    # Storage engines and how their rows are carried: the kind of tables.Table.
    Row(
        "storage_engines",
        (MARIADB,),
        ANY,
        FOREVER,
        {
            "innodb": "rows",
            "myisam": "rows",
            "aria": "rows",
            "csv": "rows",
            "archive": "rows",
            "memory": "volatile",
            "mrg_myisam": "definition",
            "blackhole": "definition",
            "federated": "definition",
            "spider": "definition",
            "connect": "files",
            "sequence": "definition",
        },
    ),
    Row(
        "storage_engines",
        BOTH_MYSQL,
        (8, 0),
        FOREVER,
        {
            "innodb": "rows",
            "myisam": "rows",
            "csv": "rows",
            "archive": "rows",
            "memory": "volatile",
            "mrg_myisam": "statement",
            "blackhole": "statement",
            "federated": "statement",
        },
    ),
    # The hash of a row. MySQL 9.6 and later have MD5 in a component that need not be there.
    Row("row_hash", (MARIADB,), ANY, FOREVER, "MD5({row})"),
    Row("row_hash", BOTH_MYSQL, (5, 6), FOREVER, "SHA2({row},256)"),
    # What CHECKSUM TABLE sums is the same in two instances of one version, whatever the page size.
    Row("checksum_table", (MARIADB, *BOTH_MYSQL), ANY, FOREVER, "CHECKSUM TABLE {table} EXTENDED"),
    *FOLLOWING_ROWS,
)


@dataclass(frozen=True)
class Engine:
    """One server version: name is one of the three above, version a tuple of numbers, banner what it said of itself."""

    name: str
    version: Version
    banner: str

    @property
    def version_text(self) -> str:
        return ".".join(str(part) for part in self.version)

    @property
    def title(self) -> str:
        names = {MARIADB: "MariaDB", MYSQL: "MySQL", PERCONA: "Percona Server"}
        return f"{names[self.name]} {self.version_text}"

    def trait(self, name: str) -> Any:
        """The value of a trait here; InnodbError when the table has no row for this engine and version."""
        for row in ROWS:
            if row.name == name and self.name in row.engines and row.since <= self.version < row.until:
                return row.value
        raise InnodbError(
            f"{self.title} is not supported: '{name}' is not known for it",
            remedy="See the support table in the documentation",
        )

    def knows(self, name: str) -> bool:
        """Whether the table has this trait."""
        try:
            self.trait(name)
        except InnodbError:
            return False
        return True

    @property
    def supported(self) -> bool:
        """Whether every trait is known, and the version was run or is taken by the data of its neighbours."""
        known = all(self.knows(name) for name in {row.name for row in ROWS})
        return known and (self.trait("evidence") == RUN or self.trait("migrated_unverified"))


def parse_banner(banner: str) -> Engine:
    """Engine from what C(mariadbd --version) or C(mysqld --version) prints."""
    match = re.search(r"Ver (\d+)\.(\d+)\.(\d+)", banner)
    if not match:
        raise InnodbError(f"'{banner.strip()}' is not the version of a known server")
    # What stands before is the program's path, which may name anything.
    said = banner[match.start() :].lower()
    name = MYSQL
    if "mariadb" in said:
        name = MARIADB
    elif "percona" in said:
        name = PERCONA
    return Engine(name, tuple(int(part) for part in match.groups()), banner.strip())

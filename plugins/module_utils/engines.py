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
from .page_size import PAGE_SIZES

MARIADB = "mariadb"
MYSQL = "mysql"
PERCONA = "percona"
BOTH_MYSQL = (MYSQL, PERCONA)

Version = tuple


class Row(NamedTuple):
    name: str
    engines: tuple[str, ...]
    since: Version
    until: Version
    value: Any


ANY: Version = ()
FOREVER: Version = (9999,)

ROWS = (
    # How a data directory is made: the program and its arguments, filled in by data_directory.py.
    Row("initialise", (MARIADB,), (10, 4), FOREVER, "mariadb-install-db"),
    # Page sizes that make an instance of that size. MySQL 5.6 answers 32k and 64k with a 16k instance and a warning.
    Row("page_sizes", (MARIADB,), (10, 1), FOREVER, PAGE_SIZES),
    Row("page_sizes", BOTH_MYSQL, (5, 6), (5, 7, 6), (4096, 8192, 16384)),
    Row("page_sizes", BOTH_MYSQL, (5, 7, 6), FOREVER, PAGE_SIZES),
    # Smallest innodb_buffer_pool_size in MiB by page size in bytes, as the server states it when it refuses to start.
    Row("minimum_pool_mib", (MARIADB,), ANY, FOREVER, {4096: 5, 8192: 5, 16384: 6, 32768: 11, 65536: 21}),
    Row("minimum_pool_mib", BOTH_MYSQL, ANY, FOREVER, {size: 5 for size in PAGE_SIZES}),
    # Tables of the system schema that belong to the server at hand and are not carried.
    Row(
        "system_tables_left",
        (MARIADB,),
        ANY,
        FOREVER,
        ("innodb_index_stats", "innodb_table_stats", "general_log", "slow_log", "transaction_registry"),
    ),
    # Tables to which the server writes its logs: they take no rows from a client, so their files are carried.
    Row("log_tables", (MARIADB,), ANY, FOREVER, ("general_log", "slow_log")),
    # Tables that hold accounts and what they may do: loaded last, so that a failed load cannot lock its own session out.
    Row(
        "account_tables",
        (MARIADB,),
        (10, 4),
        FOREVER,
        ("global_priv", "db", "tables_priv", "columns_priv", "procs_priv", "proxies_priv", "roles_mapping"),
    ),
    # Installed plugins and the position of an applier are rows of tables of these names.
    Row("plugin_table", (MARIADB,), ANY, FOREVER, True),
    Row("gtid_slave_pos", (MARIADB,), (10, 0, 2), FOREVER, True),
    Row("replica_status", (MARIADB,), ANY, FOREVER, "SHOW ALL SLAVES STATUS"),
    Row("replica_status", BOTH_MYSQL, ANY, (8, 0, 22), "SHOW SLAVE STATUS"),
    Row("replica_status", BOTH_MYSQL, (8, 0, 22), FOREVER, "SHOW REPLICA STATUS"),
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
    Row("history_loadable", (MARIADB,), (10, 11), FOREVER, True),
    # Session settings under which any row the server holds goes back in unchanged.
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
    # Options of a private server: no client but ours, nothing runs by itself, nothing is written to a log of the real one.
    Row(
        "private_options",
        (MARIADB,),
        ANY,
        FOREVER,
        (
            "--skip-networking",
            "--skip-slave-start",
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
    # The same when the server shall stay as the real option files have it, but for its doors.
    Row("trial_options", (MARIADB,), ANY, FOREVER, ("--skip-networking", "--skip-slave-start", "--event-scheduler=OFF", "--init-file=")),
    # Loading: no statistics thread beside the load; pages are written all the time, so that the shutdown has little left to write;
    # definition files are brought to the disk together, before the directory is used (steps.swap).
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
        ),
    ),
    # Files of the data directory that the server needs again and initialisation does not make.
    Row(
        "carried_files",
        (MARIADB,),
        ANY,
        FOREVER,
        ("debian-*.flag", "mysql_upgrade_info", "mariadb_upgrade_info", "*.pem", "*.key", "*.cnf"),
    ),
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
    # What CHECKSUM TABLE sums is the same in two instances of one version, whatever the page size.
    Row("checksum_table", (MARIADB,), ANY, FOREVER, "CHECKSUM TABLE {table} EXTENDED"),
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

    @property
    def supported(self) -> bool:
        """Whether every trait is known, so that a migration can be planned."""
        try:
            for name in {row.name for row in ROWS}:
                self.trait(name)
        except InnodbError:
            return False
        return True


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

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is known of an instance: read once, without changing anything, handed to the decisions."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from . import dictionary_facts, option_file, processes, tables
from .block_device import storage
from .channels import Channel, channels_of
from .engines import Engine
from .errors import InnodbError, StatementError
from .instance import Instance
from .layout import TABLE_FILE_SUFFIXES, Layout, read_layout
from .session import Login, Session, connect
from .tablespace import page_size_of_file

LONG_TRANSACTION_SECONDS = 60
#: No statement waits longer for a table that somebody else changes.
LOCK_WAIT = "SET SESSION lock_wait_timeout=1"
#: What MariaDB and MySQL say of a statement that they ended for its time.
TIME_LIMIT_CODES = (1969, 3024)
SETTINGS = (
    "innodb_page_size",
    "innodb_buffer_pool_size",
    "innodb_force_recovery",
    "innodb_read_only",
    "innodb_data_file_path",
    "innodb_log_file_size",
    "lower_case_table_names",
    "max_allowed_packet",
    "log_bin",
    "server_id",
    "wsrep_on",
    "event_scheduler",
    "log_bin_basename",
    "binlog_format",
    "encrypt_binlog",
    "binlog_encryption",
    "binlog_transaction_compression",
    "secure_file_priv",
)


@dataclass
class ServerFacts:
    """What only a running server tells.

    memory_rows: MEMORY tables that have rows. unreadable: table -> the server's error. orphans: files of tables it does not know.
    external: those of its tablespaces, where it names all, that lie outside the data directory. hazards: what would not be carried.
    """

    account: str = ""
    all_privileges: bool = False
    version_comment: str = ""
    variables: dict[str, str | None] = field(default_factory=dict)
    tables: list[tables.Table] = field(default_factory=list)
    memory_rows: dict[str, int] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    history: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    channels: list[Channel] = field(default_factory=list)
    replicas: int = 0
    prepared_xa: int = 0
    long_transactions: list[str] = field(default_factory=list)
    stray_directories: list[str] = field(default_factory=list)
    schemas: list[str] = field(default_factory=list)
    external: list[str] = field(default_factory=list)
    tablespaces: set[str] = field(default_factory=set)
    hazards: list[dict[str, str]] = field(default_factory=list)


@dataclass
class Facts:
    """An instance: what its files and options say, and, when it runs, what the server says."""

    instance: Instance
    running: bool
    page_size: int | None
    layout: Layout
    storage: dict[str, dict[str, Any]]
    leftovers: dict[str, int]
    server: ServerFacts | None = None
    sharing: list[str] = field(default_factory=list)


def read_facts(instance: Instance, login: Login | None) -> Facts:
    """Facts of an instance; without login, or with the server down, those that need no session."""
    layout = read_layout(instance)
    running = instance.running()
    facts = Facts(
        instance=instance,
        running=running,
        page_size=instance.page_size_of_files(),
        layout=layout,
        storage={"datadir": storage(layout.real_datadir)} if os.path.isdir(layout.real_datadir) else {},
        leftovers=find_leftovers(layout),
        sharing=find_sharing(instance),
    )
    if login and running:
        with connect(instance.login(login)) as session:
            facts.server = read_server(session, instance)
        strays = [path for path in layout.strays if path not in facts.server.tablespaces]
        facts.layout = replace(layout, external=sorted({*layout.external, *facts.server.external}), strays=strays)
        if login.host:
            # The private servers of a migration have no network.
            connect(login.through(instance.socket), "the server through its Unix socket").close()
    return facts


def find_sharing(instance: Instance) -> list[str]:
    """Command lines of other servers that read the groups of this one from the same option files."""
    if instance.group_suffix:
        return []
    own = option_file.default_arguments(instance.defaults_file, None)
    found = []
    for pid in processes.server_pids():
        command = processes.command_line(pid)
        files = [argument for argument in command if argument.startswith("--defaults-file=")]
        private = any(argument in ("--no-defaults", "--bootstrap") for argument in command)
        if processes.working_directory(pid) != os.path.realpath(instance.datadir) and files == own and not private:
            found.append(f"process {pid} in {processes.working_directory(pid)}")
    return found


def find_leftovers(layout: Layout) -> dict[str, int]:
    """Other data directories beside this one, and their page size in bytes: what a manual attempt leaves."""
    parent = os.path.dirname(layout.real_datadir)
    found = {}
    if not os.path.isdir(parent):
        return found
    for entry in sorted(os.scandir(parent), key=lambda item: item.name):
        if entry.path == layout.real_datadir or not entry.is_dir(follow_symlinks=False):
            continue
        # A bind mount shows the data directory a second time.
        if os.path.isdir(layout.real_datadir) and os.path.samefile(entry.path, layout.real_datadir):
            continue
        size = page_size_of_file(os.path.join(entry.path, layout.system_files[0]))
        if size and not processes.servers_in(entry.path):
            found[entry.path] = size
    return found


def read_server(session: Session, instance: Instance) -> ServerFacts:
    """What the running server says, as a migration needs it: every table is opened. Nothing here scans one or waits long for a lock."""
    engine = instance.engine
    session.execute(LOCK_WAIT)
    variables = session.variables(*SETTINGS, "datadir", "version", "version_comment")
    require_own(variables, instance)
    grants = [str(next(iter(row.values()))) for row in session.rows("SHOW GRANTS")]
    account = session.value("SELECT CURRENT_USER()")
    if not dictionary_facts.has_privileges(grants, engine):
        # The server would refuse some of the questions below, and give half of the truth to others.
        return ServerFacts(account=account, version_comment=variables.get("version_comment") or "", variables=variables)
    found = tables.read_tables(session, engine)
    facts = ServerFacts(
        account=account,
        all_privileges=True,
        version_comment=variables.get("version_comment") or "",
        variables=variables,
        tables=found,
        channels=channels_of(session.rows(engine.trait("replica_status"))),
        replicas=len(session.rows("SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%%'")),
        prepared_xa=len(session.rows("XA RECOVER")),
        long_transactions=_long_transactions(session),
        stray_directories=tables.stray_directories(session),
        schemas=tables.user_schemas(session),
        hazards=dictionary_facts.find_hazards(session, engine),
    )
    if engine.trait("definitions_in_dictionary"):
        files = dictionary_facts.tablespace_files(session, instance.datadir)
        facts.tablespaces = files
        facts.external = dictionary_facts.external_files(files, instance.datadir)
        facts.orphans = dictionary_facts.orphaned_files(files, instance.datadir)
    else:
        facts.orphans = find_orphans(instance.datadir, tables.read_stems(session))
    for table in found:
        _probe(session, table, facts)
    return facts


def require_own(variables: Mapping[str, str | None], instance: Instance) -> None:
    """InnodbError when the server with these variables works in another data directory than the instance."""
    if os.path.realpath((variables["datadir"] or "").rstrip("/")) != os.path.realpath(instance.datadir):
        raise InnodbError(
            f"the server that answers works in {variables['datadir']}, but the instance that was found works in {instance.datadir}",
            remedy="Say which instance is meant in innodb_instance, or which socket in innodb_login",
        )


class Limited:
    """A session that is given a time for all its statements together; one that would take longer is ended by the server.

    Where a server can't end its own statements, no further one is begun after the time.
    """

    def __init__(self, session: Session, engine: Engine, seconds: float) -> None:
        self.session = session
        self.engine = engine
        self.limit_statement = engine.trait("statement_limit")
        self.deadline = time.monotonic() + seconds

    def rows(self, sql: str, params: Any = None) -> list[dict[str, Any]]:
        """As Session.rows()."""
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise out_of_time(sql)
        if self.limit_statement:
            self.session.execute(self.limit_statement.format(seconds=max(remaining, 0.001), milliseconds=max(remaining * 1000, 1)))
        return self.session.rows(sql, params)

    def row(self, sql: str, params: Any = None) -> dict[str, Any]:
        """The first row, empty when there is none."""
        rows = self.rows(sql, params)
        return rows[0] if rows else {}

    def pairs(self, sql: str) -> dict[str, str]:
        """Names, in lower case, and values of a statement that shows variables or counters."""
        return {row["variable_name"].lower(): row["value"] for row in self.rows(sql)}


def out_of_time(what: str) -> StatementError:
    """The time of a subset is over before the statement or the work that is named."""
    return StatementError(f"no time was left for '{what}'", TIME_LIMIT_CODES[0], "its time was over")


class Omitted(dict):
    """What was left out, and why. A part may fail for want of time or of privileges, and the rest is told nevertheless."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Note a refusal by the server, or the end of the time, in place of what is in the block."""
        try:
            yield
        except StatementError as error:
            if error.code == 0:
                raise
            timed_out = error.code in TIME_LIMIT_CODES
            self[name] = f"it takes longer than subset_timeout, {self.seconds:g} s" if timed_out else f"the server says: {error.reason}"


def find_orphans(datadir: str, stems: dict[str, set[str]]) -> list[str]:
    """Files of tables that the server does not list, by path in the data directory: their engine or their definition is missing.

    stems: names of tables and views as the server spells them in file names, by the name of their schema's directory.
    """
    found = []
    for folder, known in stems.items():
        path = os.path.join(datadir, folder)
        for name in sorted(os.listdir(path) if os.path.isdir(path) else []):
            stem = re.split(r"\.|#P#|#p#", name)[0]
            made_by_the_server = name.startswith(("#sql", "FTS_")) or name.endswith((".TRG", ".TRN", ".opt"))
            if name.endswith(TABLE_FILE_SUFFIXES) and not made_by_the_server and stem not in known:
                found.append(os.path.join(folder, name))
    return found


def _long_transactions(session: Session) -> list[str]:
    rows = session.rows(
        "SELECT trx_mysql_thread_id AS id, TIMESTAMPDIFF(SECOND, trx_started, NOW()) AS seconds FROM information_schema.innodb_trx"
        f" WHERE trx_started < NOW() - INTERVAL {LONG_TRANSACTION_SECONDS} SECOND"
    )
    return [f"connection {row['id']}, open for {row['seconds']} s" for row in rows]


def _probe(session: Session, table: tables.Table, facts: ServerFacts) -> None:
    """Read one row: a table whose file is damaged, missing or discarded is found here and not under the fence."""
    if table.kind not in ("rows", "files", "volatile") or table.sequence:
        return
    try:
        if table.kind == "volatile":
            count = int(session.value(f"SELECT COUNT(*) FROM {table.sql}"))
            if count:
                facts.memory_rows[table.title] = count
        elif table.versioning:
            period = [column.name for column in table.columns if column.period == "END"] or ["row_end"]
            current = "18446744073709551615" if table.versioning == tables.TRANSACTION else "'2038-01-19 03:14:07.999999'"
            if not table.carry_history and session.value(
                f"SELECT 1 FROM {table.sql} FOR SYSTEM_TIME ALL WHERE {tables.quote(period[0])} <> {current} LIMIT 1"
            ):
                facts.history.append(table.title)
        session.rows(f"SELECT 1 FROM {table.sql} LIMIT 1")
    except StatementError as error:
        if error.code == 0:
            raise
        facts.unreadable[table.title] = error.reason

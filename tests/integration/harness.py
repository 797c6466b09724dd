# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A private database server for a test, and the product at work on it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pymysql

from ansible_collections.pagesmith.innodb.plugins.module_utils import operations, page_size
from ansible_collections.pagesmith.innodb.plugins.module_utils.instance import InstanceSpec
from ansible_collections.pagesmith.innodb.plugins.module_utils.migration import Plan
from ansible_collections.pagesmith.innodb.plugins.module_utils.session import Login

CASES = Path(__file__).resolve().parent.parent / "cases"
# The server's user must be able to pass, which it can't below pytest's own directories.
PARENT = "/var/tmp"
USER = "mysql"
PATIENCE = 300
LOG_SHOWN = 6000
# Files that a server writes to without being asked for anything.
TOUCHED = ("error.log", "ibtmp1", "ib_logfile0", "ibdata1", "undo001", "undo002", "undo003", "aria_log.00000001", "aria_log_control")
PROGRAM_PATH = f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"
DEFAULTS = {
    "skip-networking": None,
    "event_scheduler": "OFF",
    "plugin_maturity": "unknown",
    "innodb_buffer_pool_size": "64M",
    "innodb_log_file_size": "16M",
    "innodb_fast_shutdown": "1",
    "performance_schema": "OFF",
}


class Refused(Exception):
    """The plan says no. blockers are the product's."""

    def __init__(self, plan: Plan) -> None:
        self.blockers = plan.blockers
        super().__init__("; ".join(f"[{blocker.id}] {blocker.message}. {blocker.remedy}." for blocker in plan.blockers))


def run(command: Sequence[str]) -> tuple[int, str, str]:
    """How the product runs programs when Ansible is not there."""
    done = subprocess.run(list(command), capture_output=True, text=True, errors="surrogateescape", check=False)
    return done.returncode, done.stdout, done.stderr


def program(*names: str) -> str:
    found = [path for path in (shutil.which(name, path=PROGRAM_PATH) for name in names) if path]
    assert found, f"none of {names} is installed"
    return found[0]


def make_base(parent: str = PARENT) -> Path:
    base = Path(tempfile.mkdtemp(prefix="pagesmith-test-", dir=parent))
    base.chmod(0o755)
    return base


class Sandbox:
    """One private instance in a directory of its own.

    base is made and removed unless it is given. settings are lines of the option file, None as value for a name alone; a value of
    False takes a default out. before_init may prepare the directory that the server is initialised in.
    """

    def __init__(
        self,
        base: Path | None = None,
        settings: Mapping[str, Any] | None = None,
        size: str = "16k",
        datadir: Path | None = None,
        group_suffix: str = "",
        option_file: Path | None = None,
    ) -> None:
        self.own_base = base is None
        self.base = base or make_base()
        self.size = size
        self.settings = {**DEFAULTS, **(settings or {})}
        self.datadir = datadir or self.base / "data"
        self.socket = self.base / "server.sock"
        self.error_log = self.base / "error.log"
        self.group_suffix = group_suffix
        self.option_file = option_file or self.base / "my.cnf"
        self.include = self.option_file.parent / "conf.d"
        self.work = self.base / "work"
        self.temporary = self.base / "tmp"
        self.started: list[subprocess.Popen] = []

    # Making and removing.

    def __enter__(self) -> Sandbox:
        try:
            self.create()
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_details: object) -> None:
        self.remove()

    def option_text(self) -> str:
        settings = {
            "datadir": self.datadir,
            "socket": self.socket,
            "pid-file": self.base / "server.pid",
            "log-error": self.error_log,
            # A server that starts deletes temporary tables in this directory, those of other servers as well, which then crash.
            "tmpdir": self.temporary,
            **self.settings,
        }
        lines = [name if value is None else f"{name}={value}" for name, value in settings.items() if value is not False]
        if self.size != "16k":
            lines.append(f"innodb_page_size={self.size}")
        return "\n".join([f"[mysqld{self.group_suffix}]", *lines, ""])

    def write_options(self) -> None:
        self.include.mkdir(exist_ok=True)
        self.option_file.write_text(f"{self.option_text()}!includedir {self.include}\n")

    def create(self) -> None:
        """Option file and empty data directory."""
        user = pwd.getpwnam(USER)
        os.chown(self.base, user.pw_uid, user.pw_gid)
        self.write_options()
        self.make_temporary()
        self.initialise()

    def make_temporary(self) -> None:
        self.temporary.mkdir(exist_ok=True)
        shutil.chown(self.temporary, USER, USER)

    def initialise(self, datadir: Path | None = None, size: str | None = None) -> None:
        """An empty data directory, at the place of the option file or elsewhere."""
        command = [program("mariadb-install-db"), *self.first_arguments(), f"--user={USER}", "--skip-test-db", "--skip-name-resolve"]
        command += ["--auth-root-authentication-method=socket", "--auth-root-socket-user=root"]
        command += [f"--datadir={datadir}"] if datadir else []
        command += [f"--innodb-page-size={size}"] if size else []
        code, out, err = run(command)
        assert code == 0, out + err

    def remove(self) -> None:
        """End what runs in the sandbox and, unless its base was given, delete it."""
        self.kill()
        if self.error_log.exists():
            # Shown when the test failed.
            print(self.error_log.read_text(errors="replace")[-LOG_SHOWN:])
        if self.own_base:
            shutil.rmtree(self.base)

    # The server.

    def first_arguments(self) -> list[str]:
        suffix = [f"--defaults-group-suffix={self.group_suffix}"] if self.group_suffix else []
        return [f"--defaults-file={self.option_file}", *suffix]

    def start(self, *arguments: str) -> None:
        """Start the server and wait until it answers; arguments come after those of the option file."""
        user = pwd.getpwnam(USER)
        process = subprocess.Popen(
            [program("mariadbd", "mysqld"), *self.first_arguments(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=[],
            start_new_session=True,
        )
        self.started.append(process)
        deadline = time.monotonic() + PATIENCE
        while not self.answers():
            assert process.poll() is None, f"the server did not start: {self.error_log.read_text(errors='replace')[-2000:]}"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)

    def answers(self) -> bool:
        try:
            self.connect().close()
        except pymysql.Error:
            return False
        return True

    def servers(self) -> list[int]:
        """Processes of database servers that work below the base, private ones of the product included."""
        return servers_below(self.base)

    def stop(self) -> None:
        """Clean shutdown."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, number: int) -> None:
        pids = self.servers()
        for pid in pids:
            signal_process(pid, number)
        deadline = time.monotonic() + PATIENCE
        while self.servers():
            assert time.monotonic() < deadline, f"servers {pids} do not end"
            time.sleep(0.05)
        for process in self.started:
            process.poll()

    def restart(self) -> None:
        self.stop()
        self.start()

    # SQL.

    def connect(self, **arguments: Any) -> pymysql.connections.Connection:
        given = {
            "unix_socket": str(self.socket),
            "user": "root",
            "charset": "utf8mb4",
            "autocommit": True,
            "ssl_disabled": True,
            **arguments,
        }
        return pymysql.connect(**given)

    def sql(self, text: str, *arguments: str) -> str:
        """Run SQL with the command line client, as a user would; what it prints, without column names."""
        command = [
            program("mariadb", "mysql"),
            "--no-defaults",
            f"--socket={self.socket}",
            "--user=root",
            "--default-character-set=utf8mb4",
        ]
        command += ["--batch", "--skip-column-names", *arguments]
        done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.decode(errors="surrogateescape")

    def page_size(self) -> int:
        """In bytes, as the running server has it."""
        return int(self.sql("SELECT @@innodb_page_size"))

    # The product.

    def options(self, size: str | int = "", **others: Any) -> operations.Options:
        target = page_size.parse(size) if size else 0
        given = {
            "spec": InstanceSpec(
                defaults_file=str(self.option_file), group_suffix=self.group_suffix or None, manager="process", socket=str(self.socket)
            ),
            "login": Login(user="root"),
            "target": target,
            "config": self.config(target) if target else "",
            "work_dir": str(self.work),
            **others,
        }
        return operations.Options(**given)

    def config(self, target: int) -> str:
        """The content of the product's option file."""
        return f"[mysqld{self.group_suffix}]\ninnodb_page_size={target}\n"

    def plan(self, size: str | int, **others: Any) -> Plan:
        options = self.options(size, **others)
        return operations.plan(run, options, operations.read_situation(run, options))

    def migrate(self, size: str | int, allowed: Iterable[str] = (), **others: Any) -> dict[str, Any]:
        """As the module does it: plan, and carry the plan out under the lock. Refused when there are blockers."""
        options = self.options(size, allowed=frozenset(allowed), **others)
        situation = operations.read_situation(run, options)
        plan = operations.plan(run, options, situation)
        if plan.outcome == "refused":
            raise Refused(plan)
        if plan.outcome == "already":
            return operations.describe_plan(plan, options, situation)
        with operations.work_locked(situation):
            situation = operations.read_situation(run, options)
            operations.require_unchanged(options, situation)
            return operations.migrate(run, options, situation, plan.lines)

    def rollback(self, discard: bool = False, keep: bool = False) -> dict[str, Any]:
        options = self.options()
        situation = operations.read_situation(run, options)
        assert operations.last_run_to_undo(situation) is not None, "there is nothing to roll back"
        with operations.work_locked(situation):
            if keep:
                return operations.roll_back_keeping_writes(run, options, situation)
            return operations.roll_back(run, options, situation, discard)

    def kept(self) -> list[str]:
        """Every path that finished runs keep."""
        situation = operations.read_situation(run, self.options())
        return [path for past in situation.work.journal.runs() for path in past.kept()]

    def retire(self, path: str, retention_days: float = 0) -> dict[str, Any]:
        situation = operations.read_situation(run, self.options())
        with operations.work_locked(situation):
            return operations.retire(situation, path, retention_days)

    def snapshot(self) -> dict[str, tuple]:
        """Every path below the base with type, mode, owner, size and time of change: equal when nothing was touched.

        Left out are files that the running server itself touches at any time.
        """
        return snapshot(self.base)

    def work_path(self) -> Path:
        """The product's directory for this instance."""
        return Path(operations.read_situation(run, self.options()).work.path)


def signal_process(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def servers_below(base: Path) -> list[int]:
    """Running database servers whose working directory, which is their data directory, lies below base."""
    real = f"{os.path.realpath(base)}/"
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            name = entry.joinpath("comm").read_text().strip()
            directory = os.readlink(entry / "cwd")
            arguments = entry.joinpath("cmdline").read_bytes()
        except OSError:
            continue
        # A zombie has no command line.
        if arguments and name in ("mariadbd", "mysqld") and (f"{directory}/".startswith(real) or real.encode() in arguments):
            found.append(int(entry.name))
    return found


def snapshot(base: Path) -> dict[str, tuple]:
    found = {}
    for directory, names, files in os.walk(base):
        for name in [*names, *files]:
            path = os.path.join(directory, name)
            if name in TOUCHED:
                continue
            status = os.lstat(path)
            times = (status.st_size, status.st_mtime_ns) if os.path.isfile(path) else ()
            found[path] = (status.st_mode, status.st_uid, status.st_gid, *times, os.readlink(path) if os.path.islink(path) else "")
    return found

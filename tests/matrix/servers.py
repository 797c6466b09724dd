# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The servers of the matrix: how each is run, initialised, asked and stopped. One runs at a time."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pymysql

from ansible_collections.pagesmith.innodb.plugins.module_utils.engines import MARIADB, MYSQL, Engine, parse_banner

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache/matrix"
PATIENCE = 120
CONTAINER_SETTINGS = ROOT / "molecule/bed/containers.conf"
#: Where MariaDB from 10.8 on looks up the block size of its log; podman hides it unless told otherwise.
CONTAINER = ("podman", "run", "--rm", "--network", "none", "--security-opt", "unmask=/sys/dev/block")
ENVIRONMENT = {**os.environ, "CONTAINERS_CONF": str(CONTAINER_SETTINGS), "LC_ALL": "C"}
TIME_AND_THREAD = re.compile(r"^[\d-]+[ T][\d:.]+\S*\s+\d+\s+")
NUMBER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]+){4}|\d+")


class DidNotStart(Exception):
    """The server ended before it answered; the text is its log."""


@dataclass(frozen=True)
class Server:
    """A server program. image: it runs in a container of this image; otherwise home is the directory that holds it.

    settings: further lines of its option file.
    """

    name: str
    engine_name: str
    program: str
    image: str | None = None
    home: Path | None = None
    settings: tuple[str, ...] = ()

    def command(self, program: str, arguments: Sequence[str], base: Path | None = None) -> list[str]:
        """The command line of a program of this server, which sees nothing of the host but base."""
        if self.image is None:
            return [program, *arguments]
        mounts = ["--volume", f"{base}:{base}"] if base else []
        return [*CONTAINER, *mounts, self.image, program, *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {**ENVIRONMENT, **({"LD_LIBRARY_PATH": str(self.home)} if self.home else {})}

    def available(self) -> bool:
        if self.image:
            exists = ["podman", "image", "exists", self.image]
            return bool(shutil.which("podman")) and subprocess.run(exists, env=ENVIRONMENT, check=False).returncode == 0
        return self.home.is_dir()

    def run(self, program: str, arguments: Sequence[str], base: Path | None = None, text: str | None = None) -> subprocess.CompletedProcess:
        """Run a program to its end."""
        command = self.command(program, arguments, base)
        if text is not None and self.image:
            command.insert(2, "--interactive")
        return subprocess.run(
            command, input=text, capture_output=True, text=True, errors="replace", check=False, env=self.environment, timeout=PATIENCE
        )

    def banner(self) -> str:
        return self.run(self.program, ["--version"]).stdout.strip()

    def engine(self) -> Engine:
        return parse_banner(self.banner())


SERVERS = (
    Server("MariaDB 10.5", MARIADB, "mariadbd", image="localhost/pagesmith:bullseye"),
    Server("MariaDB 10.11", MARIADB, "mariadbd", image="localhost/pagesmith:bookworm"),
    Server("MariaDB 11.8", MARIADB, "mariadbd", image="localhost/pagesmith:trixie"),
    Server("MySQL 5.6", MYSQL, str(CACHE / "mysql-5.6/mysqld"), home=CACHE / "mysql-5.6"),
    Server("MySQL 9.7", MYSQL, "mysqld", image="localhost/pagesmith-matrix:mysql", settings=("mysqlx=OFF", "secure_file_priv=NULL")),
)


@dataclass
class Instance:
    """One data directory below base with its option files: my.cnf, and what it includes from conf.d."""

    server: Server
    base: Path
    process: subprocess.Popen | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        for name in ("tmp", "conf.d"):
            (self.base / name).mkdir(parents=True)
        settings = {
            "datadir": self.base / "data",
            "socket": self.base / "s",
            "pid-file": self.base / "pid",
            "log-error": self.base / "error.log",
            "tmpdir": self.base / "tmp",
            "user": "root",
            **({"basedir": self.server.home, "lc-messages-dir": self.server.home / "share"} if self.server.home else {}),
        }
        lines = ["[mysqld]", "skip-networking", "performance_schema=OFF", *(f"{name}={value}" for name, value in settings.items())]
        self.option_file.write_text("\n".join([*lines, *self.server.settings, f"!includedir {self.base}/conf.d", ""]))

    @property
    def option_file(self) -> Path:
        return self.base / "my.cnf"

    @property
    def log(self) -> str:
        path = self.base / "error.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def set_drop_in(self, content: str) -> None:
        (self.base / "conf.d/zz-pagesmith.cnf").write_text(content)

    def initialise(self) -> None:
        """Make the data directory, with the option files as they are."""
        first = f"--defaults-file={self.option_file}"
        if self.server.engine_name == MARIADB:
            options = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", "--user=root"]
            done = self.server.run("mariadb-install-db", [first, *options], self.base)
        elif self.server.home:
            (self.base / "data/mysql").mkdir(parents=True)
            scripts = [self.server.home / "share" / name for name in ("mysql_system_tables.sql", "mysql_system_tables_data.sql")]
            text = "USE mysql;\n" + "".join(script.read_text() for script in scripts)
            done = self.server.run(self.server.program, [first, "--bootstrap"], self.base, text)
        else:
            done = self.server.run(self.server.program, [first, "--initialize-insecure"], self.base)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}{self.log}"
        self.clear_log()

    def clear_log(self) -> None:
        (self.base / "error.log").unlink(missing_ok=True)

    @contextmanager
    def running(self) -> Iterator[pymysql.connections.Connection]:
        """The server while it runs, as a connection."""
        command = self.server.command(self.server.program, [f"--defaults-file={self.option_file}"], self.base)
        null = subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdin=null, stdout=null, stderr=null, env=self.server.environment, start_new_session=True)
        try:
            connection = self._connect()
            yield connection
            connection.close()
        finally:
            self._stop()

    def _connect(self) -> pymysql.connections.Connection:
        deadline = time.monotonic() + PATIENCE
        while True:
            if self.process.poll() is not None:
                raise DidNotStart(self.log)
            assert time.monotonic() < deadline, f"the server does not answer:\n{self.log}"
            try:
                return pymysql.connect(unix_socket=str(self.base / "s"), user="root", charset="utf8mb4", ssl_disabled=True)
            except pymysql.Error:
                time.sleep(0.1)

    def _stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def warnings(self) -> set[str]:
        """Lines of the log that are warnings or errors, without time, thread, numbers and UUIDs."""
        found = (line for line in self.log.splitlines() if re.search(r"\[(Warning|ERROR)\]", line))
        return {NUMBER.sub("N", TIME_AND_THREAD.sub("", line)) for line in found}


def variables(connection: pymysql.connections.Connection) -> dict[str, str]:
    """The global variables of a running server."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES")
        return dict(cursor.fetchall())

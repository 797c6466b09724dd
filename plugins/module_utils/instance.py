# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One database server of a host: found from its service, its option files or what the user gave; started and stopped."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from . import engines, option_file, processes, session, tablespace
from .errors import InnodbError
from .processes import Run
from .service import UNITS, OwnProcess, SystemdService, has_systemd, unit_of

PROGRAM_PATH = "/usr/sbin:/usr/libexec:/usr/local/sbin:/usr/bin:/usr/local/bin:/usr/local/mysql/bin"
START_ERRORS_SHOWN = 3


@dataclass(frozen=True)
class InstanceSpec:
    """What the user said of the instance (the variable innodb_instance); all may be left out on a standard host."""

    defaults_file: str | None = None
    group_suffix: str | None = None
    service: str | None = None
    manager: str | None = None
    socket: str | None = None
    program: str | None = None


@dataclass(frozen=True)
class Instance:
    """An instance as found. Paths are absolute; datadir is as the server has it, see layout.py for where it really lies."""

    engine: engines.Engine
    program: str
    defaults_file: str | None
    group_suffix: str | None
    arguments: tuple[str, ...]
    options: option_file.Options
    datadir: str
    socket: str
    service: SystemdService | OwnProcess

    @property
    def name(self) -> str:
        """A name for directories and messages that is the same in every run."""
        if self.service.kind == "systemd":
            base = self.service.unit.rpartition(".")[0]
        else:
            base = f"{self.defaults_file or self.datadir}{self.group_suffix or ''}".strip("/")
        return re.sub(r"[^A-Za-z0-9_.@-]", "-", base)

    @property
    def first_arguments(self) -> list[str]:
        return option_file.default_arguments(self.defaults_file, self.group_suffix)

    @property
    def command(self) -> list[str]:
        return [self.program, *self.first_arguments, *self.arguments]

    @property
    def error_log(self) -> str | None:
        """The file of the error log, None when it goes to the journal or to nowhere."""
        path = self.options.get("log_error")
        if not path:
            return None
        return os.path.join(self.datadir, path)

    @property
    def system_file(self) -> str:
        """The first file of the system tablespace."""
        home = self.options.get("innodb_data_home_dir") or self.datadir
        name = (self.options.get("innodb_data_file_path") or "ibdata1").split(";")[0].split(":")[0]
        return os.path.join(self.datadir, home, name)

    def owner(self) -> tuple[int, int]:
        """The user as whom the server runs, who owns the data directory, and that user's own group."""
        return processes.owner(self.datadir)

    def running(self) -> bool:
        return bool(processes.servers_in(self.datadir))

    def page_size_of_files(self) -> int | None:
        """Page size in bytes as the files have it, None when there is no data directory or its files are not understood."""
        return tablespace.page_size_of_file(self.system_file)

    def login(self, login: session.Login) -> session.Login:
        """The login with the instance's own socket where the user named neither host nor socket."""
        if login.host or login.unix_socket:
            return login
        return replace(login, unix_socket=self.socket)

    def start(self, seconds: float, sockets: Sequence[str] = ()) -> None:
        """Start the server through its manager and wait until its socket answers; InnodbError with its log's errors if not."""
        self.service.start(seconds, sockets)
        deadline = time.monotonic() + seconds
        while not (self.running() and processes.listening(self.socket)):
            ended = self.service.kind == "process" and not self.service.started()
            if ended or time.monotonic() > deadline:
                raise InnodbError(
                    f"the server did not start: {self.last_errors()}",
                    remedy=f"Read its error log{f' {self.error_log}' if self.error_log else ''}",
                )
            time.sleep(processes.POLL_SECONDS)

    def last_errors(self) -> str:
        return log_errors(self.error_log) if self.error_log else "no error log is set"

    def stop(self, seconds: float, sockets: Sequence[str] | None = None) -> None:
        """Stop the server, with what would start it again, and prove that it is stopped."""
        self.service.stop(seconds, sockets)
        processes.wait_stopped(self.datadir, self.system_file, seconds)


def log_errors(path: str) -> str:
    """The first lines since the last start that the server marked as errors: those after them are consequences."""
    lines: list[str] = []
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if re.search(r"starting .*as process \d+", line, re.IGNORECASE):
                    lines = []
                elif re.search(r"\[ERROR\]|\[FATAL\]", line):
                    lines.append(re.sub(r"^.*?\[(ERROR|FATAL)\]\s*", "", line.strip()))
    except OSError as error:
        return f"{path} can't be read ({error.strerror})"
    return "; ".join(lines[:START_ERRORS_SHOWN]) or "no error in its log"


def find_program() -> str:
    for name in processes.SERVER_NAMES:
        path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{PROGRAM_PATH}")
        if path:
            return path
    raise InnodbError(
        "no server program (mariadbd, mysqld) is installed",
        remedy="Install the server, or name it in innodb_instance.program",
    )


def find_service(run: Run, spec: InstanceSpec) -> SystemdService | None:
    """The systemd unit of the instance; None when systemd does not run it."""
    if spec.manager == "process":
        return None
    if spec.service:
        return SystemdService(run, spec.service)
    if spec.defaults_file is None and has_systemd():
        for unit in UNITS:
            try:
                return SystemdService(run, unit)
            except InnodbError:
                continue
    if spec.manager == "systemd":
        raise InnodbError("no unit of a database server was found", remedy="Name it in innodb_instance.service")
    return None


def split_command(command: Sequence[str]) -> tuple[str | None, str | None, str | None, list[str]]:
    """Program, defaults file, group suffix and other arguments of a server's command line."""
    program = command[0] if command else None
    defaults_file = group_suffix = None
    others = []
    for argument in command[1:]:
        name, _equals, value = argument.partition("=")
        if name == "--defaults-file":
            defaults_file = value
        elif name == "--defaults-group-suffix":
            group_suffix = value
        elif not name.startswith("--wsrep"):
            others.append(argument)
    return program, defaults_file, group_suffix, others


def find_instance(run: Run, spec: InstanceSpec) -> Instance:
    """The instance that spec means; InnodbError when there is none, or more than one could be meant."""
    service = find_service(run, spec)
    program, defaults_file, group_suffix, arguments = None, spec.defaults_file, spec.group_suffix, []
    if service:
        program, defaults_file, group_suffix, arguments = split_command(service.command())
    elif not spec.defaults_file and len(processes.server_pids()) > 1:
        raise InnodbError(
            "more than one server runs on this host and none is a standard service",
            remedy="Say which one in innodb_instance (service, or defaults_file)",
        )
    program = spec.program or program or find_program()
    if not os.path.isfile(program):
        raise InnodbError(f"the server program {program} does not exist", remedy="Correct innodb_instance.program, or install it")
    engine = read_engine(run, program)
    options = option_file.read_options(run, program, defaults_file, group_suffix, arguments)
    datadir = (options.get("datadir") or "").rstrip("/")
    if not datadir.startswith("/"):
        raise InnodbError(f"the data directory '{datadir}' of {program} is no absolute path", remedy="Set datadir in its option file")
    if service is None and spec.manager is None:
        service = service_of_running(run, datadir)
    if service is None:
        command = [program, *option_file.default_arguments(defaults_file, group_suffix), *arguments]
        service = OwnProcess(command, datadir, "/dev/null")
    return Instance(
        engine=engine,
        program=program,
        defaults_file=defaults_file,
        group_suffix=group_suffix,
        arguments=tuple(arguments),
        options=options,
        datadir=datadir,
        socket=spec.socket or os.path.join(datadir, options.get("socket") or "mysql.sock"),
        service=service,
    )


def service_of_running(run: Run, datadir: str) -> SystemdService | None:
    """The unit that runs the server in this data directory, which would start it again behind our back."""
    for pid in processes.servers_in(datadir) if has_systemd() else []:
        unit = unit_of(pid)
        if unit:
            service = SystemdService(run, unit)
            if service.pid() == pid:
                return service
    return None


def read_engine(run: Run, program: str) -> engines.Engine:
    code, out, err = run([program, "--version"])
    if code != 0:
        raise InnodbError(f"'{program} --version' failed: {err.strip() or out.strip()}")
    return engines.parse_banner(out)

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Who starts and stops the server: systemd, or we ourselves. Both offer start, stop, guard and release."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Sequence

from . import processes
from .durable import remove_file, write_file
from .errors import InnodbError
from .processes import Run

UNITS = ("mariadb.service", "mysql.service", "mysqld.service")
GUARD_FILE = "pagesmith-fence.conf"
SHELLS = ("sh", "bash", "dash")
#: What a process that systemd has forked calls itself until it becomes the program of the unit; from 254 on, what it runs till then.
NOT_YET = re.compile(r"\(.*\)|(?:.*/)?systemd-executor")
UNIT_PROPERTIES = "Id,LoadState,MainPID,ExecStart,Environment,TriggeredBy,DropInPaths"
CONDITION = "[Unit]\nConditionPathExists=!"


def unit_of(pid: int) -> str | None:
    """The unit in whose control group a process runs, None when it is none of a service."""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
            names = re.findall(r"/([^/\n]+\.service)$", file.read(), re.MULTILINE)
    except FileNotFoundError:
        return None
    return names[0] if names else None


def has_systemd() -> bool:
    return os.path.isdir("/run/systemd/system")


def parse_exec_start(text: str, environment: str) -> list[str]:
    """The server's command line in systemd's ExecStart property, with $VARIABLES of the unit's own Environment filled in."""
    match = re.search(r"argv\[\]=(.*?) ; ignore_errors", text)
    if not match:
        return []
    variables = dict(part.partition("=")[::2] for part in shlex.split(environment))
    arguments = []
    for word in without_shell(match.group(1).split()):
        reference = re.fullmatch(r"\$(\w+)", word)
        if reference:
            arguments += shlex.split(variables.get(reference.group(1), ""))
        else:
            # ${NAME} may stand within a word and is never split.
            arguments.append(re.sub(r"\$\{(\w+)\}", lambda found: variables.get(found.group(1), ""), word))
    return arguments


def without_shell(words: list[str]) -> list[str]:
    """What a shell in front of the server turns into by exec; empty when it can't be told. Other commands are as they are."""
    if not words or os.path.basename(words[0]) not in SHELLS:
        return words
    if "exec" not in words:
        return []
    command = words[len(words) - words[::-1].index("exec") :]
    return list(itertools.takewhile(lambda word: not re.search(r"[;&|<>()`]", word), command))


def write_fence(fence_file: str) -> None:
    """Write the file that says why the server is down. It is left as it is, since a rollback may find the file system full."""
    if not os.path.exists(fence_file):
        write_file(fence_file, "A page size migration keeps the server down; see the journal beside this file.\n", 0o600)


class SystemdService:
    """A unit of systemd."""

    kind = "systemd"

    def __init__(self, run: Run, unit: str) -> None:
        self.run = run
        self.unit = unit if "." in os.path.basename(unit) else f"{unit}.service"
        properties = self.properties()
        if properties.get("LoadState") != "loaded":
            raise InnodbError(
                f"systemd has no unit {self.unit}",
                remedy="Name the server's unit in innodb_instance.service, or set innodb_instance.manager to process",
            )
        self.unit = properties["Id"]

    def properties(self) -> dict[str, str]:
        code, out, err = self.run(["systemctl", "show", "-p", UNIT_PROPERTIES, self.unit])
        if code != 0:
            raise InnodbError(f"systemd does not answer: {err.strip() or out.strip()}")
        return dict(line.partition("=")[::2] for line in out.splitlines() if "=" in line)

    def command(self) -> list[str]:
        """The server's command line: of the running process, or as the unit starts it, also while the process is not the server yet."""
        properties = self.properties()
        pid = int(properties.get("MainPID") or 0)
        arguments = processes.command_line(pid) if pid else []
        if arguments and not NOT_YET.fullmatch(arguments[0]) and os.path.basename(arguments[0]) not in SHELLS:
            return arguments
        return parse_exec_start(properties.get("ExecStart", ""), properties.get("Environment", ""))

    def pid(self) -> int | None:
        return int(self.properties().get("MainPID") or 0) or None

    def sockets(self) -> list[str]:
        """Active socket units that would start the server, or keep its port, when a client knocks."""
        names = self.properties().get("TriggeredBy", "").split()
        return [name for name in names if name.endswith(".socket") and self._active(name)]

    def _active(self, unit: str) -> bool:
        return self.run(["systemctl", "is-active", "--quiet", unit])[0] == 0

    def _systemctl(self, *arguments: str) -> None:
        code, out, err = self.run(["systemctl", *arguments])
        if code != 0:
            reason = (err.strip() or out.strip() or f"exit status {code}").splitlines()[0]
            raise InnodbError(
                f"'systemctl {' '.join(arguments)}' failed: {reason}",
                remedy=f"Read 'journalctl -u {self.unit}' and the server's error log",
            )

    def stop(self, seconds: float, sockets: Sequence[str] | None = None) -> None:
        """Stop the unit and the sockets that would wake it, which are looked up when the caller has not done so."""
        del seconds  # the unit has its own TimeoutStopSec
        self._systemctl("stop", *(self.sockets() if sockets is None else sockets), self.unit)

    def start(self, seconds: float, sockets: Sequence[str] = ()) -> None:
        del seconds
        self._systemctl("start", *sockets, self.unit)

    def _guard_path(self) -> str:
        return f"/etc/systemd/system/{self.unit}.d/{GUARD_FILE}"

    def guard(self, fence_file: str) -> None:
        """Keep everybody, a monitor and a reboot included, from starting the unit while fence_file exists."""
        write_fence(fence_file)
        if not os.path.exists(self._guard_path()):
            os.makedirs(os.path.dirname(self._guard_path()), exist_ok=True)
            write_file(self._guard_path(), f"{CONDITION}{fence_file}\n", 0o644)
        # Also when the file was there: a run may have been cut short before systemd read it.
        self._systemctl("daemon-reload")
        if self._guard_path() not in self.properties().get("DropInPaths", ""):
            raise InnodbError(f"systemd does not take {self._guard_path()}, so the unit can't be kept from starting")

    def guarded_by(self) -> str | None:
        """The fence file of the run that keeps the unit down, None when none does."""
        if not os.path.exists(self._guard_path()):
            return None
        with open(self._guard_path(), encoding="utf-8") as file:
            return file.read().removeprefix(CONDITION).strip()

    def allow(self, fence_file: str) -> None:
        """Let the unit be started again, at once; what is left of the guard is for release()."""
        remove_file(fence_file)

    def release(self, fence_file: str) -> None:
        """Take the guard away; without effect when there is none."""
        if os.path.exists(self._guard_path()):
            remove_file(self._guard_path())
            directory = os.path.dirname(self._guard_path())
            if not os.listdir(directory):
                os.rmdir(directory)
            self._systemctl("daemon-reload")
        remove_file(fence_file)


class OwnProcess:
    """A server without a service: we start it and it stays; it is known by the data directory it runs in."""

    kind = "process"

    def __init__(self, command: Sequence[str], data_directory: str, log: str) -> None:
        self._command = list(command)
        self.data_directory = data_directory
        self.log = log
        self.child = None

    def command(self) -> list[str]:
        return self._command

    def pid(self) -> int | None:
        pids = processes.servers_in(self.data_directory)
        return pids[0] if pids else None

    def sockets(self) -> list[str]:
        return []

    def stop(self, seconds: float, sockets: Sequence[str] | None = None) -> None:
        del sockets
        for pid in processes.servers_in(self.data_directory):
            processes.stop_pid(pid, seconds)

    def start(self, seconds: float, sockets: Sequence[str] = ()) -> None:
        del seconds, sockets
        if self.pid():
            return
        uid, _gid = processes.owner(self.data_directory)
        self.child = processes.spawn(self._command, uid, self.log, bound=False)

    def started(self) -> bool:
        """Whether the process that start() made still lives."""
        return self.child is None or self.child.poll() is None

    def guard(self, fence_file: str) -> None:
        """Nobody but us starts this server, so the note is all there is; InnoDB's lock and the fingerprint do the rest."""
        write_fence(fence_file)

    def guarded_by(self) -> str | None:
        return None

    def allow(self, fence_file: str) -> None:
        remove_file(fence_file)

    def release(self, fence_file: str) -> None:
        remove_file(fence_file)

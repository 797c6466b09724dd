# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Server processes: which one runs in a directory, starting one of our own, stopping one and proving it stopped."""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from typing import Callable

from .durable import LIBC
from .errors import InnodbError

#: Runs a program and gives its exit status, its output and its errors.
Run = Callable[[Sequence[str]], "tuple[int, str, str]"]

SERVER_NAMES = ("mariadbd", "mysqld")
POLL_SECONDS = 0.05
ACCEPTS_CONNECTIONS = 0x10000  # __SO_ACCEPTCON among the flags of /proc/net/unix
PR_SET_PDEATHSIG = 1
#: Beginning of the directories for sockets of private servers, and the file in one that tells that its server has answered.
PRIVATE_SOCKETS = "/run/pagesmith-"
ANSWERED = "answered"
STARTING_SECONDS = 30


def command_line(pid: int) -> list[str]:
    """Arguments of a process, empty when it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return [os.fsdecode(part) for part in file.read().split(b"\0")[:-1]]
    except (FileNotFoundError, ProcessLookupError):
        return []


def server_pids() -> list[int]:
    """Processes of database servers that this host shows."""
    pids = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            arguments = command_line(int(name))
            if arguments and os.path.basename(arguments[0]) in SERVER_NAMES:
                pids.append(int(name))
    return sorted(pids)


def working_directory(pid: int) -> str | None:
    """Where a process works: for a running server its data directory, also after that was renamed."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ESRCH):
            return None
        raise InnodbError(
            f"the processes of this host can't be inspected: {error.strerror}",
            remedy="Run as root, in a container with the capability SYS_PTRACE",
        ) from error


def servers_in(directory: str) -> list[int]:
    """Server processes that have this data directory open."""
    real = os.path.realpath(directory)
    return [pid for pid in server_pids() if working_directory(pid) == real]


def listening(path: str) -> bool:
    """Whether some process takes connections on the Unix socket of this path: between making it and that, a server refuses them.

    A socket that the kernel knows by another path, through a symbolic link, counts as soon as its file is there.
    """
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
        states = states_of_sockets(table, path)
    return any(states) if states else os.path.exists(path)


def states_of_sockets(table: Iterable[str], path: str) -> list[bool]:
    """For each socket of this path in the kernel's table whether it is one that takes connections."""
    entries = (line.rstrip("\n").split(None, 7) for line in table)
    return [bool(int(entry[3], 16) & ACCEPTS_CONNECTIONS) for entry in entries if len(entry) == 8 and entry[7] == path]


def locked(path: str) -> bool:
    """Whether some process, in any container, holds InnoDB's lock on a system file."""
    if not os.path.exists(path):
        return False
    with open(path, "r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return True
            raise
        fcntl.lockf(file, fcntl.LOCK_UN)
    return False


def require_stopped(directory: str, system_file: str) -> None:
    """InnodbError unless no server has the data directory open and nobody holds InnoDB's lock."""
    pids = servers_in(directory)
    if pids:
        raise InnodbError(f"process {pids[0]} is a server that runs in {directory}")
    if locked(system_file):
        raise InnodbError(f"{system_file} is locked by a running server")


def wait_stopped(directory: str, system_file: str, seconds: float) -> None:
    """Wait until require_stopped() holds; InnodbError after seconds."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return require_stopped(directory, system_file)
        except InnodbError:
            if time.monotonic() > deadline:
                raise
        time.sleep(POLL_SECONDS)


def _die_with_parent() -> None:
    """The server ends, cleanly, when the process that started it is killed: a private server must not outlive its work."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def owner(directory: str) -> tuple[int, int]:
    """User id of the owner of a directory and the id of that user's own group, which need not be the directory's."""
    uid = os.stat(directory).st_uid
    try:
        return uid, pwd.getpwuid(uid).pw_gid
    except KeyError as error:
        raise InnodbError(f"{directory} belongs to the user id {uid}, which has no name on this host") from error


def spawn(command: Sequence[str], uid: int, log: str, bound: bool) -> subprocess.Popen:
    """Start a server as this user in a session of its own. bound: it ends when we end."""
    with open(log, "ab") as output:
        if bound:
            # MySQL opens its log as the user it runs as.
            os.fchown(output.fileno(), uid, -1)
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            umask=0o077 if bound else 0o007,
            start_new_session=True,
            preexec_fn=_die_with_parent if bound else None,
            **identity(uid),
        )


def identity(uid: int) -> dict:
    """Arguments of subprocess that make a child this user, with all its groups; none when we are it already."""
    if uid == os.geteuid():
        return {}
    user = pwd.getpwuid(uid)
    return {"user": uid, "group": user.pw_gid, "extra_groups": os.getgrouplist(user.pw_name, user.pw_gid)}


def never_answered(pid: int) -> bool:
    """Whether a process is a private server that nobody, not even its starter, has talked to yet."""
    prefix = f"--socket={PRIVATE_SOCKETS}"
    sockets = [argument[len("--socket=") :] for argument in command_line(pid) if argument.startswith(prefix)]
    return bool(sockets) and not os.path.exists(os.path.join(os.path.dirname(sockets[-1]), ANSWERED))


def stop_pid(pid: int, seconds: float, alive: object = None) -> None:
    """End a server with SIGTERM, which is its clean shutdown, and wait; InnodbError when it takes longer.

    SIGKILL is for a private server that never answered: told to end while it starts, MariaDB may wait for ever for a thread of
    its own that has ended already (seen with 10.11). Nothing was written to it, and its next start recovers its files.
    """
    unused = never_answered(pid)
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    deadline = time.monotonic() + (min(seconds, STARTING_SECONDS) if unused else seconds)
    while alive() if callable(alive) else _running(pid):
        if time.monotonic() > deadline:
            if unused:
                unused, deadline = False, time.monotonic() + seconds
                os.kill(pid, signal.SIGKILL)
                continue
            raise InnodbError(
                f"the server (process {pid}) did not end within {seconds:.0f} s",
                remedy="Wait for its shutdown (see its error log), then run again with a larger innodb_stop_timeout",
            )
        time.sleep(POLL_SECONDS)


def _running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False

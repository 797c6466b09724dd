# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Our option file on the host: whether it may be written, writing it, restarting the server into it, reading its values back."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from . import page_size
from .durable import remove_file, write_file
from .errors import UNCHANGED, InnodbError
from .instance import Instance, InstanceSpec, find_instance
from .journal import UNFINISHED
from .option_file import drop_in_path, overridden, read_option_file
from .option_rows import LISTS
from .option_values import canonical
from .processes import Run
from .server_config import FILE_MODE, PAGE_SIZE, Mismatch, read_back
from .session import Login, Session, connect
from .work_directory import WorkDirectory

DEFAULT_PAGE_SIZE = 16384


@dataclass(frozen=True)
class Change:
    """What becomes of our option file. before: its content now, None when there is none. size: page size in bytes of the data."""

    path: str
    before: str | None
    after: str
    size: int

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def diff(self) -> dict[str, str]:
        """The change as Ansible shows it."""
        return {"before_header": self.path, "after_header": self.path, "before": self.before or "", "after": self.after}


def plan(instance: Instance, content: str) -> Change:
    """The change, without making it; InnodbError when the file has no place, would not count, or would not fit the data."""
    path = drop_in_path(instance.options, instance.group_suffix)
    if path is None:
        raise InnodbError(
            "the option files of the server include no directory where an option file of ours could be put",
            remedy="Add a line '!includedir DIRECTORY' at the end of the server's option file",
        )
    if not os.path.isdir(instance.datadir):
        raise InnodbError(f"the data directory {instance.datadir} does not exist", remedy="Install and initialise the server first")
    require_page_size(instance, path, content)
    require_last(instance, path, content)
    size = instance.page_size_of_files() or page_size_asked(instance, path, content)
    return Change(path, read_option_file(path) if os.path.exists(path) else None, content, size)


def page_size_asked(instance: Instance, path: str, content: str) -> int:
    """Page size in bytes that the server would be started with."""
    asked = [setting.value for setting in instance.options.reread({path: content}) if setting.name == PAGE_SIZE]
    return page_size.parse(asked[-1]) if asked else DEFAULT_PAGE_SIZE


def require_page_size(instance: Instance, path: str, content: str) -> None:
    """InnodbError when the file asks for another page size than the data has."""
    found, asked = instance.page_size_of_files(), page_size_asked(instance, path, content)
    if found and found != asked:
        raise InnodbError(
            f"the data directory {instance.datadir} has {page_size.label(found)} pages and can't be started with"
            f" {PAGE_SIZE}={page_size.label(asked)}",
            remedy=f"Changing it is the migration's job: run pagesmith.innodb.migrate with innodb_page_size={page_size.label(asked)}",
        )


def require_last(instance: Instance, path: str, content: str) -> None:
    """InnodbError when a later line, or the command line, sets one of our options to something else."""
    lost = [
        f"{winner.file}{f':{winner.line}' if winner.line else ''} sets {winner.name}={winner.value} after our {own.name}={own.value}"
        for own, winner in overridden(instance.options, path, content)
        if own.name not in LISTS and canonical(own.value) != canonical(winner.value)
    ]
    if lost:
        raise InnodbError(f"options of {path} would be overridden: {', '.join(lost)}", remedy="Take them out there and run again")


def require_no_migration(work: WorkDirectory, lock_held: bool) -> None:
    """InnodbError while a migration of the instance runs or is unfinished: it has the option file in its own hands."""
    last = work.journal.last()
    if lock_held:
        raise InnodbError("a migration of this instance is running", remedy="Wait for it and run again")
    if last and last.status == UNFINISHED:
        raise InnodbError(f"the migration {last.id} of this instance is unfinished", remedy="Finish it, or roll it back, and run again")


def process_age_seconds(pid: int) -> float:
    """How long a process runs."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def restart_pending(instance: Instance, path: str) -> bool:
    """Whether the running server was started before our option file was written."""
    pid = instance.service.pid()
    return pid is not None and os.path.exists(path) and time.time() - os.stat(path).st_mtime < process_age_seconds(pid)


def put(path: str, content: str | None) -> None:
    """Write our option file, or remove it."""
    if content is None:
        remove_file(path)
    else:
        write_file(path, content, FILE_MODE)


@dataclass(frozen=True)
class Restart:
    """How to restart an instance; timeouts in seconds."""

    run: Run
    spec: InstanceSpec
    stop_timeout: float
    start_timeout: float

    def into(self, instance: Instance, change: Change) -> Instance:
        """Restart with the new file and return the instance as it is then; when it does not start, go back to the old file and raise."""
        sockets = instance.service.sockets()
        try:
            instance.stop(self.stop_timeout)
        except InnodbError as error:
            raise error.with_state(f"{_put_back(change)}, but the server was told to stop and may be down.") from error
        try:
            instance = find_instance(self.run, self.spec)
            instance.start(self.start_timeout, sockets)
        except InnodbError as error:
            raise error.with_state(self._back(change, sockets)) from error
        return instance

    def _back(self, change: Change, sockets: Sequence[str]) -> str:
        """Put the old file back, start the server with it, and say in what state the host is."""
        done = _put_back(change)
        try:
            instance = find_instance(self.run, self.spec)
            instance.stop(self.stop_timeout)
            instance.start(self.start_timeout, sockets)
        except InnodbError as error:
            return f"{done}, but the server does not start with that either and is down: {error.failed}."
        return f"{done}, and the server runs with that again."


def _put_back(change: Change) -> str:
    put(change.path, change.before)
    return "The file was removed again" if change.before is None else "The old file was put back"


def require_identity(session: Session, instance: Instance) -> None:
    """InnodbError when another server answers."""
    datadir = session.variables("datadir").get("datadir") or ""
    if os.path.realpath(datadir) != os.path.realpath(instance.datadir):
        raise InnodbError(
            f"the server that answers works in {datadir}, but the instance that was found works in {instance.datadir}",
            remedy="Say which instance is meant in instance, or which socket in login_unix_socket",
        )


def read_back_values(instance: Instance, login: Login, content: str, state: str = UNCHANGED) -> list[Mismatch]:
    """Compare the running server with the file: what it only rounded is returned, any other difference is an InnodbError."""
    with connect(instance.login(login)) as session:
        require_identity(session, instance)
        found = read_back(session, content, instance.options.groups)
    lost = [str(mismatch) for mismatch in found if not mismatch.rounded]
    if lost:
        raise InnodbError(
            f"the running server does not have what the option file asks for: {', '.join(lost)}",
            state,
            "Ask for the value the server has, or restart the server when somebody changed it while it ran",
        )
    return found

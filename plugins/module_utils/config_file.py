# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Our option file on the host: whether it may be written, writing it, restarting the server into it, reading its values back."""

from __future__ import annotations

import glob
import os
import stat
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from . import page_size
from .durable import remove_file, write_file
from .errors import UNCHANGED, InnodbError
from .instance import Instance, InstanceSpec, find_instance
from .journal import UNFINISHED
from .option_file import drop_in_name, drop_in_path, include_directive, overridden, read_option_file
from .option_rows import LISTS
from .option_values import canonical
from .processes import Run
from .server_config import FILE_MODE, PAGE_SIZE, Mismatch, read_back
from .session import Login, Session, connect
from .work_directory import WorkDirectory

DEFAULT_PAGE_SIZE = 16384


@dataclass(frozen=True)
class Edit:
    """What becomes of one file. before: its content now, None when there is none; after: None when it goes."""

    path: str
    before: str | None
    after: str | None

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def diff(self) -> dict[str, str]:
        """The change as Ansible shows it."""
        return {"before_header": self.path, "after_header": self.path, "before": self.before or "", "after": self.after or ""}

    def undone(self) -> Edit:
        return Edit(self.path, self.after, self.before)


@dataclass(frozen=True)
class Change:
    """What becomes of our option file and, where it needs a line of its own for that, of the file that includes it.

    size: page size in bytes of the data.
    """

    own: Edit
    size: int
    include: Edit | None = None

    @property
    def path(self) -> str:
        return self.own.path

    @property
    def after(self) -> str:
        return self.own.after or ""

    @property
    def changes(self) -> bool:
        return any(edit.changes for edit in self.edits)

    @property
    def edits(self) -> list[Edit]:
        """In the order in which they are made: what is included must be there."""
        return [self.own, *([self.include] if self.include else [])]

    def diff(self) -> list[dict[str, str]]:
        return [edit.diff() for edit in self.edits]


def plan(instance: Instance, content: str, add_include: bool = False) -> Change:
    """The change, without making it; InnodbError when the file has no place, would not count, or would not fit the data."""
    path, include = find_place(instance, add_include)
    if not os.path.isdir(instance.datadir):
        raise InnodbError(f"the data directory {instance.datadir} does not exist", remedy="Install and initialise the server first")
    contents = {path: content, **({include.path: include.after} if include else {})}
    require_page_size(instance, contents)
    require_last(instance, path, contents)
    size = instance.page_size_of_files() or page_size_asked(instance, contents)
    return Change(Edit(path, read_option_file(path) if os.path.exists(path) else None, content), size, include)


def find_place(instance: Instance, add_include: bool) -> tuple[str, Edit | None]:
    """Where our option file belongs, and the line that another one needs for that; InnodbError when nobody allows that line."""
    path = drop_in_path(instance.options, instance.group_suffix)
    if path:
        return path, None
    directive = include_directive(instance.options, instance.defaults_file)
    if directive is None:
        raise InnodbError("the server has no option file", remedy="Make one, such as /etc/my.cnf, with a line '!includedir /etc/my.cnf.d'")
    file, directory = directive
    line = f"!includedir {directory}"
    if not add_include:
        raise InnodbError(
            "the option files of the server include no directory where an option file of ours could be put",
            remedy=f"Make the directory {directory} and add the line '{line}' at the end of {file}, or allow it with add_include",
        )
    strangers = sorted(glob.glob(os.path.join(glob.escape(directory), "*.cnf")))
    if strangers:
        raise InnodbError(
            f"the server does not read {directory} now, and would also read {', '.join(strangers)} from there",
            remedy=f"Move them away, or include another directory at the end of {file} yourself",
        )
    before = read_option_file(file)
    end = "" if before.endswith("\n") or not before else "\n"
    return drop_in_name(directory, instance.group_suffix), Edit(file, before, f"{before}{end}{line}\n")


def page_size_asked(instance: Instance, contents: dict[str, str]) -> int:
    """Page size in bytes that the server would be started with, with these contents of option files by path."""
    asked = [setting.value for setting in instance.options.reread(contents) if setting.name == PAGE_SIZE]
    return page_size.parse(asked[-1]) if asked else DEFAULT_PAGE_SIZE


def require_page_size(instance: Instance, contents: dict[str, str]) -> None:
    """InnodbError when the option files ask for another page size than the data has."""
    found, asked = instance.page_size_of_files(), page_size_asked(instance, contents)
    if found and found != asked:
        raise InnodbError(
            f"the data directory {instance.datadir} has {page_size.label(found)} pages and can't be started with"
            f" {PAGE_SIZE}={page_size.label(asked)}",
            remedy=f"Changing it is the migration's job: run pagesmith.innodb.migrate with innodb_page_size={page_size.label(asked)}",
        )


def require_last(instance: Instance, path: str, contents: dict[str, str]) -> None:
    """InnodbError when a later line, the command line or a persisted variable sets one of our options to something else."""
    lost = [
        (own, winner)
        for own, winner in overridden(instance.options, path, contents[path], contents)
        if own.name not in LISTS and canonical(own.value) != canonical(winner.value)
    ]
    if not lost:
        return
    told = [f"{winner.place} sets {winner.name}={winner.value} after our {own.name}={own.value}" for own, winner in lost]
    reset = [f"RESET PERSIST {winner.name}" for _own, winner in lost if winner in instance.options.persisted]
    remedy = f"Take them out there ({'; '.join(reset)}) and run again" if reset else "Take them out there and run again"
    raise InnodbError(f"options of {path} would be overridden: {', '.join(told)}", remedy=remedy)


def require_no_migration(work: WorkDirectory, lock_held: bool) -> None:
    """InnodbError while a migration of the instance runs or is unfinished: it has the option file in its own hands."""
    last = work.journal.last()
    if lock_held:
        raise InnodbError("a migration of this instance is running", remedy="Wait for it and run again")
    if last and last.status == UNFINISHED:
        raise InnodbError(f"the migration {last.id} of this instance is unfinished", remedy="Finish it, or roll it back, and run again")


def socket_warning(sockets: Sequence[str]) -> str | None:
    """What it means that systemd listens in the server's place, with its units; None when it does not."""
    if not sockets:
        return None
    return (
        f"{', '.join(sockets)} listens for the server, so port, bind_address and socket of its option files have no effect;"
        f" 'systemctl disable --now {' '.join(sockets)}' and a restart give them back"
    )


def process_age_seconds(pid: int) -> float:
    """How long a process runs."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def restart_pending(instance: Instance, path: str) -> bool:
    """Whether the running server was started before our option file was written."""
    pid = instance.service.pid()
    return pid is not None and os.path.exists(path) and time.time() - os.stat(path).st_mtime < process_age_seconds(pid)


def put(edits: Iterable[Edit]) -> None:
    """Write files, or remove them. One that is there keeps its mode; a directory that is missing is made."""
    for edit in edits:
        if edit.after is None:
            remove_file(edit.path)
        elif edit.changes:
            os.makedirs(os.path.dirname(edit.path), 0o755, exist_ok=True)
            mode = stat.S_IMODE(os.stat(edit.path).st_mode) if edit.before is not None else FILE_MODE
            write_file(edit.path, edit.after, mode)


def put_content(path: str, content: str | None) -> None:
    """Give one file this content, or remove it."""
    put([Edit(path, read_option_file(path) if os.path.exists(path) else None, content)])


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
    put(edit.undone() for edit in reversed(change.edits))
    return "The file was removed again" if change.own.before is None else "The old file was put back"


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

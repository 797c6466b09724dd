# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A server that only we can reach: the instance's own program and option files, a socket in a closed directory, no network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from . import processes, session
from .durable import private_directory
from .errors import Ended, InnodbError
from .instance import Instance, log_errors
from .work_directory import remove_run_dir, socket_directory

START_SECONDS = 900  # crash recovery of a large server takes its time; the units of the distributions wait as long


class PrivateServer:
    """A private server on one data directory, as a context manager.

    run_dir is made for its temporary files and its error log, belongs to the server's user, and is removed at the end.
    The socket lies in a closed directory of its own.
    It is stopped cleanly when the block ends, and by the kernel's signal when we are killed.
    """

    def __init__(
        self,
        instance: Instance,
        datadir: str,
        run_dir: str,
        options: Sequence[str] = (),
        login: session.Login = session.Login(),  # noqa: B008 (immutable)
        stop_seconds: float = START_SECONDS,
        title: str = "the private server",
    ) -> None:
        self.instance = instance
        self.datadir = datadir
        self.run_dir = run_dir
        self.options = list(options)
        self.title = title
        self.socket_dir = socket_directory(run_dir)
        self.socket = os.path.join(self.socket_dir, "s")
        self.temporary = os.path.join(run_dir, "tmp")
        self.error_log = os.path.join(run_dir, "error.log")
        self.account = login
        self.stop_seconds = stop_seconds
        self.process = None

    def command(self) -> list[str]:
        return [
            *self.instance.command,
            f"--datadir={self.datadir}",
            f"--socket={self.socket}",
            f"--pid-file={os.path.join(self.run_dir, 'pid')}",
            f"--log-error={self.error_log}",
            f"--tmpdir={self.temporary}",
            *(option.format(run=self.run_dir) for option in self.instance.engine.trait("replica_apart")),
            *self.options,
        ]

    def __enter__(self) -> PrivateServer:
        uid, gid = processes.owner(self.datadir)
        # A server whose starter was killed is still shutting down.
        for pid in processes.servers_in(self.datadir):
            if f"--socket={self.socket}" in processes.command_line(pid):
                processes.stop_pid(pid, self.stop_seconds)
        remove_run_dir(self.run_dir)
        for path in (self.run_dir, self.temporary, self.socket_dir):
            private_directory(path, uid, gid)
        self.process = processes.spawn(self.command(), uid, self.error_log, bound=True)
        try:
            self.session().close()
            Path(self.socket_dir, processes.ANSWERED).touch()
        except (InnodbError, OSError) as error:
            errors = log_errors(self.error_log)
            self.stop()
            raise InnodbError(f"{self.title} did not start on {self.datadir}: {errors}") from error
        return self

    def __exit__(self, *_details: object) -> None:
        self.stop()

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def session(self) -> session.Session:
        """A session of the account we use; waits for a server that is still starting."""
        login = self.account.through(self.socket)
        return session.wait_for_session(login, self.title, START_SECONDS, self.alive)

    def stop(self) -> None:
        """Clean shutdown; the status of the process is of no interest, its files are looked at by who needs them."""
        try:
            if self.process is not None and self.alive():
                processes.stop_pid(self.process.pid, self.stop_seconds, self.alive)
        except Ended:
            # We are told to end while it shuts down: nothing of it may be left when we do.
            self._forget()
            raise
        self._forget()

    def _forget(self) -> None:
        """Wait for a process that has ended, or was told to, and remove what it had."""
        if self.process is not None:
            self.process.wait()
            self.process = None
        remove_run_dir(self.run_dir)

    def kill(self) -> None:
        """End at once a server whose files are thrown away."""
        if self.alive():
            self.process.kill()
            self.process.wait()


def private_options(instance: Instance) -> list[str]:
    """Options of a server that nobody but us uses."""
    return list(instance.engine.trait("private_options"))

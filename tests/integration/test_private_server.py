# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Private servers that outlive their starter: how they are ended."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import PATIENCE, Sandbox, run

from ansible_collections.pagesmith.innodb.plugins.module_utils import data_directory, operations, processes
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import Paths
from ansible_collections.pagesmith.innodb.plugins.module_utils.private_server import PrivateServer, private_options
from ansible_collections.pagesmith.innodb.plugins.module_utils.session import Login


@pytest.fixture
def private() -> Iterator[PrivateServer]:
    """A private server, not started, on the directory of a server that is down."""
    with Sandbox() as server:
        server.stop()
        instance = operations.read_situation(run, server.options()).instance
        yield PrivateServer(instance, instance.datadir, str(server.base / "run"), private_options(instance), Login(user="root"))


def wait_until_it_works_in(directory: str) -> int:
    deadline = time.monotonic() + PATIENCE
    while not processes.servers_in(directory):
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.01)
    return processes.servers_in(directory)[0]


def test_one_that_hangs_before_it_answered_is_ended(private: PrivateServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As MariaDB may when it is told to end while it starts; here it is made to by SIGSTOP."""
    monkeypatch.setattr(processes, "STARTING_SECONDS", 1)
    with private as first:
        first.stop()
    for path in (private.run_dir, f"{private.run_dir}/tmp", private.socket_dir):
        os.mkdir(path)
        os.chown(path, *processes.owner(private.datadir))
    hanging = processes.spawn(private.command(), processes.owner(private.datadir)[0], private.error_log, bound=False)
    pid = wait_until_it_works_in(private.datadir)
    os.kill(pid, signal.SIGSTOP)
    with private as server:
        assert hanging.wait(PATIENCE) == -signal.SIGKILL
        with server.session() as session:
            assert session.value("SELECT 1") == 1


def test_one_that_hangs_in_what_was_built_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run builds anew, where a killed one left such a server in what it had built."""
    monkeypatch.setattr(processes, "STARTING_SECONDS", 1)
    with Sandbox() as server:
        instance = operations.read_situation(run, server.options()).instance
        paths = Paths(instance.datadir, f"{instance.datadir}.pagesmith-new", "", False)
        server.initialise(Path(paths.build))
        private = PrivateServer(instance, paths.build, str(server.base / "run"), private_options(instance))
        for path in (private.run_dir, f"{private.run_dir}/tmp", private.socket_dir):
            os.mkdir(path)
            os.chown(path, *processes.owner(paths.build))
        hanging = processes.spawn(private.command(), processes.owner(paths.build)[0], private.error_log, bound=False)
        os.kill(wait_until_it_works_in(paths.build), signal.SIGSTOP)
        data_directory.remove_build(paths)
        assert hanging.wait(PATIENCE) == -signal.SIGKILL
        assert not Path(paths.build).exists()
        assert server.answers(), "the users' server runs on"
        shutil.rmtree(private.socket_dir)


def test_one_that_answered_is_never_killed(private: PrivateServer) -> None:
    with private as server:
        pid = server.process.pid
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(InnodbError, match="did not end within"):
            processes.stop_pid(pid, 1)
        os.kill(pid, signal.SIGCONT)
        assert server.process.wait(PATIENCE) == 0

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A server with a small shop to which faults happen, and what must be true of it afterwards."""

from __future__ import annotations

import glob
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from content import read_content, require_equal
from harness import CASES, PATIENCE, Sandbox, run

from ansible_collections.pagesmith.innodb.plugins.module_utils import operations, processes
from ansible_collections.pagesmith.innodb.plugins.module_utils.private_server import PrivateServer
from ansible_collections.pagesmith.innodb.plugins.module_utils.strategies import DUMP_RESTORE

DRIVER = Path(__file__).resolve().parent / "driver.py"
SIZES = ("16k", "8k")


def moments(effects: dict[str, int], step: str) -> list[str | int]:
    """Begin, middle and end; a step without effects has no middle."""
    return ["begin", *([(effects[step] + 1) // 2] if effects.get(step) else []), "end"]


class Patient:
    """The server, the content that it must never lose, and the effects that each step has when nothing happens."""

    def __init__(self, server: Sandbox, strategy: str = DUMP_RESTORE) -> None:
        self.server = server
        self.strategy = strategy
        server.sql((CASES / "shop.sql").read_text())
        if strategy != DUMP_RESTORE:
            server.sql("ALTER TABLE shop.audit ENGINE=InnoDB; ALTER TABLE shop.visits ENGINE=InnoDB")
        # A restart sets counters of AUTO_INCREMENT that a bulk insert pushed too far back to where they belong.
        server.restart()
        self.content = self.read()
        self.effects: dict[str, int] = {}
        self.victims: dict[str, list[int]] = {}

    def read(self) -> dict:
        with self.server.connect() as connection:
            return read_content(connection)

    def order(self, action: str, **others: Any) -> subprocess.Popen:
        """Start the product in a process of its own."""
        order = json.dumps({"action": action, "sandbox": str(self.server.base), "strategy": self.strategy, **others})
        return subprocess.Popen([sys.executable, str(DRIVER), order], stdout=subprocess.PIPE, text=True)

    @staticmethod
    def answer(process: subprocess.Popen) -> dict[str, Any] | None:
        """What the process said at its end, None when it was killed."""
        try:
            out, _err = process.communicate()
        except BaseException:
            process.kill()
            raise
        if process.returncode == -signal.SIGKILL:
            return None
        assert process.returncode == 0, f"the driver ended with {process.returncode}"
        return json.loads(out.splitlines()[-1])

    def ask(self, action: str, **others: Any) -> dict[str, Any] | None:
        return self.answer(self.order(action, **others))

    def other_size(self) -> str:
        """The size to go to: there and back again, from test to test."""
        return SIZES[1] if self.server.page_size() == 16384 else SIZES[0]

    def learn(self) -> None:
        """Migrate once and roll back without a fault, to know what there is to be cut short."""
        done = self.ask("migrate", size=self.other_size(), learn=True)
        assert done["outcome"] == "migrated", done
        undone = self.ask("rollback", learn=True)
        assert undone["outcome"] == "rolled_back", undone
        self.effects = {**done["effects"], **undone["effects"]}
        self.victims = {**done["victims"], **undone["victims"]}
        self.check("16k")

    def learn_way_back(self) -> dict[str, int]:
        """Migrate once and roll back with what was written since, without a fault: the effects of each step of that."""
        before, size = f"{self.server.page_size() // 1024}k", self.other_size()
        assert self.ask("migrate", size=size)["outcome"] == "migrated"
        done = self.ask("keep", learn=True)
        assert done["outcome"] == "rolled_back", done
        self.check(before)
        self.forget()
        return done["effects"]

    def middle(self, step: str) -> int:
        return (self.effects[step] + 1) // 2

    def moments(self, step: str) -> list[str | int]:
        return moments(self.effects, step)

    def check(self, size: str) -> None:
        """All data is there, the server runs at this page size, and nothing is left but what is kept."""
        assert self.server.answers(), "the server is down"
        assert self.server.page_size() == int(size[:-1]) * 1024
        require_equal(self.content, self.read())
        assert len(self.server.servers()) == 1, "private servers are left"
        leftovers = self.leftovers()
        assert not leftovers, f"left: {leftovers}"
        for path in self.server.kept():
            assert Path(path).is_dir()

    def leftovers(self) -> list[str]:
        """Paths that only an unfinished run may have."""
        base, work = glob.escape(str(self.server.base)), self.server.work_path()
        found = glob.glob(f"{base}/**/*.pagesmith-new", recursive=True) + glob.glob(f"{base}/**/.pagesmith-new", recursive=True)
        for pattern in ("fence", "run-*", "dump", "dump.partial", "*.new"):
            found += glob.glob(f"{glob.escape(str(work))}/{pattern}")
        instance = operations.read_situation(run, self.server.options()).instance
        for name in ("source", "new", "trial"):
            found += glob.glob(PrivateServer(instance, instance.datadir, f"{work}/run-{name}").socket_dir)
        return found

    def forget(self) -> None:
        """Retire what is kept, so that the next test begins with a plain directory."""
        for path in self.server.kept():
            if Path(path).parent == self.server.base:
                self.server.retire(path)
        names = sorted(entry.name for entry in self.server.base.iterdir() if "pagesmith" in entry.name)
        assert not names, f"left, and nobody knows of it: {names}"

    def private_servers(self) -> list[int]:
        return [pid for pid in self.server.servers() if processes.PRIVATE_SOCKETS in command_of(pid)]

    def wait_for_end_of_private_servers(self, moment: str) -> None:
        """The kernel tells a private server to end when its starter was killed; that takes it a moment.

        One that is told while it starts may hang; the next run has to cope with it.
        """
        deadline = time.monotonic() + PATIENCE
        while not all(map(processes.never_answered, self.private_servers())):
            assert time.monotonic() < deadline, f"killed at {moment}, the process has left {list(map(command_of, self.private_servers()))}"
            time.sleep(0.05)


def command_of(pid: int) -> str:
    try:
        return f"{pid}: {Path(f'/proc/{pid}/cmdline').read_bytes().decode()}"
    except OSError:
        return f"{pid}: gone"

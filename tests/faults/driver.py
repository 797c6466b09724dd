# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs the product in a process of its own, to which a fault happens at a chosen moment.

The argument is a JSON object: action (migrate, rollback, retire; keep, a rollback that keeps writes), sandbox (base directory), strategy,
size, path, learn, and fault:
kind, step, moment. kind: kill (this process), stop (this process, until it gets SIGCONT), server (kill -9 of the one in the
sandbox), fill (the file system). moment: begin or end, which is right after that record of the journal, or the number of an effect
within the step. An effect is whatever Python's audit hooks see that changes something outside of the process. The last line of the
output is a JSON object: outcome, message, effects (their number by step), victims (with learn, by step: numbers of the effects at
which a server ran).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "integration")]

import conftest  # noqa: E402

conftest.pytest_configure()

import harness  # noqa: E402
from disks import fill  # noqa: E402

from ansible_collections.pagesmith.innodb.plugins.module_utils import carriers, journal, operations  # noqa: E402
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError  # noqa: E402

carriers.BINARY_FROM_BYTES = 0  # so that the shop's small tables go the way of large ones

EFFECTS = {
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.chmod",
    "os.chown",
    "os.truncate",
    "os.kill",
    "subprocess.Popen",
    "socket.connect",
}


def changes_something(event: str, arguments: tuple) -> bool:
    if event == "open":
        flags = arguments[2] if len(arguments) > 2 and isinstance(arguments[2], int) else 0
        return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return event in EFFECTS


class Fault:
    """Watches the journal and the effects, and strikes once."""

    def __init__(self, base: Path, fault: dict[str, Any] | None, step: str | None, learning: bool) -> None:
        self.base = base
        self.learning = learning
        self.fault = fault
        self.step = step
        self.effects: dict[str, int] = {}
        self.victims: dict[str, list[int]] = {}
        self.watching = True
        record = journal.Journal.record

        def watched(itself: journal.Journal, run: str, step: str, event: str, *others: Any, **named: Any) -> None:
            record(itself, run, step, event, *others, **named)
            if event == "begin":
                self.step = step
            self.reached(step, event)
            if event == "end":
                self.step = None

        journal.Journal.record = watched
        sys.addaudithook(self.audit)

    def audit(self, event: str, arguments: tuple) -> None:
        if self.step is None or not self.watching or not changes_something(event, arguments):
            return
        self.watching = False
        number = self.effects[self.step] = self.effects.get(self.step, 0) + 1
        if self.learning and harness.servers_below(self.base):
            self.victims.setdefault(self.step, []).append(number)
        self.reached(self.step, number)
        self.watching = True

    def reached(self, step: str, moment: str | int) -> None:
        if self.fault is None or (self.fault["step"], self.fault["moment"]) != (step, moment):
            return
        kind, self.fault = self.fault["kind"], None
        if kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif kind == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif kind == "server":
            for pid in harness.servers_below(self.base):
                harness.signal_process(pid, signal.SIGKILL)
        else:
            fill(self.base)


def migrate(server: harness.Sandbox, size: str, strategy: str) -> str:
    """Without the rehearsal, which changes nothing on the host and has tests of its own."""
    options = server.options(size, strategy=strategy)
    situation = operations.read_situation(harness.run, options)
    if situation.unfinished:
        operations.plan(harness.run, options, situation)
    with operations.work_locked(situation):
        situation = operations.read_situation(harness.run, options)
        operations.require_unchanged(options, situation)
        return operations.migrate(harness.run, options, situation, [])["outcome"]


def act(order: dict[str, Any]) -> str:
    server = harness.Sandbox(base=Path(order["sandbox"]))
    if order["action"] == "migrate":
        return migrate(server, order["size"], order["strategy"])
    if order["action"] == "keep":
        return server.rollback(keep=True)["outcome"]
    if order["action"] == "rollback":
        return server.rollback(discard=True)["outcome"]
    return server.retire(order["path"])["outcome"]


def main() -> None:
    order = json.loads(sys.argv[1])
    # The journal knows the steps of a migration and of a rollback that keeps writes; the others count as one step each.
    step = None if order["action"] in ("migrate", "keep") else order["action"]
    fault = Fault(Path(order["sandbox"]), order.get("fault"), step, order.get("learn", False))
    answer: dict[str, Any] = {"message": ""}
    try:
        answer["outcome"] = act(order)
    except InnodbError as error:
        answer["outcome"] = getattr(error, "result", {}).get("outcome", "failed")
        answer["message"] = str(error)
    fault.watching = False
    print(json.dumps({**answer, "effects": fault.effects, "victims": fault.victims}))


if __name__ == "__main__":
    main()

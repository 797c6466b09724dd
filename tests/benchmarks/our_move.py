# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The collection's own move, in a process of its own so that its memory and CPU time are its own.

Reads one JSON object from standard input (the arguments of move()) and prints the result as another.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable

from measure import Timer, peak_memory_mib
from servers import Sandbox, checksums, harness

from ansible_collections.pagesmith.innodb.plugins.module_utils import logical_dump, migration, operations, page_size, rollback, steps
from ansible_collections.pagesmith.innodb.plugins.module_utils.private_server import PrivateServer
from ansible_collections.pagesmith.innodb.plugins.module_utils.session import Login

UNTIMED = ("build", "fence")
TIMED = ("dump", "restore")


class TimedServer(PrivateServer):
    """A private server that adds up what starting and stopping it took."""

    seconds = 0.0

    def __enter__(self) -> PrivateServer:
        begin = time.monotonic()
        server = super().__enter__()
        TimedServer.seconds += time.monotonic() - begin
        return server

    def stop(self) -> None:
        begin = time.monotonic()
        super().stop()
        TimedServer.seconds += time.monotonic() - begin


class TimedCalls:
    """A function that adds up what its calls took, in all threads together."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.seconds = 0.0
        self.lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        begin = time.monotonic()
        result = self.function(*arguments)
        with self.lock:
            self.seconds += time.monotonic() - begin
        return result


def move(base: str, settings: dict[str, Any], target: str, workers: int) -> dict[str, Any]:
    """Carry out the first steps of a migration, compare by checksums, and roll back, so that the source is as before."""
    sandbox = Sandbox(base=Path(base), settings=settings)
    options = sandbox.options(page_size.parse(target), workers=workers)
    situation = operations.read_situation(harness.run, options)
    steps.PrivateServer = TimedServer
    digests = logical_dump.digest = TimedCalls(logical_dump.digest)
    with operations.work_locked(situation):
        context = operations.make_context(harness.run, options, situation, None)
        run = migration.start_run(context, situation.moment)
        try:
            phases = {name: carry_out(context, run, name) for name in (*UNTIMED, *TIMED)}
            peak = peak_memory_mib()
            with context.new_server([], Login(user="root")) as server:
                found = checksums(server.socket)
        finally:
            rollback.roll_back(context, context.work.journal.last())
    return {
        "phases": {name: phases[name] for name in TIMED},
        "untimed": {name: phases[name] for name in UNTIMED},
        "checksum_seconds": round(digests.seconds / context.workers, 2),
        "peak_memory_mib": peak,
        "workers": context.workers,
        "checksums": found,
    }


def carry_out(context: steps.Context, run: Any, name: str) -> dict[str, float]:
    step = {step_name: function for step_name, function, _text in steps.STEPS}[name]
    TimedServer.seconds = 0.0
    with context.work.journal.step(run.id, name) as notes, Timer() as timer:
        context.progress.begin(name)
        step(context, run, notes)
        context.progress.finish()
    return {**timer.as_dict(), "start_and_stop": round(TimedServer.seconds, 2)}


def interrupt(number: int, _frame: object) -> None:
    """End once; what is being cleaned up then is not interrupted again."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupt)
    try:
        print(json.dumps(move(**json.load(sys.stdin))))
    except KeyboardInterrupt:
        sys.exit(1)

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How far a long step is: written to a small file on the host, read and printed by the controller."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Callable


class Progress:
    """Keeps one line per step in a file. publish is called with the whole list of states; time comes from clock."""

    def __init__(self, publish: Callable[[list[dict[str, Any]]], None], clock: Callable[[], float] = time.monotonic) -> None:
        self.publish = publish
        self.clock = clock
        self.states: list[dict[str, Any]] = []

    def begin(self, step: str) -> None:
        self._started = self.clock()
        self._current = {"step": step, "total": 0, "done": 0, "seconds": 0.0, "finished": False}
        self.states.append(self._current)
        self.publish(self.states)

    def expect(self, total_bytes: int) -> None:
        """From here on the step is measured by this many bytes."""
        self._started = self.clock()
        self._current["total"] = total_bytes

    def report(self, done_bytes: int) -> None:
        self._current["done"] = min(done_bytes, self._current["total"])
        self._current["seconds"] = round(self.clock() - self._started, 1)
        self.publish(self.states)

    def finish(self) -> None:
        self.report(self._current["total"])
        self._current["finished"] = True
        self.publish(self.states)

    def say(self, text: str) -> None:
        """A sentence between the lines of the steps: the plan, a result."""
        self.states.append({"step": text, "total": 0, "done": 0, "seconds": 0.0, "finished": True, "sentence": True})
        self.publish(self.states)


def to_file(path: str) -> Callable[[list[dict[str, Any]]], None]:
    """A publisher that replaces the file at path; readers see the old or the new content, never half of one."""

    def publish(states: list[dict[str, Any]]) -> None:
        temporary = f"{path}.new"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(states, file)
        os.rename(temporary, path)

    return publish


def line(state: dict[str, Any]) -> str:
    """One state as a person reads it: percent, amount, rate and time left."""
    seconds = state["seconds"]
    if state.get("sentence"):
        return state["step"]
    if state["finished"]:
        amount = f", {_mib(state['total'])}" if state["total"] else ""
        return f"{state['step']}: done in {seconds:.1f} s{amount}"
    if not state["total"] or seconds <= 0:
        return f"{state['step']}: running, {seconds:.0f} s"
    share = state["done"] / state["total"]
    rate = state["done"] / seconds
    left = f", {(state['total'] - state['done']) / rate:.0f} s left" if rate > 0 else ""
    return f"{state['step']}: {share:.0%}, {_mib(state['done'])} of {_mib(state['total'])}, {_mib(rate)}/s{left}"


def _mib(count: float) -> str:
    return f"{count / 1048576:.1f} MiB"

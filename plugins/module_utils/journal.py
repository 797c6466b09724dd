# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The journal: a durable record of each step of a migration, before and after it happens, and the lock of a live process."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .durable import sync_directory
from .errors import InnodbError

BEGIN = "begin"
END = "end"
JOURNAL_FILE = "journal.jsonl"
LOCK_FILE = "lock"

#: The fact that a run is about to stop the server, or has done so.
STOPPING = "stopping"

# What a run has come to.
UNFINISHED = "unfinished"
MIGRATED = "migrated"
ROLLED_BACK = "rolled_back"
RETIRING = "retiring"
RETIRED = "retired"


@dataclass
class Run:
    """One migration as the journal tells it. steps: name -> 'begin' or 'end', in the order of their last change.

    facts: what the steps noted, later notes over earlier ones. times: seconds since the epoch of the last change of each step.
    """

    id: str
    steps: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    status: str = UNFINISHED

    def done(self, step: str) -> bool:
        return self.steps.get(step) == END

    def begun(self, step: str) -> bool:
        return step in self.steps

    def stopped(self) -> bool:
        """Whether the server may be down because of this run."""
        return bool(self.facts.get(STOPPING))

    def kept(self) -> list[str]:
        """Directories and files that this run keeps: the old ones, or, after a rollback, the new ones that were in use."""
        if self.status == RETIRING:
            return self.facts["retiring"]
        paths = {MIGRATED: self.facts.get("paths"), ROLLED_BACK: self.facts.get("aside")}.get(self.status)
        if not paths:
            return []
        return [paths["retained"], *(entry["retained"] for entry in paths["outside"]), *(kept for _source, kept in paths["external"])]


def fold(records: list[dict[str, Any]]) -> list[Run]:
    """The runs that records tell of, oldest first."""
    runs: dict[str, Run] = {}
    for record in records:
        run = runs.setdefault(record["run"], Run(record["run"]))
        step, event, moment = record["step"], record["event"], record["time"]
        if event in (BEGIN, END):
            if event == END and step in run.times:
                run.seconds[step] = round(moment - run.times[step], 3)
            run.steps.pop(step, None)
            run.steps[step] = event
            run.times[step] = moment
        run.facts.update(record.get("facts", {}))
        run.status = record.get("status", run.status)
    return list(runs.values())


def parse(text: str) -> list[dict[str, Any]]:
    """Records of a journal; a last line that a crash cut short is left out, any other broken line is an error."""
    records = []
    # What no newline ends is left out even when it looks whole: the next record cuts it off.
    for number, line in enumerate(text.split("\n")[:-1], 1):
        if not line:
            continue
        try:
            records.append(json.loads(line))
        except ValueError as error:
            raise InnodbError(
                f"line {number} of the journal is damaged",
                remedy="Do not run anything; compare the journal with the directories by hand",
            ) from error
    return records


class Journal:
    """The journal of one instance, in a directory that only root can read."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.path = os.path.join(directory, JOURNAL_FILE)

    def runs(self) -> list[Run]:
        try:
            with open(self.path, encoding="utf-8", newline="\n") as file:
                return fold(parse(file.read()))
        except FileNotFoundError:
            return []

    def last(self) -> Run | None:
        runs = self.runs()
        return runs[-1] if runs else None

    def run(self, run_id: str) -> Run:
        """The run of this id as it stands now."""
        return next(run for run in self.runs() if run.id == run_id)

    def record(self, run: str, step: str, event: str, facts: dict[str, Any] | None = None, status: str | None = None) -> None:
        """Append one record and wait until it is on the disk."""
        record: dict[str, Any] = {"time": time.time(), "run": run, "step": step, "event": event}
        if facts:
            record["facts"] = facts
        if status:
            record["status"] = status
        new = not os.path.exists(self.path)
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            line = json.dumps(record, sort_keys=True).encode() + b"\n"
            self._drop_torn_line(descriptor)
            if os.write(descriptor, line) != len(line):
                raise InnodbError(f"the journal {self.path} can't be written in full", state="")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if new:
            sync_directory(self.directory)

    @staticmethod
    def _drop_torn_line(descriptor: int) -> None:
        """Cut off what a crash left of a record, so that the next one starts on a line of its own."""
        size = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, min(size, 1 << 20), max(0, size - (1 << 20)))
        if tail and not tail.endswith(b"\n"):
            os.ftruncate(descriptor, size - len(tail) + tail.rfind(b"\n") + 1)

    @contextmanager
    def step(self, run: str, name: str, facts: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """Record the beginning and, when the block ends well, the end of a step with what the block noted."""
        self.record(run, name, BEGIN, facts)
        notes: dict[str, Any] = {}
        yield notes
        self.record(run, name, END, notes)


@contextmanager
def locked(directory: str) -> Iterator[None]:
    """Hold the lock of an instance while the block runs; InnodbError when another live process holds it."""
    descriptor = os.open(os.path.join(directory, LOCK_FILE), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InnodbError(
                "another migration of this instance is running",
                state="This run changed nothing.",
                remedy="Wait for the other run; its progress is in the work directory",
            ) from error
        yield
    finally:
        os.close(descriptor)


def lock_held(directory: str) -> bool:
    """Whether a live process holds the lock; changes nothing."""
    path = os.path.join(directory, LOCK_FILE)
    if not os.path.exists(path):
        return False
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    try:
        return locked_by_another(descriptor)
    finally:
        os.close(descriptor)


def locked_by_another(descriptor: int) -> bool:
    """Whether another open file holds the lock of this one. If not, it is ours until the descriptor is closed."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True

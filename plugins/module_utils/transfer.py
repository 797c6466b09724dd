# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Many tables at once: a few workers, each with a session of its own, the largest tables first."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

from .errors import InnodbError
from .session import Session

TICK_SECONDS = 1.0
#: Below this size a table costs statements and waits for the disk rather than processor time, and is not in the way of a large one.
SMALL_BYTES = 4 << 20


@dataclass
class Job:
    """One piece of work. size_bytes is what it counts in the progress; done_bytes() tells how far a running one is."""

    item: Any
    size_bytes: int
    done_bytes: Callable[[], int] = lambda: 0


def run_jobs(
    jobs: Sequence[Job],
    workers: int,
    open_session: Callable[[], Session],
    work: Callable[[Session, Any], None],
    tick: Callable[[int], None],
    small_beside: bool = False,
) -> None:
    """Call work(session, item) for every job, the largest first, with so many workers.

    small_beside: one more takes nothing but small ones, the smallest first.

    The first failure ends the rest: statements that run are killed, jobs that wait are dropped, and the failure is raised.
    tick gets the bytes done, about once a second.
    """
    waiting = Waiting(jobs)
    next_jobs = ([waiting.largest] * max(1, workers) + [waiting.small] * small_beside)[: max(1, len(jobs))]
    pool = _Pool(len(next_jobs), open_session, work)
    threads = [threading.Thread(target=pool.worker, args=(next_job,), daemon=True) for next_job in next_jobs]
    for thread in threads:
        thread.start()
    while not pool.ended.wait(TICK_SECONDS):
        try:
            tick(pool.done_bytes())
        except Exception as error:  # noqa: BLE001 (raised again below, once the workers have ended)
            pool.failure = error
            break
    if pool.failure:
        pool.kill_statements()
    for thread in threads:
        thread.join()
    if pool.failure:
        raise pool.failure


class Waiting:
    """Jobs that wait, from the largest to the smallest, for threads that take one at a time."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = deque(sorted(jobs, key=lambda job: -job.size_bytes))
        self.lock = threading.Lock()

    def largest(self) -> Job | None:
        with self.lock:
            return self.jobs.popleft() if self.jobs else None

    def small(self) -> Job | None:
        """The smallest, unless that is a large one."""
        with self.lock:
            return self.jobs.pop() if self.jobs and self.jobs[-1].size_bytes < SMALL_BYTES else None


class _Pool:
    """What the workers share. ended is set by the last worker that leaves, or by the first that fails."""

    def __init__(self, workers: int, open_session: Callable[[], Session], work: Callable[[Session, Any], None]) -> None:
        self.open_session = open_session
        self.work = work
        self.running: dict[int, Job] = {}
        self.connections: dict[int, int] = {}
        self.finished_bytes = 0
        self.working = workers
        self.failure: Exception | None = None
        self.lock = threading.Lock()
        self.ended = threading.Event()

    def worker(self, next_job: Callable[[], Job | None]) -> None:
        key = threading.get_ident()
        try:
            with self.open_session() as session:
                self.connections[key] = int(session.value("SELECT CONNECTION_ID()"))
                while self.failure is None:
                    job = next_job()
                    if job is None:
                        return
                    self.running[key] = job
                    self.work(session, job.item)
                    with self.lock:
                        del self.running[key]
                        self.finished_bytes += job.size_bytes
        except Exception as error:  # noqa: BLE001 (whatever it is, it is raised again by run_jobs)
            with self.lock:
                self.failure = self.failure or error
            self.ended.set()
        finally:
            with self.lock:
                self.working -= 1
                if not self.working:
                    self.ended.set()

    def done_bytes(self) -> int:
        with self.lock:
            running = list(self.running.values())
            done = self.finished_bytes
        return done + sum(min(job.size_bytes, job.done_bytes()) for job in running)

    def kill_statements(self) -> None:
        with self.lock:
            connections = list(self.connections.values())
        for connection in connections:
            try:
                with self.open_session() as session:
                    session.execute(f"KILL QUERY {connection}")
            except InnodbError:
                # The connection was closed first, or the server is gone: then no statement runs there either.
                continue

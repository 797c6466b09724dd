# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which table is worked on next, and that one failure ends all."""

from __future__ import annotations

import itertools
import threading

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError, StatementError
from ansible_collections.pagesmith.innodb.plugins.module_utils.transfer import SMALL_BYTES, Job, Waiting, run_jobs

PATIENCE_SECONDS = 30


def waiting(*sizes: int) -> Waiting:
    return Waiting([Job(size, size) for size in sizes])


def test_the_largest_comes_first() -> None:
    jobs = waiting(5, SMALL_BYTES * 3, 7)
    assert [jobs.largest().item for _turn in range(3)] == [SMALL_BYTES * 3, 7, 5]
    assert jobs.largest() is None


def test_the_smallest_comes_first_beside_it() -> None:
    jobs = waiting(5, SMALL_BYTES * 3, 7)
    assert jobs.small().item == 5
    assert jobs.largest().item == SMALL_BYTES * 3
    assert jobs.small().item == 7
    assert jobs.small() is None


def test_what_is_not_small_is_left_to_the_others() -> None:
    jobs = waiting(SMALL_BYTES, SMALL_BYTES - 1)
    assert jobs.small().item == SMALL_BYTES - 1
    assert jobs.small() is None
    assert jobs.largest().item == SMALL_BYTES


class Connections:
    """Sessions with numbers, and a list of what was killed; a session that was closed can't be."""

    def __init__(self) -> None:
        self.numbers = itertools.count(1)
        self.open: set[int] = set()
        self.killed = threading.Event()

    def session(self) -> Connection:
        return Connection(self)


class Connection:
    def __init__(self, all_of_them: Connections) -> None:
        self.all = all_of_them
        self.number = next(all_of_them.numbers)

    def __enter__(self) -> Connection:
        self.all.open.add(self.number)
        return self

    def __exit__(self, *_error: object) -> None:
        self.all.open.discard(self.number)

    def value(self, _query: str) -> int:
        return self.number

    def execute(self, statement: str) -> None:
        number = int(statement.rpartition(" ")[2])
        if number not in self.all.open:
            raise StatementError(statement, 1094, "Unknown thread id")
        self.all.killed.set()


def test_a_failure_ends_the_statements_of_the_others() -> None:
    """Also when the session of the one that failed is closed by then."""
    connections, begun = Connections(), threading.Event()

    def work(_session: Connection, item: str) -> None:
        if item == "long":
            begun.set()
            assert connections.killed.wait(PATIENCE_SECONDS), "nobody ended it"
            raise InnodbError("interrupted")
        assert begun.wait(PATIENCE_SECONDS)
        raise InnodbError("refused")

    with pytest.raises(InnodbError, match="refused"):
        run_jobs([Job("refused", 2), Job("long", 1)], 2, connections.session, work, lambda _bytes: None)
    assert connections.killed.is_set()

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which table is worked on next."""

from __future__ import annotations

from ansible_collections.pagesmith.innodb.plugins.module_utils.transfer import SMALL_BYTES, Job, Waiting


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

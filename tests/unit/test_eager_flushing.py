# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is set for eager flushing, and when waiting for it ends."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.eager_flushing import same, settled, wanted


@pytest.mark.parametrize(("largest", "capacity"), [("2000", "2000"), ("18446744073709551615", "20000")])
def test_pages_are_written_as_fast_as_the_server_may(largest: str, capacity: str) -> None:
    assert wanted({"innodb_io_capacity_max": largest}) == {
        "innodb_max_dirty_pages_pct_lwm": "0",
        "innodb_max_dirty_pages_pct": "0",
        "innodb_buffer_pool_dump_at_shutdown": "0",
        "innodb_io_capacity": capacity,
    }


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ([5000, 5000], [4000, 3000], False),
        ([5000, 100], [4000, 20], False),
        ([5000, 100], [4900, 100], True),
        ([5000, 100], [5200, 200], True),
        ([300, 300], [100, 0], True),
        ([0], [0], True),
    ],
)
def test_waiting_ends_when_it_gains_nothing(before: list[int], now: list[int], expected: bool) -> None:
    assert settled(before, now) is expected


def test_servers_spell_numbers_differently() -> None:
    assert same("0", "0.000000") and not same("75", "0")

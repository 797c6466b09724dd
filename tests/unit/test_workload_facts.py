# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rates from counters, and whether storage holds a server up: servers a reader can picture, and what is said of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.workload_facts import (
    Period,
    Situation,
    buffer_pool,
    difference,
    io_bound,
    numbers,
    period,
    rates,
    working_set,
)

GIB = 1 << 30
DAY = 24 * 3600

STATUS = {
    "uptime": "100",
    "com_select": "1000",
    "com_insert": "150",
    "com_update": "50",
    "innodb_rows_read": "9000",
    "innodb_pages_read": "300",
    "innodb_pages_written": "200",
    "innodb_data_read": "4915200",
    "innodb_data_written": "6553600",
    "innodb_dblwr_pages_written": "200",
    "innodb_buffer_pool_read_requests": "30000",
    "innodb_buffer_pool_reads": "300",
    "innodb_log_writes": "120",
    "innodb_os_log_written": "1000000",
    "innodb_buffer_pool_dump_status": "",
    "rsa_public_key": "-----BEGIN",
}


def test_counters_are_what_is_a_number():
    found = numbers(STATUS)
    assert found["com_select"] == 1000
    assert "innodb_buffer_pool_dump_status" not in found
    assert "rsa_public_key" not in found


def test_rates():
    assert rates(numbers(STATUS), 100, 16384) == {
        "reads": 10,
        "writes": 2,
        "rows_read_per_page_read": 30,
        "buffer_pool_hit_ratio": 0.99,
        "pages_read": 3,
        "pages_written": 2,
        "bytes_read": 49152,
        "bytes_written": 65536,
        "log_writes": 1.2,
        "log_bytes": 10000,
        "doublewrite_share": 0.5,
    }


def test_rates_of_a_server_that_did_nothing():
    found = rates({"com_select": 0, "innodb_pages_read": 0, "innodb_rows_read": 0, "innodb_buffer_pool_read_requests": 0}, 5, 16384)
    assert found["reads"] == 0
    assert found["rows_read_per_page_read"] is None
    assert found["buffer_pool_hit_ratio"] is None
    assert found["log_writes"] is None


def test_rows_are_counted_by_handlers_where_innodb_does_not():
    assert rates({"handler_read_key": 60, "handler_read_next": 40, "innodb_pages_read": 10}, 1, 16384)["rows_read_per_page_read"] == 10


def test_difference_and_a_counter_that_was_reset():
    assert difference({"a": 15, "b": 3, "new": 1}, {"a": 10, "b": 100}) == {"a": 5, "b": 3, "new": 1}


def quiet(**more) -> Period:
    """A thousand statements a second that find their pages in memory."""
    return replace(Period(statements=1000, page_reads=1, hit_ratio=0.9999, waits_for_free=0), **more)


def busy(**more) -> Period:
    """A thousand statements a second that wait for a disk."""
    return replace(Period(statements=1000, page_reads=400, hit_ratio=0.93, waits_for_free=1.5, pending_reads=6), **more)


IDLE = Period(statements=0.1, page_reads=0, hit_ratio=None, waits_for_free=0)


def server(since_start: Period, sampled: Period | None, **more) -> Situation:
    return replace(Situation(10 * DAY, since_start, sampled, 8 * GIB, 40 * GIB, "hdd"), **more)


@pytest.mark.parametrize(
    ("situation", "verdict", "confidence"),
    [
        pytest.param(server(busy(), busy()), "yes", "high", id="disk, data far larger than the pool"),
        pytest.param(server(quiet(), quiet(), stored_bytes=2 * GIB), "no", "high", id="all data in memory"),
        pytest.param(server(quiet(), quiet()), "no", "medium", id="much data, of which little is used"),
        pytest.param(server(quiet(), busy()), "yes", "medium", id="busy only now"),
        pytest.param(server(busy(), quiet(), stored_bytes=2 * GIB), "no", "medium", id="was busy, fits now"),
        pytest.param(server(busy(), IDLE), "yes", "medium", id="idle now, busy in the mean"),
        pytest.param(server(busy(), None), "yes", "medium", id="no sample"),
        pytest.param(server(IDLE, IDLE), "unknown", "low", id="idle"),
        pytest.param(server(busy(), busy(), uptime=600), "unknown", "low", id="just started"),
        pytest.param(
            server(busy(page_reads=400, waits_for_free=0, pending_reads=0), busy(waits_for_free=0, pending_reads=0), device="nvme"),
            "unknown",
            "low",
            id="few reads for such a device",
        ),
        pytest.param(server(busy(page_reads=60_000), busy(page_reads=60_000), device="nvme"), "yes", "high", id="busy flash"),
        pytest.param(server(busy(page_reads=2000), busy(page_reads=2000), device="virtual"), "yes", "high", id="kind of storage unknown"),
    ],
)
def test_verdicts(situation, verdict, confidence):
    found = io_bound(situation)
    assert (found.verdict, found.confidence) == (verdict, confidence), found.reasons
    assert found.reasons


@pytest.mark.parametrize("device", ["hdd", "ssd", "nvme", "virtual", "unknown"])
@pytest.mark.parametrize("page_reads", [0, 5, 50, 500, 5000, 50_000, 500_000])
def test_a_larger_buffer_pool_never_speaks_for_being_bound(device, page_reads):
    order = {"no": 0, "unknown": 1, "yes": 2}
    verdicts = []
    for pool in (1, 4, 16, 64, 256):
        each = Period(statements=500, page_reads=page_reads, hit_ratio=0.98, waits_for_free=0.01)
        verdicts.append(order[io_bound(server(each, each, device=device, pool_bytes=pool * GIB)).verdict])
    assert verdicts == sorted(verdicts, reverse=True)


def test_a_period_from_counters():
    found = period(numbers(STATUS), 100, pending_reads=2)
    assert found == Period(statements=12, page_reads=3, hit_ratio=0.99, waits_for_free=0, pending_reads=2)


POOL = {"size_bytes": GIB, "data_bytes": GIB // 2, "dirty_bytes": 0, "free_bytes": GIB // 2, "instances": 1}


def test_the_buffer_pool_with_and_without_counters_in_bytes():
    variables = {"innodb_page_size": "8192", "innodb_buffer_pool_size": str(GIB)}
    pages = {"innodb_buffer_pool_pages_data": 10, "innodb_buffer_pool_pages_free": 5, "innodb_buffer_pool_pages_dirty": 2}
    found = buffer_pool(pages, variables)
    assert found == {"size_bytes": GIB, "data_bytes": 81920, "dirty_bytes": 16384, "free_bytes": 40960, "instances": 1}
    assert buffer_pool({**pages, "innodb_buffer_pool_bytes_data": 77777}, variables)["data_bytes"] == 77777


@pytest.mark.parametrize(
    ("pool", "uptime", "expected"),
    [
        (POOL, 2 * DAY, GIB // 2),
        (POOL, DAY // 2, None),
        ({**POOL, "free_bytes": 1 << 20}, 2 * DAY, None),
        ({**POOL, "free_bytes": None}, 2 * DAY, None),
    ],
)
def test_the_working_set_is_told_only_when_the_pool_did_not_fill(pool, uptime, expected):
    assert working_set(pool, uptime) == expected

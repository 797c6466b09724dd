# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Pages in use by the descriptors of extents, and what is made of them."""

from __future__ import annotations

import struct

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.size_prediction import (
    MIB,
    Measured,
    Prediction,
    SampleFigures,
    Stretch,
    TableFigures,
    counted,
    error_of_all,
    extent_bytes,
    file_bytes,
    free_error,
    physical_page_size,
    predict,
    predict_unsampled,
    spread,
    used_pages,
)
from ansible_collections.pagesmith.innodb.plugins.module_utils.tablespace_files import owner_of_file

FREE, FRAGMENT, SEGMENT = 1, 2, 4


def tablespace(physical: int, pages_per_extent: int, limit: int, extents: list[tuple[int, int]]) -> bytes:
    """A file whose extents have a state and so many pages in use each."""
    content = bytearray(limit * physical)
    struct.pack_into(">I", content, 50, limit)
    size = 24 + pages_per_extent * 2 // 8
    per_page = physical // pages_per_extent
    for number, (state, used) in enumerate(extents):
        place = number // per_page * physical * physical + 150 + number % per_page * size
        struct.pack_into(">I", content, place + 20, state)
        bits = sum(1 << (2 * page) for page in range(used, pages_per_extent))
        content[place + 24 : place + size] = bits.to_bytes(pages_per_extent * 2 // 8, "little")
    return bytes(content)


@pytest.mark.parametrize(
    ("extents", "used"),
    [([(FRAGMENT, 7)], 7), ([(FRAGMENT, 64), (SEGMENT, 64), (SEGMENT, 1)], 129), ([(FRAGMENT, 64), (FREE, 0)], 64)],
)
def test_used_pages(extents, used):
    assert used_pages(tablespace(16384, 64, 64 * len(extents), extents), 16384, 64) == used


def test_pages_beyond_the_limit_do_not_count():
    assert used_pages(tablespace(16384, 64, 40, [(FRAGMENT, 64)]), 16384, 64) == 40


def test_descriptors_beyond_the_first_page_of_descriptors():
    """The second page of descriptors lies as many pages on as a page has bytes."""
    per_page = 4096 // 256
    extents = [(SEGMENT, 256)] * per_page + [(FRAGMENT, 5)]
    assert used_pages(tablespace(4096, 256, 256 * len(extents), extents), 4096, 256) == 4096 + 5


@pytest.mark.parametrize(("size", "extent"), [(4096, MIB), (16384, MIB), (32768, 2 * MIB), (65536, 4 * MIB)])
def test_extent(size, extent):
    assert extent_bytes(size) == extent


@pytest.mark.parametrize(
    ("flags", "size"), [(0x15, 16384), (0x13, 4096), (0x0, 16384), (3 << 6, 4096), (0x29, 8192), (0x21 | 4 << 1, 8192), (2 << 1, 2048)]
)
def test_physical_page_size(flags, size):
    """Of full_crc32 files, of older ones, and of compressed tables, whose pages are smaller."""
    assert physical_page_size(flags) == size


def test_small_files_grow_by_pages_and_large_ones_leave_extents_free():
    assert file_bytes(5 * 4096, 4096) == 6 * 4096
    assert file_bytes(1.9 * MIB, 65536) == 2 * MIB
    assert 107 * MIB < file_bytes(100 * MIB, 8192) < 110 * MIB


def test_large_objects_and_files_about_to_take_extents_are_less_certain():
    table = TableFigures(MIB, 1, 1)
    assert free_error(table, 0.1 * MIB, 16384) == 16384
    assert free_error(table, 0.9 * MIB, 16384) > free_error(table, 50 * MIB, 16384)
    assert free_error(table._replace(large_objects=True), 50 * MIB, 16384) > 2 * free_error(table, 50 * MIB, 16384)


@pytest.mark.parametrize(("widths", "share"), [([], 0.3), ([100], 0.3), ([100, 100, 100], 0.0), ([50, 150], 0.7071)])
def test_spread(widths, share):
    assert spread(widths) == pytest.approx(share, abs=1e-4)


TABLE = TableFigures(bytes_now=1000 * MIB, rows=1_000_000, indexes=1)
SAMPLE = SampleFigures(rows=10_000, whole=False, widths=[1000.0] * 8)


def test_a_table_grows_as_its_sample():
    now, then = Measured(18 * MIB, 10 * MIB), Measured(19 * MIB, 11 * MIB)
    prediction = predict(TABLE, SAMPLE, now, then, 16384, 8192)
    assert prediction.bytes == pytest.approx(1100 * MIB, rel=0.03)
    assert 0 < prediction.error_bytes < 0.1 * prediction.bytes


def test_rows_that_do_not_fit_into_the_file_are_not_believed():
    now = Measured(18 * MIB, 10 * MIB)
    believed = predict(TABLE, SAMPLE, now, now, 16384, 16384)
    assert predict(TABLE._replace(rows=9_000_000), SAMPLE, now, now, 16384, 16384).bytes == pytest.approx(believed.bytes, rel=0.03)


def test_guesses_for_ranges_are_corrected_by_what_was_read():
    """A server that guesses twice as many as there are, and one range that was read as a whole."""
    stretches = [Stretch(100, 200, 2000), Stretch(100, 200, 4000), Stretch(7)]
    assert counted(stretches) == (3007, 0)


def test_guesses_that_are_off_by_different_factors_are_less_certain():
    rows, error = counted([Stretch(100, 80, 1000), Stretch(100, 120, 1000)])
    assert rows == 2000
    assert error > 0.3


def test_without_guesses_the_statistics_count():
    assert counted([]) is None
    assert counted([Stretch(5)]) is None


def test_what_tables_share_adds_up():
    assert error_of_all([]) == 0
    assert error_of_all([Prediction(10, 3), Prediction(10, 4)]) == 5
    assert error_of_all([Prediction(10, 3, 3), Prediction(10, 4, 4)]) == 7


def test_statistics_of_before_a_deletion_do_not_count():
    stretches = [Stretch(1250, 1250, 12_500)] * 8
    now = Measured(14 * MIB, 10 * MIB)
    table = TableFigures(bytes_now=200 * MIB, rows=160_000, indexes=1)
    true = predict(table._replace(rows=100_000), SAMPLE, now, now, 16384, 8192)
    assert predict(table, SAMPLE._replace(stretches=stretches), now, now, 16384, 8192).bytes == true.bytes


def test_a_fragmented_table_shrinks():
    now = Measured(18 * MIB, 10 * MIB)
    assert predict(TABLE._replace(rows=500_000), SAMPLE, now, now, 16384, 16384).bytes == pytest.approx(505 * MIB, rel=0.05)


def test_uneven_ranges_are_less_certain():
    now = Measured(18 * MIB, 10 * MIB)
    even = predict(TABLE, SAMPLE, now, now, 16384, 16384)
    uneven = predict(TABLE, SAMPLE._replace(widths=[500.0, 1500.0] * 4), now, now, 16384, 16384)
    assert uneven.error_bytes > 2 * even.error_bytes and uneven.bytes == even.bytes


def test_of_a_table_that_was_read_as_a_whole_the_file_is_there():
    whole = SampleFigures(rows=10, whole=True, widths=[100.0])
    assert predict(TABLE, whole, Measured(65536, 65536), Measured(32768, 28672), 16384, 4096) == Prediction(32768, 4096)


def test_tables_that_were_not_sampled():
    empty_now, empty_then = Measured(65536, 65536), Measured(16384, 16384)
    table = TableFigures(65536, 0, 1)
    assert predict_unsampled(table, empty_now, empty_then, None, 4096) == Prediction(16384, 4096)
    filled = table._replace(bytes_now=65536 + 100_000)
    assert predict_unsampled(filled, empty_now, empty_then, None, 4096) is None
    prediction = predict_unsampled(filled, empty_now, empty_then, 1.2, 4096)
    assert predict_unsampled(table._replace(rows=1), empty_now, empty_then, None, 4096) == Prediction(20480, 4096)
    assert prediction.bytes == pytest.approx(140_000, abs=4096) and prediction.error_bytes >= 36_000


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("app/t", "app/t"),
        ("app/t#P#p0", "app/t"),
        ("app/t#p#p0#sp#s1", "app/t"),
        ("app/FTS_0000000000000017_CONFIG", "app/words"),
        ("app/FTS_0000000000000017_0000000000000022_INDEX_1", "app/words"),
    ],
)
def test_owner_of_a_file(name, owner):
    assert owner_of_file(name, {"0000000000000017": "app/words"}) == owner

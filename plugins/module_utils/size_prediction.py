# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How large a table's files will be at another page size, from a sample of its rows that a server of that page size has loaded.

The pages that the sample takes are counted in its file, where InnoDB marks each page as free or not. What grows with the rows is
scaled to the table; what every file has is added; and the file ends as InnoDB extends files.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .option_values import MIB
from .tablespace import FULL_CRC32_MARKER, HEADER_BYTES, SPACE_FLAGS_OFFSET, page_size_of_flags

#: Extent descriptors of a tablespace: where they begin in their page, and in each of them the state and the bits of its pages.
DESCRIPTORS_OFFSET = 150
STATE_OFFSET = 20
BITMAP_OFFSET = 24
BITS_PER_PAGE = 2
STATE_FREE = 1
FREE_LIMIT_OFFSET = 50
SMALL_EXTENT_BYTES = MIB
EXTENT_PAGES = 64
#: Pages that every tablespace has: header, change buffer bitmap, inodes.
FIXED_PAGES = 3
#: Pages of an index that do not grow with its rows: its root, and on average half of its last leaf.
PAGES_PER_INDEX = 1.5
#: What a file has beyond its pages in use, in extents and as a share of these: a load of many rows into an empty table leaves so much.
#: Measured for tables of 1 to 100 MiB with 1 to 6 indexes at 8k and 64k on MariaDB 10.11: 4.7 to 10.7 extents where the rows came as text,
#: and from 2.9 extents on where the server put them in order before (see carriers).
FREE_EXTENTS = 6.8
FREE_SHARE = 0.01
FREE_ERROR_EXTENTS = 4.1
#: Pages of large objects are handed out in another way: 2 extents at 64k to 20 at 4k were left free.
FREE_ERROR_LARGE_OBJECTS_EXTENTS = 12.0
#: A file grows page by page, with one more than it needs, until an index has so many pages that it takes whole extents.
SMALL_FILE_EXTENTS = 0.5
SPARE_PAGES = 1
#: The server counts the rows of a table by looking at so many pages of it.
STATISTICS_PAGES = 20
#: What an estimate of the server is off by at least, as a share, where nothing was changed since it was made.
LEAST_ROWS_ERROR = 0.02
#: By how much more or less full the pages of a table may be than those of its sample, as a share: of seven tables of 80 to 316 MiB on
#: MariaDB 10.11 the files came out 2 % smaller to 13 % larger than predicted, 4 % in the mean (tests/benchmarks/prediction).
FILL_ERROR = 0.05
#: How far the tables that were not sampled may lie from the average of those that were, as a share.
UNSAMPLED_ERROR = 0.3
#: The two-sided 95 % point of the normal distribution.
SURE = 1.96


class Measured(NamedTuple):
    """A table's files: their size, and the bytes of the pages that hold something."""

    file_bytes: int = 0
    used_bytes: int = 0


class Stretch(NamedTuple):
    """A range of a table's primary key: the rows that were read from its beginning on.

    read, whole: how many rows the server guesses for what was read and for the range; None where the rows read are all of the range.
    """

    rows: int
    read: int | None = None
    whole: int | None = None


class SampleFigures(NamedTuple):
    """What is known of a sample: its rows, whether they are all, the width of a row in each range, and how many rows are in each."""

    rows: int
    whole: bool
    widths: Sequence[float]
    stretches: Sequence[Stretch] = ()


class TableFigures(NamedTuple):
    """A table as it is now: bytes of its files, rows by the server's statistics, number of its indexes and of its files.

    large_objects: whether it has columns whose values may have pages of their own.
    """

    bytes_now: int
    rows: int
    indexes: int
    files: int = 1
    large_objects: bool = False


class Prediction(NamedTuple):
    """Bytes of a table's files after a migration. error_bytes: the truth lies that close to it in 19 of 20 cases.

    shared_bytes: the part of that which is likely to be the same, with its sign, for all tables.
    """

    bytes: int
    error_bytes: int
    shared_bytes: int = 0


def extent_bytes(page_size: int) -> int:
    """Bytes by which InnoDB hands out space: 1 MiB up to 16k pages, 64 pages above."""
    return max(SMALL_EXTENT_BYTES, EXTENT_PAGES * page_size)


def physical_page_size(flags: int) -> int:
    """Bytes of a page in the file: less than the page size where the table is compressed."""
    compressed = 0 if flags & FULL_CRC32_MARKER else (flags >> 1) & 0xF
    return 512 << compressed if compressed else page_size_of_flags(flags) or 0


def used_pages(content: bytes, physical: int, pages_per_extent: int) -> int:
    """Pages of a tablespace that are not free, by the descriptors of its extents."""
    (limit,) = struct.unpack_from(">I", content, FREE_LIMIT_OFFSET)
    descriptor_bytes = BITMAP_OFFSET + -(-pages_per_extent * BITS_PER_PAGE // 8)
    used = 0
    for first in range(0, limit, pages_per_extent):
        # The descriptors of so many pages as a page has bytes lie in the first of these pages.
        place = first // physical * physical * physical
        place += DESCRIPTORS_OFFSET + first % physical // pages_per_extent * descriptor_bytes
        (state,) = struct.unpack_from(">I", content, place + STATE_OFFSET)
        if state == STATE_FREE:
            continue
        bitmap = int.from_bytes(content[place + BITMAP_OFFSET : place + descriptor_bytes], "little")
        used += sum(not bitmap >> (BITS_PER_PAGE * page) & 1 for page in range(min(pages_per_extent, limit - first)))
    return used


def measure(path: str) -> Measured:
    """The file of a table of a server that was shut down cleanly."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        (flags,) = struct.unpack_from(">I", file.read(HEADER_BYTES), SPACE_FLAGS_OFFSET)
        page_size, physical = page_size_of_flags(flags), physical_page_size(flags)
        if not page_size or not physical:
            return Measured(size, size)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            pages = used_pages(content, physical, extent_bytes(page_size) // page_size)
    return Measured(size, pages * physical)


def measure_all(paths: Iterable[str]) -> Measured:
    """The files of a table's partitions together."""
    found = [measure(path) for path in paths]
    return Measured(sum(each.file_bytes for each in found), sum(each.used_bytes for each in found))


def file_bytes(used_bytes: float, page_size: int) -> int:
    """Expected size of a file that holds so many bytes in pages."""
    extent = extent_bytes(page_size)
    used = used_bytes / extent
    if used <= SMALL_FILE_EXTENTS:
        return (math.ceil(used_bytes / page_size) + SPARE_PAGES) * page_size
    return round((used * (1 + FREE_SHARE) + FREE_EXTENTS) * extent)


def free_error(table: TableFigures, used_bytes: float, page_size: int) -> float:
    """How many bytes what is free in a file may be off by."""
    extent = extent_bytes(page_size)
    if SMALL_FILE_EXTENTS / 2 < used_bytes / extent < 1:
        # It may still grow page by page, or not any more.
        return FREE_EXTENTS * extent
    if used_bytes < extent:
        return SPARE_PAGES * page_size
    return (FREE_ERROR_LARGE_OBJECTS_EXTENTS if table.large_objects else FREE_ERROR_EXTENTS) * extent


def spread(widths: Sequence[float]) -> float:
    """Standard deviation of the ranges' widths as a share of their mean; one range tells nothing, and may be anywhere."""
    if len(widths) < 2:
        return UNSAMPLED_ERROR
    mean = sum(widths) / len(widths)
    return math.sqrt(sum((width - mean) ** 2 for width in widths) / (len(widths) - 1)) / mean if mean else 0.0


def growing_bytes(measured: Measured, table: TableFigures, page_size: int) -> float:
    """Bytes in use that grow with the rows."""
    fixed = (FIXED_PAGES * table.files + PAGES_PER_INDEX * table.indexes * table.files) * page_size
    return max(measured.used_bytes - fixed, measured.used_bytes / 2)


def counted(stretches: Sequence[Stretch]) -> tuple[float, float] | None:
    """Rows of all ranges together, and the share by which they may be off; None when the server guessed nothing.

    The server guesses from the pages as they are now, where its statistics may be of before a thousand deletions, but by a factor of
    its own. What was read tells the factor.
    """
    guessed = [(each.rows, each.read, each.whole) for each in stretches if each.read and each.whole]
    if not guessed:
        return None
    factor = sum(rows for rows, _read, _whole in guessed) / sum(read for _rows, read, _whole in guessed)
    known = sum(each.rows for each in stretches if not each.read)
    # The guesses for the whole ranges are as uncertain as those for what was read of them.
    error = SURE * math.sqrt(2) * spread([rows / read for rows, read, _whole in guessed]) / math.sqrt(len(guessed))
    return known + factor * sum(whole for _rows, _read, whole in guessed), error


def rows_of(table: TableFigures, sample: SampleFigures, now: Measured, page_size_now: int) -> tuple[float, float]:
    """Rows of a table, and the share by which they may be off: never so many that they would not fit into the file that it has."""
    statistics = (table.rows, SURE * spread(sample.widths) / math.sqrt(STATISTICS_PAGES))
    rows, error = counted(sample.stretches) or statistics
    growing = growing_bytes(now, table, page_size_now)
    most = table.bytes_now / growing * sample.rows if growing else rows
    return max(min(rows, most), sample.rows), max(error, LEAST_ROWS_ERROR)


def predict(table: TableFigures, sample: SampleFigures, now: Measured, then: Measured, page_size_now: int, page_size: int) -> Prediction:
    """The prediction for a table of which rows were sampled. now, then: the sample's files at the present and the other page size."""
    extent = extent_bytes(page_size)
    if sample.whole:
        # Nothing is extrapolated; the file may be extended once more or less.
        return Prediction(then.file_bytes, page_size if then.file_bytes < extent else extent)
    rows, rows_error = rows_of(table, sample, now, page_size_now)
    growing = growing_bytes(then, table, page_size)
    scaled = growing * rows / sample.rows
    used = then.used_bytes - growing + scaled
    predicted = max(table.files * file_bytes(used / table.files, page_size), then.file_bytes)
    shares = (
        SURE * spread(sample.widths) / math.sqrt(max(len(sample.widths), 1)),
        rows_error,
        math.sqrt(table.indexes * table.files) * page_size / 2 / growing if growing else 0.0,
    )
    free = free_error(table, used / table.files, page_size) * math.sqrt(table.files)
    shared = FILL_ERROR * scaled
    error = math.sqrt(sum((share * scaled) ** 2 for share in shares) + free**2 + shared**2)
    return Prediction(predicted, math.ceil(error), math.ceil(shared))


def error_of_all(predictions: Sequence[Prediction]) -> int:
    """What the sum of these predictions may be off by: what tables do not share is independent from one to the other."""
    own = sum(each.error_bytes**2 - each.shared_bytes**2 for each in predictions)
    return math.ceil(math.sqrt(own + sum(each.shared_bytes for each in predictions) ** 2))


def predict_unsampled(
    table: TableFigures, empty_now: Measured, empty_then: Measured, ratio: float | None, page_size: int
) -> Prediction | None:
    """The prediction for a table of which no rows were read, from the ratio of those of which they were; None when there is none."""
    filled = max(table.bytes_now - empty_now.file_bytes, 0)
    if not filled:
        # The first rows lie in the roots of the indexes.
        spare = SPARE_PAGES * page_size
        return Prediction(empty_then.file_bytes + (spare if table.rows else 0), spare)
    if ratio is None:
        return None
    used = (filled * ratio + empty_then.file_bytes) / table.files
    predicted = table.files * file_bytes(used, page_size)
    error = filled * ratio * UNSAMPLED_ERROR + free_error(table, used, page_size) * math.sqrt(table.files)
    return Prediction(predicted, math.ceil(error))

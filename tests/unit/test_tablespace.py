# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Page sizes from headers; the flags are those that real servers wrote into real files."""

from __future__ import annotations

import struct

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import tablespace
from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES

#: Kind of file -> flags at 4k, 8k, 16k, 32k, 64k; None where the server has no such file.
FLAGS = {
    "MariaDB full_crc32": (0x13, 0x14, 0x15, 0x16, 0x17),
    "MariaDB full_crc32, page_compressed": (0x33, 0x34, 0x35, 0x36, 0x37),
    "MariaDB crc32, compact": (0xC0, 0x100, 0x0, 0x180, 0x1C0),
    "MariaDB crc32, dynamic": (0xE1, 0x121, 0x21, 0x1A1, 0x1E1),
    "MariaDB crc32, page_compressed": (0x100E1, 0x10121, 0x10021, 0x101A1, 0x101E1),
    "compressed, key_block_size=1": (0xE3, 0x123, 0x23, None, None),
    "compressed, key_block_size=2": (0xE5, 0x125, 0x25, None, None),
    "compressed, key_block_size=4": (0xE7, 0x127, 0x27, None, None),
    "compressed, key_block_size=8": (None, 0x129, 0x29, None, None),
    "compressed, key_block_size=16": (None, None, 0x2B, None, None),
    "MySQL 5.6 ibdata1": (0xC0, 0x100, 0x0, None, None),
    "MySQL 5.6 dynamic": (0xE1, 0x121, 0x21, None, None),
    "MySQL 9.7 ibdata1": (0x48C0, 0x4900, 0x4800, 0x4980, 0x49C0),
    "MySQL 9.7 undo": (0xC0, 0x100, 0x0, 0x180, 0x1C0),
    "MySQL 9.7 compact": (0x40C0, 0x4100, 0x4000, 0x4180, 0x41C0),
    "MySQL 9.7 dynamic": (0x40E1, 0x4121, 0x4021, 0x41A1, 0x41E1),
    "MySQL 9.7 compressed, key_block_size=1": (0x40E3, 0x4123, 0x4023, None, None),
    "MySQL 9.7 compressed, key_block_size=4": (0x40E7, 0x4127, 0x4027, None, None),
    "MySQL 9.7 compressed, key_block_size=8": (None, 0x4129, 0x4029, None, None),
}
CASES = [
    pytest.param(flags, size, id=f"{kind} {size}")
    for kind, row in FLAGS.items()
    for flags, size in zip(row, PAGE_SIZES)
    if flags is not None
]


def header(flags: int = 0x15, page_type: int = 8, space: int = 0, pages: int = 768) -> bytes:
    """The first 64 bytes of a tablespace."""
    data = bytearray(64)
    struct.pack_into(">H", data, 24, page_type)
    struct.pack_into(">I", data, 34, space)
    struct.pack_into(">I", data, 46, pages)
    struct.pack_into(">I", data, 54, flags)
    return bytes(data)


@pytest.mark.parametrize(("flags", "size"), CASES)
def test_flags(flags, size):
    assert tablespace.page_size_of_flags(flags) == size
    assert tablespace.page_size_of_header(header(flags)) == size


@pytest.mark.parametrize("flags", [0x10, 0x11, 0x12, 0x18, 0x1F, 0x40, 0x80, 0x200, 0x3C0])
def test_flags_of_no_known_page_size(flags):
    assert tablespace.page_size_of_flags(flags) is None


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(header(flags=0, page_type=0, pages=0), id="second system file"),
        pytest.param(bytes(64), id="block of zeros"),
        pytest.param(header()[:63], id="short"),
        pytest.param(b"", id="empty"),
        pytest.param(header(space=5), id="file of a table"),
        pytest.param(header(page_type=17855), id="page of an index"),
    ],
)
def test_no_header_of_a_system_tablespace_is_unknown(data, tmp_path):
    assert tablespace.page_size_of_header(data) is None
    path = tmp_path / "ibdata1"
    path.write_bytes(data)
    assert tablespace.page_size_of_file(str(path)) is None


def test_file(tmp_path):
    path = tmp_path / "ibdata1"
    path.write_bytes(header(0x14) + bytes(8192))
    assert tablespace.page_size_of_file(str(path)) == 8192


def test_file_that_is_missing_or_a_directory(tmp_path):
    assert tablespace.page_size_of_file(str(tmp_path / "ibdata1")) is None
    assert tablespace.page_size_of_file(str(tmp_path)) is None

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Page size of a data directory whose server is down, from the first page of its first system file."""

from __future__ import annotations

import os
import struct

from .page_size import PAGE_SIZES

HEADER_BYTES = 64
PAGE_TYPE_OFFSET = 24  # big-endian u16 (FIL_PAGE_TYPE)
SPACE_ID_OFFSET = 34  # big-endian u32 (FIL_PAGE_ARCH_LOG_NO_OR_SPACE_ID)
SPACE_FLAGS_OFFSET = 54  # big-endian u32 (FSP_SPACE_FLAGS)
FSP_HEADER_PAGE = 8
FULL_CRC32_MARKER = 0x10


def page_size_of_flags(flags: int) -> int | None:
    """Page size in bytes from FSP_SPACE_FLAGS, None when the flags are of no known format.

    MariaDB's full_crc32 format is marked by bit 4 and holds the size in bits 0 to 3; all others hold it in bits 6 to 9,
    where 0 means 16k. Checked against files written by MariaDB 10.5 to 11.8 and MySQL 5.6 and 9.7.
    """
    if flags & FULL_CRC32_MARKER:
        size = 512 << (flags & 0xF)
    else:
        shift = (flags >> 6) & 0xF
        size = 512 << shift if shift else 16384
    return size if size in PAGE_SIZES else None


def page_size_of_header(header: bytes) -> int | None:
    """Page size in bytes from the first 64 bytes of the first system file, None when they are no such header."""
    if len(header) < HEADER_BYTES:
        return None
    (page_type,) = struct.unpack_from(">H", header, PAGE_TYPE_OFFSET)
    (space_id,) = struct.unpack_from(">I", header, SPACE_ID_OFFSET)
    (flags,) = struct.unpack_from(">I", header, SPACE_FLAGS_OFFSET)
    # A second system file or a block of zeros has no flags either: unknown is not 16k.
    if page_type != FSP_HEADER_PAGE or space_id != 0:
        return None
    return page_size_of_flags(flags)


def page_size_of_file(path: str) -> int | None:
    """Page size in bytes of the system tablespace whose first file is path; None when it is missing or is no such file."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return page_size_of_header(file.read(HEADER_BYTES))

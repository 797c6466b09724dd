# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""InnoDB page sizes as values: parsing and printing."""

from __future__ import annotations

import re

from .errors import InnodbError

#: Page sizes in bytes that InnoDB knows at all. Which of them an engine takes is in engines.py.
PAGE_SIZES = (4096, 8192, 16384, 32768, 65536)


def parse(text: str | int) -> int:
    """Page size in bytes from C(8k), C(8K), C(8192) or 8192; InnodbError when InnoDB has no such page size."""
    match = re.fullmatch(r"(\d+)\s*(k|kb|kib)?", str(text).strip(), re.IGNORECASE)
    if match:
        size = int(match.group(1)) * (1024 if match.group(2) else 1)
        if size in PAGE_SIZES:
            return size
    names = ", ".join(label(size) for size in PAGE_SIZES)
    raise InnodbError(f"'{text}' is no InnoDB page size", remedy=f"Choose one of {names}")


def label(size: int) -> str:
    """The usual short name of a page size in bytes: 8192 gives C(8k)."""
    return f"{size // 1024}k"

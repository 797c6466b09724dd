# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Values of server options: sizes in the servers' spelling, and when two spellings mean the same."""

from __future__ import annotations

import re

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
SIZE_UNITS = {"": 1, "K": KIB, "M": MIB, "G": GIB, "T": 1 << 40, "P": 1 << 50, "E": 1 << 60}
SWITCH_WORDS = {"on": "1", "true": "1", "yes": "1", "off": "0", "false": "0", "no": "0"}


def parse_bytes(text: str | int) -> int | None:
    """Bytes from C(512M), C(8k) or C(8192), as the servers read sizes; None when it is no such size."""
    match = re.fullmatch(r"(\d+)\s*([KMGTPE]?)(?:i?B)?", str(text).strip(), re.IGNORECASE)
    return int(match.group(1)) * SIZE_UNITS[match.group(2).upper()] if match else None


def format_bytes(size: int) -> str:
    """Bytes with the largest unit that divides them: 1610612736 gives C(1536M)."""
    for unit in ("T", "G", "M", "K"):
        if size and size % SIZE_UNITS[unit] == 0:
            return f"{size // SIZE_UNITS[unit]}{unit}"
    return str(size)


def quoted(value: str) -> str:
    """A value as an option file needs it: in quotes where a comment sign or blanks would be lost."""
    if "#" in value or value != value.strip() or value[:1] in ("'", '"'):
        mark = "'" if '"' in value else '"'
        return f"{mark}{value}{mark}"
    return value


def canonical(value: str) -> str:
    """A value in the form in which two spellings of it are equal: C(8k) and 8192, C(ON) and 1, 0.5 and 0.500000."""
    value = value.strip().lower()
    if value in SWITCH_WORDS:
        return SWITCH_WORDS[value]
    size = parse_bytes(value)
    if size is not None:
        return str(size)
    if re.fullmatch(r"-?\d+\.\d*", value):
        return f"{float(value):g}"
    return value.rstrip("/")

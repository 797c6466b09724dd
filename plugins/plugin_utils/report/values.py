# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Values out of a report that another machine wrote: whatever it holds, a page comes out of it.

A value of an unexpected type counts as not known, and no character of a name can steer a page, a terminal or a drawing.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES

#: Kinds of characters that are shown as their number: controls, among them those that turn the direction of text, halves of a
#: character, breaks of lines, and what Unicode leaves to private use or has not given a meaning.
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
#: Numbers from here on, far beyond any amount of anything, count as not known.
TOO_LARGE = 1e30
LINE_BREAKS = str.maketrans({"\n": " ", "\r": " ", "\t": " "})


def visible(text: str) -> str:
    """The text on one line, with every character that cannot be seen written as its number."""
    text = text.translate(LINE_BREAKS)
    if text.isprintable():
        return text
    return "".join(f"\\u{ord(char):04x}" if unicodedata.category(char) in HIDDEN else char for char in text)


def cleaned(value: Any) -> Any:
    """The same structure with all its texts and keys made visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {visible(str(key)): cleaned(item) for key, item in value.items()}
    return value


def dig(data: Any, *path: str) -> Any:
    """What lies under a path of keys; None when a part of the path is missing."""
    for key in path:
        if not isinstance(data, dict):
            return None
        data = data.get(key)
    return data


def number(data: Any, *path: str) -> float | int | None:
    """A finite number."""
    value = dig(data, *path)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -TOO_LARGE < value < TOO_LARGE:
        return None
    return value


def amount(data: Any, *path: str) -> float | int | None:
    """A finite number that is not negative: bytes, seconds, counts, shares."""
    value = number(data, *path)
    return value if value is not None and value >= 0 else None


def text(data: Any, *path: str) -> str:
    """A text, or a number as text; empty when there is none."""
    value = dig(data, *path)
    if isinstance(value, str):
        return value
    return "" if isinstance(value, bool) or not isinstance(value, (int, float)) else str(value)


def page_size(data: Any, *path: str) -> int | None:
    """A page size of InnoDB in bytes."""
    value = number(data, *path)
    return int(value) if value in PAGE_SIZES else None


def flag(data: Any, *path: str) -> bool | None:
    value = dig(data, *path)
    return value if isinstance(value, bool) else None


def mapping(data: Any, *path: str) -> dict[str, Any]:
    value = dig(data, *path)
    return value if isinstance(value, dict) else {}


def mappings(data: Any, *path: str) -> list[dict[str, Any]]:
    """The members of a list that are mappings themselves."""
    value = dig(data, *path)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(data: Any, *path: str) -> list[str]:
    """The members of a list that are texts."""
    value = dig(data, *path)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def by_page_size(data: Any, *path: str) -> dict[int, dict[str, Any]]:
    """A mapping whose keys are page sizes in bytes, smallest first; other keys are no page sizes and left out."""
    found = mapping(data, *path)
    return {size: found[str(size)] for size in PAGE_SIZES if isinstance(found.get(str(size)), dict)}

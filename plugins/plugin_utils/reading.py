# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Values out of facts of which nothing is certain: what is missing or of another type than expected is None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def look(value: Any, *keys: str) -> Any:
    """The value under the keys, None when one is missing."""
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def number(value: Any) -> float | int | None:
    """The value when it is a number that can be reckoned with, also as text as variables of the server are."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300:
        return value
    return None


def ratio(part: Any, whole: Any) -> float | None:
    """part / whole, None when one is not known or whole is not above 0."""
    part, whole = number(part), number(whole)
    return None if part is None or whole is None or whole <= 0 else part / whole


def entries(value: Any) -> list[Mapping[str, Any]]:
    """The mappings of a list."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, (list, tuple)) else []

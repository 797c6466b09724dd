# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How large the data would be at another page size, and how much would be read for the same rows. Pure and total."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Growth(NamedTuple):
    """Size at another page size in parts of the size now, with the ends of what was published; added_bytes come on top."""

    middle: float
    low: float
    high: float
    added_bytes: float


class Prediction(NamedTuple):
    """Bytes of all tables and indexes, and by how much that may be wrong; both None when nothing is known."""

    bytes: int | None
    error_bytes: int | None


def growth(space: Mapping[str, Any], size: int, current: int, large_share: float, small_tables: float) -> Growth | None:
    """From published ratios. space is the policy's section: for rows and large objects [low, middle, high] in parts of 16k.

    large_share: share of the bytes in large objects. small_tables: tables that take little more than their empty pages.
    """
    ratios, objects, empty = (space.get(name) for name in ("rows", "large_objects", "small_table_bytes"))
    if not ratios or not objects or not empty:
        return None
    share = min(max(large_share, 0), 1)

    def relative(end: int) -> float:
        ratio, middle = (
            (1 - share) * ratios[each][position] + share * objects[each][position] for each, position in ((size, end), (current, 1))
        )
        return ratio / middle

    low, middle, high = (relative(end) for end in range(3))
    return Growth(middle, low, high, small_tables * (empty[size] - empty[current]))


def predict(size: int, current: int | None, total: float | None, tried: Any, expected: Growth | None) -> Prediction:
    """From the rehearsal where there is one, else from published ratios. total: bytes now."""
    if size == current and total is not None:
        return Prediction(int(total), 0)
    if isinstance(tried, Mapping) and all(_usable(tried.get(key)) for key in ("predicted_bytes", "predicted_error_bytes")):
        return Prediction(int(tried["predicted_bytes"]), int(tried["predicted_error_bytes"]))
    if expected is None or total is None or total < 0:
        return Prediction(None, None)
    predicted = max(total * expected.middle + expected.added_bytes, 0)
    error = total * max(expected.high - expected.middle, expected.middle - expected.low) + abs(expected.added_bytes)
    return Prediction(round(predicted), round(error))


def _usable(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e300


def read_amplification(size: int, current: int | None, rows_per_request: float | None, row_bytes: float | None) -> float | None:
    """Bytes read for the same rows, in parts of the bytes now.

    A request for a page wants some rows that lie together, so many bytes of it. As long as that is less than a page,
    a page of half the size halves what is read; where it is more, the same is read in more pieces.
    """
    if current is None or rows_per_request is None or row_bytes is None:
        return None
    wanted = rows_per_request * row_bytes
    return round(max(size, wanted) / max(current, wanted), 3)

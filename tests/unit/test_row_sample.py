# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How a sample is spread over a key."""

from __future__ import annotations

import datetime
import decimal

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.row_sample import append_file, between, literal, range_clause


@pytest.mark.parametrize(
    ("lowest", "highest", "count", "values"),
    [
        (0, 100, 4, [20, 40, 60, 80]),
        (-50, 50, 1, [0]),
        (1.0, 2.0, 1, [1.5]),
        (decimal.Decimal(1), decimal.Decimal(3), 1, [decimal.Decimal(2)]),
        (datetime.date(2024, 1, 1), datetime.date(2024, 1, 5), 1, [datetime.date(2024, 1, 3)]),
        (b"\x00" * 16, b"\xff" * 16, 1, [b"\x7f" + b"\xff" * 7]),
        ("customer-0000", "customer-9999", 1, ["customer-4   "[:9] + "4~~~"]),
        ("a", "a", 3, []),
        ("äpfel", "übel", 3, []),
        (None, None, 3, []),
        (0, "9", 3, []),
    ],
)
def test_between(lowest, highest, count, values):
    found = between(lowest, highest, count)
    if isinstance(lowest, str) and found:
        assert len(found) == count and all(lowest <= value <= highest for value in found)
    else:
        assert found == values


def test_text_is_spread_in_order_over_what_differs():
    found = between("user:aaaa", "user:zzzz", 7)
    assert found == sorted(found) and len(set(found)) == 7
    assert all(value.startswith("user:") for value in found)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (b"\x00'", "X'0027'"),
        ("it's", "_utf8mb4 X'69742773'"),
        (datetime.datetime(2024, 1, 2, 3, 4, 5), "'2024-01-02 03:04:05'"),
    ],
)
def test_literal(value, text):
    assert literal(value) == text


def test_a_range_is_spelled_so_that_an_index_serves_it():
    clause = range_clause(("a", "b"), (1, 2), (3,), 10)
    assert clause == " WHERE ((`a` > 1) OR (`a` = 1 AND `b` >= 2)) AND ((`a` < 3)) ORDER BY `a`, `b` LIMIT 10"
    assert range_clause((), (), (), 5) == " LIMIT 5"


def test_files_are_appended_whole(tmp_path):
    target, part = tmp_path / "a", tmp_path / "b"
    target.write_bytes(b"1\n")
    part.write_bytes(b"2\n" * 100_000)
    append_file(str(part), str(target))
    assert target.read_bytes() == b"1\n" + b"2\n" * 100_000
    assert not part.exists()

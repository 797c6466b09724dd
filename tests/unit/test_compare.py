# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Differences of censuses and of digests, and which of them the user allowed."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import census, digest
from ansible_collections.pagesmith.innodb.plugins.module_utils.census import Difference

ORDERS = {"definition": "CREATE TABLE `orders` (`id` int)", "engine": "InnoDB"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({}, {}, [], id="nothing"),
        pytest.param({"table a.t": ORDERS}, {"table a.t": dict(ORDERS)}, [], id="the same"),
        pytest.param({"view a.v": {}}, {}, [("view a.v", "existence", "present", "missing")], id="missing"),
        pytest.param({}, {"view a.v": {}}, [("view a.v", "existence", "missing", "present")], id="new"),
        pytest.param(
            {"table a.t": ORDERS}, {"table a.t": {**ORDERS, "engine": "Aria"}}, [("table a.t", "engine", "InnoDB", "Aria")], id="changed"
        ),
        pytest.param(
            {"table a.t": ORDERS},
            {"table a.t": {"engine": "InnoDB"}},
            [("table a.t", "definition", ORDERS["definition"], None)],
            id="aspect",
        ),
        pytest.param(
            {"b": {"y": 1, "x": 1}, "c": {}},
            {"a": {}, "b": {"x": 2, "y": 2}},
            [("a", "existence", "missing", "present"), ("b", "x", 1, 2), ("b", "y", 1, 2), ("c", "existence", "present", "missing")],
            id="sorted",
        ),
    ],
)
def test_compare(before, after, expected):
    assert census.compare(before, after) == [Difference(*difference) for difference in expected]


DIFFERENCES = [
    Difference("table a.t", "definition", 1, 2),
    Difference("table a.t", "engine", 1, 2),
    Difference("account x %", "existence", 1, 2),
]


@pytest.mark.parametrize(
    ("allowed", "left"),
    [
        ([], [0, 1, 2]),
        (["table a.t engine"], [0, 2]),
        (["table a.t", "table a.*", "engine", "TABLE a.t engine"], [0, 1, 2]),
        (["account x % existence", "table a.t definition", "table a.t engine"], []),
    ],
)
def test_only_exact_ids_are_allowed(allowed, left):
    assert census.refused(DIFFERENCES, allowed) == [DIFFERENCES[number] for number in left]


def test_allowed_may_be_an_iterator():
    assert census.refused(DIFFERENCES, iter(["table a.t engine"])) == [DIFFERENCES[0], DIFFERENCES[2]]


def test_as_dict():
    assert DIFFERENCES[0].as_dict() == {
        "id": "table a.t definition",
        "object": "table a.t",
        "aspect": "definition",
        "before": 1,
        "after": 2,
    }


THREE = {"method": "checksum", "rows": 3, "hash": "1"}


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ({}, {}, []),
        ({"t": THREE}, {"t": dict(THREE)}, []),
        ({"t": THREE}, {"t": {**THREE, "rows": 2}}, ["t"]),
        ({"t": THREE}, {"t": {**THREE, "hash": "2"}}, ["t"]),
        ({"t": THREE}, {"t": {**THREE, "method": "md5"}}, ["t"]),
        ({"t": THREE}, {}, ["t"]),
        ({"b": THREE}, {"a": THREE}, ["a", "b"]),
    ],
    ids=range(7),
)
def test_compare_digests(before, after, names):
    expected = [Difference(name, "content", before.get(name), after.get(name)) for name in names]
    assert digest.compare(before, after) == expected

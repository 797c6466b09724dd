# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Answers of nvme-cli that the captured hosts did not give."""

from __future__ import annotations

import json

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.nvme import Identity, identify, lba_formats

FORMATS = [{"ms": 0, "ds": 9, "rp": 2}, {"ms": 0, "ds": 12, "rp": 0}]


def answering(namespace, controller):
    answers = {"id-ns": namespace, "id-ctrl": controller}
    return lambda command: answers[command[1]]


def said(answer):
    return 0, json.dumps(answer), ""


def test_format_in_use_and_its_worth():
    found = lba_formats({"flbas": 1, "lbafs": FORMATS})
    assert [(each["bytes"], each["in_use"], each["relative_performance"]) for each in found] == [(512, False, 2), (4096, True, 0)]


def test_more_than_sixteen_formats():
    found = lba_formats({"flbas": 0b0100010, "lbafs": [{"ms": 0, "ds": 9, "rp": 0}] * 20})
    assert [each["index"] for each in found if each["in_use"]] == [18]


def test_formats_that_are_not_to_be_had_are_left_out_but_counted():
    found = lba_formats({"flbas": 1, "lbafs": [{"ms": 0, "ds": 0, "rp": 0}, *FORMATS]})
    assert [(each["index"], each["in_use"]) for each in found] == [(1, True), (2, False)]


@pytest.mark.parametrize("structure", [{}, {"lbafs": None}, {"lbafs": [None, 3, {}]}, {"lbafs": {"ds": 9}, "flbas": "x"}])
def test_formats_that_are_not_understood(structure):
    assert lba_formats(structure) == []


@pytest.mark.parametrize(("vwc", "volatile"), [(0, False), (6, False), (7, True), ("7", True), (None, None)])
def test_volatile_cache(vwc, volatile):
    assert identify(answering(said({}), said({"vwc": vwc})), "nvme", "/dev/nvme0n1").volatile_cache is volatile


@pytest.mark.parametrize(
    ("namespace", "awupf", "expected"),
    [
        ({"flbas": 1, "lbafs": FORMATS}, 3, 16384),
        # The namespace's own size counts only when it says that it has one.
        ({"flbas": 1, "lbafs": FORMATS, "nsfeat": 2, "nawupf": 7}, 3, 32768),
        ({"flbas": 1, "lbafs": FORMATS, "nsfeat": 0, "nawupf": 7}, 3, 16384),
        ({"flbas": 1, "lbafs": FORMATS, "nsfeat": 2, "nawupf": 0}, 3, 16384),
        ({"flbas": 1, "lbafs": FORMATS}, None, None),
        ({}, 3, None),
    ],
)
def test_atomic_write_unit(namespace, awupf, expected):
    found = identify(answering(said(namespace), said({"awupf": awupf})), "nvme", "/dev/nvme0n1")
    assert found.atomic_write_unit_bytes == expected


def test_a_warning_before_the_answer():
    warned = (0, "Warning: deprecated\n" + json.dumps({"vwc": 0}), "")
    assert identify(answering(said({}), warned), "nvme", "/dev/nvme0n1").volatile_cache is False


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((1, "", "Permission denied\nmore"), "Permission denied"),
        ((2, "usage", ""), "usage"),
        ((1, "", ""), "exit code 1"),
        ((0, "", ""), "its answer is not JSON"),
        ((0, "{half", ""), "its answer is not JSON"),
        ((0, "[1]", ""), "its answer is not JSON"),
    ],
)
def test_refusals(answer, reason):
    notes = tuple(f"nvme {question} /dev/nvme0n1 gave nothing: {reason}" for question in ("id-ns", "id-ctrl"))
    assert identify(answering(answer, answer), "nvme", "/dev/nvme0n1") == Identity(notes=notes)

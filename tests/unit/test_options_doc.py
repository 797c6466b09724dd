# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the variables and options is the one that is generated."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.tests.unit.tools import ROOT, load_tool


@pytest.fixture(scope="module")
def options_doc():
    return load_tool("options_doc")


def test_nothing_is_stale(options_doc):
    assert [str(path.relative_to(ROOT)) for path in options_doc.stale()] == [], f"run {options_doc.COMMAND}"


def test_units_are_those_of_variables_that_exist(options_doc):
    names = {name[len(options_doc.PREFIX) :] for name in options_doc.variables()}
    assert (set(options_doc.UNITS) | set(options_doc.ALSO)) <= names


def test_every_number_and_size_has_a_unit(options_doc):
    """What is chosen by default is a number or a size, but for the flush method."""
    chosen = {name[len(options_doc.PREFIX) :] for name, details in options_doc.variables().items() if details["default"] == ""}
    assert chosen - set(options_doc.UNITS) == {"flush_method"}


@pytest.mark.parametrize(
    "option, expected",
    [
        ("innodb_redo_log_capacity", "MySQL from 8.0.30; Percona Server from 8.0.30"),
        ("innodb_flush_neighbor_pages", "Percona Server before 5.6"),
        ("innodb_buffer_pool_size", "MariaDB all; MySQL all; Percona Server all"),
    ],
)
def test_where_an_option_exists(options_doc, option, expected):
    assert options_doc.where(options_doc.module("option_rows").find_option(option)) == expected

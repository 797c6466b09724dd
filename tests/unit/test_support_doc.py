# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The support table is that of the data."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import engines
from ansible_collections.pagesmith.innodb.tests.unit.tools import load_tool


@pytest.fixture
def support_doc():
    return load_tool("support_doc")


def test_it_is_not_stale(support_doc):
    assert support_doc.DOCUMENT.read_text(encoding="utf-8") == support_doc.text(engines), f"run {support_doc.COMMAND}"


def test_what_was_never_run_is_said(support_doc):
    lines = {line.split(" | ")[0].strip("| "): line for line in support_doc.rows(engines)}
    assert "run by the tests" in lines["MySQL 9.7"]
    assert "refused" in lines["MySQL 8.4"] and "**not run**" in lines["MySQL 8.4"]
    assert "**not run**" in lines["MariaDB 10.6"]
    assert "refused" in lines["MySQL 5.6"]

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Fixtures of the tests with real servers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import Sandbox  # noqa: E402 (found by the line above)


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A running server of 16k pages, empty."""
    with Sandbox() as server:
        yield server

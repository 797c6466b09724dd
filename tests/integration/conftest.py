# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Fixtures of the tests with real servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def sandbox() -> Iterator[Any]:
    """A running server of 16k pages, empty."""
    # The collection can be imported only once the hook of the conftest above has run.
    from harness import Sandbox

    with Sandbox() as server:
        yield server

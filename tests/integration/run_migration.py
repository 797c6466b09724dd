# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Migrates a sandbox in a process of its own, for tests that change what a process sees of the host. Arguments: base, size."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import conftest  # noqa: E402

conftest.pytest_configure()

from harness import Refused, Sandbox  # noqa: E402

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError  # noqa: E402

try:
    print(Sandbox(base=Path(sys.argv[1])).migrate(sys.argv[2])["outcome"])
except (InnodbError, Refused) as error:
    print(error)

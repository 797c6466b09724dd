# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Makes ansible_collections.pagesmith.innodb importable from this work tree, wherever it lies."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure() -> None:
    # ansible-test brings an importer of its own.
    if importlib.util.find_spec("ansible_collections"):
        return
    # Packages made by hand and not a tree of links, so that tracebacks show the real paths of the files.
    parent = None
    for name, path in (("ansible_collections", []), ("pagesmith", []), ("innodb", [str(ROOT)])):
        package = types.ModuleType(f"{parent.__name__}.{name}" if parent else name)
        package.__path__ = path
        sys.modules[package.__name__] = package
        if parent:
            setattr(parent, name, package)
        parent = package

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The private servers of the benchmark: those of the integration tests, with a configuration as a user has it."""

from __future__ import annotations

import importlib
import os
import pwd
import shutil
import sys
from pathlib import Path
from typing import Any

from generate import table_names

TESTS = Path(__file__).resolve().parent.parent
sys.path[1:1] = [str(TESTS), str(TESTS / "integration")]
importlib.import_module("conftest").pytest_configure()  # makes the collection importable
harness = importlib.import_module("harness")
Sandbox = harness.Sandbox

# What the tests set and a user does not.
TEST_SETTINGS = dict.fromkeys(harness.DEFAULTS, False)
USER_SETTINGS = {"skip-networking": None, "innodb_buffer_pool_size": "2G", "innodb_flush_method": "O_DIRECT"}


def settings(base: Path) -> dict[str, Any]:
    """A server that starts empties its directory for temporary files, so each has its own."""
    return {**TEST_SETTINGS, **USER_SETTINGS, "tmpdir": str(base / "tmp")}


def make(base: Path, size: str) -> Sandbox:
    """A new server, initialised and not started."""
    user = pwd.getpwnam(harness.USER)
    for path in (base, base / "tmp"):
        path.mkdir()
        os.chown(path, user.pw_uid, user.pw_gid)
    sandbox = Sandbox(base=base, settings=settings(base), size=size)
    sandbox.create()
    return sandbox


def remove(sandbox: Sandbox) -> None:
    sandbox.kill()
    for process in sandbox.started:
        process.wait()  # or its CPU time would count for what comes next
    shutil.rmtree(sandbox.base)


def checksums(socket: str) -> dict[str, str | None]:
    """CHECKSUM TABLE of the benchmark's tables; a table that is missing has None."""
    connection = harness.pymysql.connect(unix_socket=socket, user="root", read_timeout=3600)
    with connection, connection.cursor() as cursor:
        cursor.execute(f"CHECKSUM TABLE {', '.join(table_names())} EXTENDED")
        return {name: None if value is None else str(value) for name, value in cursor.fetchall()}

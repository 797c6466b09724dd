# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""After a migration: going back with and without writes since, and giving up the old directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from content import read_content, require_equal
from disks import mounted
from harness import CASES, Sandbox

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError


@pytest.fixture(scope="module")
def server() -> Iterator[Sandbox]:
    """A server that goes to and fro between 16k and 8k."""
    with Sandbox() as sandbox:
        sandbox.sql((CASES / "shop.sql").read_text())
        sandbox.restart()
        yield sandbox


@pytest.fixture
def migrated(server: Sandbox) -> Sandbox:
    """The server right after a migration, with one directory that is kept."""
    for path in server.kept():
        server.retire(path)
    result = server.migrate("8k" if server.page_size() == 16384 else "16k")
    assert result["outcome"] == "migrated"
    return server


def read(server: Sandbox) -> dict:
    with server.connect() as connection:
        return read_content(connection)


def refused(act: object) -> InnodbError:
    with pytest.raises(InnodbError) as caught:
        act()
    assert caught.value.failed and caught.value.state and caught.value.remedy
    return caught.value


def test_rollback_without_writes_and_again(migrated: Sandbox) -> None:
    before, size = read(migrated), migrated.page_size()
    result = migrated.rollback()
    assert (result["outcome"], result["lost_writes"]) == ("rolled_back", [])
    assert (result["page_size_before"], result["page_size_after"]) == (size, migrated.page_size())
    assert migrated.page_size() != size
    require_equal(before, read(migrated))
    (aside,) = result["set_aside"]
    assert Path(aside, "ibdata1").is_file(), "the newer files are kept as well"
    # There is nothing more to undo.
    files = migrated.snapshot()
    with pytest.raises(AssertionError, match="nothing to roll back"):
        migrated.rollback()
    assert migrated.snapshot() == files
    assert migrated.retire(aside)["outcome"] == "retired"
    assert not os.path.exists(aside)


def test_rollback_with_writes_since(migrated: Sandbox) -> None:
    old = read(migrated)
    migrated.sql("UPDATE shop.customer SET name = 'since' WHERE id = 7; CREATE TABLE shop.since (id INT PRIMARY KEY)")
    new, size = read(migrated), migrated.page_size()
    error = refused(migrated.rollback)
    assert "shop.customer" in error.failed and "shop.since" in error.failed and "discard" in error.remedy
    # The server runs on with what was written.
    assert migrated.page_size() == size
    require_equal(new, read(migrated))
    result = migrated.rollback(discard=True)
    assert {"table shop.customer content", "table shop.since existence"} <= set(result["lost_writes"])
    require_equal(old, read(migrated))


def test_retire(migrated: Sandbox) -> None:
    (latest,) = migrated.kept()
    error = refused(lambda: migrated.retire(latest, retention_days=1))
    assert "days" in error.failed
    for wrong in (str(migrated.datadir), str(migrated.base), "/", f"{latest}-x", os.path.dirname(latest)):
        error = refused(lambda wrong=wrong: migrated.retire(wrong))
        assert wrong in error.failed and latest in error.remedy
    inside = Path(latest, "mounted")
    inside.mkdir()
    with mounted(migrated.base / "conf.d", inside, "--bind"):
        error = refused(lambda: migrated.retire(latest))
        assert "mounted" in error.failed
        assert any((migrated.base / "conf.d").iterdir())
    assert Path(latest, "ibdata1").is_file(), "a refusal deletes nothing"
    before = read(migrated)
    result = migrated.retire(latest)
    assert result["outcome"] == "retired" and result["freed_bytes"] > 0
    assert not os.path.exists(latest)
    require_equal(before, read(migrated))
    with pytest.raises(AssertionError, match="nothing to roll back"):
        migrated.rollback()


def test_retire_while_the_server_is_down(migrated: Sandbox) -> None:
    (path,) = migrated.kept()
    migrated.stop()
    try:
        assert "not running" in refused(lambda: migrated.retire(path)).failed
        assert Path(path).is_dir()
    finally:
        migrated.start()

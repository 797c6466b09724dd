# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files that are written together and put back together, and what is said of units that listen for the server."""

from __future__ import annotations

from ansible_collections.pagesmith.innodb.plugins.module_utils.config_file import Change, Edit, put, socket_warning


def test_files_are_written_and_put_back(tmp_path):
    own, root = tmp_path / "my.cnf.d/zz-pagesmith.cnf", tmp_path / "my.cnf"
    root.write_text("[mysqld]\n")
    root.chmod(0o604)
    change = Change(Edit(str(own), None, "ours\n"), 8192, Edit(str(root), "[mysqld]\n", "[mysqld]\n!includedir x\n"))
    assert change.changes and [part["after_header"] for part in change.diff()] == [str(own), str(root)]
    put(change.edits)
    assert own.read_text() == "ours\n" and root.read_text().endswith("!includedir x\n")
    assert (own.stat().st_mode & 0o777, root.stat().st_mode & 0o777) == (0o644, 0o604)
    put(edit.undone() for edit in reversed(change.edits))
    assert not own.exists() and root.read_text() == "[mysqld]\n"


def test_what_is_as_it_shall_be_is_not_written(tmp_path):
    own = tmp_path / "zz-pagesmith.cnf"
    own.write_text("ours\n")
    before = own.stat()
    change = Change(Edit(str(own), "ours\n", "ours\n"), 8192)
    put(change.edits)
    assert not change.changes and own.stat().st_mtime_ns == before.st_mtime_ns


def test_units_that_listen_for_the_server_are_named():
    assert socket_warning([]) is None
    assert "mariadb.socket listens for the server" in socket_warning(["mariadb.socket"])

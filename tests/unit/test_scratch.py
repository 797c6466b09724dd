# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Scratch directories: removed in the end, swept when their user was killed, and nothing else is ever deleted."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import scratch
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError


def test_a_directory_goes_with_all_that_is_in_it(tmp_path):
    with scratch.scratch_directory(str(tmp_path)) as path:
        os.makedirs(os.path.join(path, "8192", "data"))
        assert os.stat(path).st_mode & 0o777 == 0o711
    assert os.listdir(tmp_path) == []


def test_it_goes_after_a_failure_too(tmp_path):
    with pytest.raises(ZeroDivisionError), scratch.scratch_directory(str(tmp_path)):
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


def test_what_a_killed_user_left_is_swept(tmp_path):
    left = tmp_path / "pagesmith-left"
    (left / "8192").mkdir(parents=True)
    (left / scratch.MARKER).touch()
    assert scratch.sweep(str(tmp_path)) == [str(left)]
    assert os.listdir(tmp_path) == []


def test_what_is_in_use_stays(tmp_path):
    with scratch.scratch_directory(str(tmp_path)) as path:
        assert scratch.sweep(str(tmp_path)) == []
        with scratch.scratch_directory(str(tmp_path)) as other:
            assert os.path.isdir(path) and os.path.isdir(other)


def test_the_lock_ends_with_the_process(tmp_path):
    """A real kill: no cleanup runs."""
    code = (
        "import os, signal, sys; sys.path.insert(0, sys.argv[2]); import conftest; conftest.pytest_configure();"
        "from ansible_collections.pagesmith.innodb.plugins.module_utils import scratch;"
        "manager = scratch.scratch_directory(sys.argv[1]); manager.__enter__(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path), tests], check=False).returncode == -9
    assert len(os.listdir(tmp_path)) == 1
    assert len(scratch.sweep(str(tmp_path))) == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["pagesmith-data", "mysql", "pagesmith-"])
def test_directories_without_our_marker_stay(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "ibdata1").touch()
    assert scratch.sweep(str(tmp_path)) == []
    with pytest.raises(InnodbError, match="not a scratch directory"):
        scratch.remove(str(tmp_path / name))
    assert (tmp_path / name / "ibdata1").exists()


def test_marked_directories_of_another_name_and_links_stay(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / scratch.MARKER).touch()
    (tmp_path / "pagesmith-link").symlink_to(other)
    assert scratch.sweep(str(tmp_path)) == []
    assert (other / scratch.MARKER).exists()


def test_a_directory_that_vanishes_meanwhile_is_nobodys(tmp_path, monkeypatch):
    (tmp_path / "pagesmith-other").mkdir()
    entries = list(os.scandir(tmp_path))
    (tmp_path / "pagesmith-other").rmdir()
    monkeypatch.setattr(scratch.os, "scandir", lambda _path: entries)
    assert scratch.sweep(str(tmp_path)) == []


def test_a_parent_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(InnodbError, match="no scratch directory can be made"), scratch.scratch_directory(str(tmp_path / "missing")):
        pass

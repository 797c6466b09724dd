# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Writing back what was written: on the way to the disk early, and no error is lost."""

from __future__ import annotations

import os

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.durable import begin_write_back


def test_begin_write_back_leaves_the_file_as_it_is(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(b"x" * 100_000)
    begin_write_back(str(path))
    assert path.read_bytes() == b"x" * 100_000


def test_begin_write_back_tells_what_the_system_refuses():
    with pytest.raises(OSError, match="Illegal seek") as caught:
        begin_write_back(os.devnull)
    assert caught.value.filename == os.devnull


def test_begin_write_back_of_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        begin_write_back(os.path.join(tmp_path, "missing"))

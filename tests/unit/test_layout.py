# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Layouts: names of system files, the names a migration plans, and what it finds in a directory."""

from __future__ import annotations

import json

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import (
    OUTSIDE_DIRECTORIES,
    Layout,
    Paths,
    matching,
    parse_data_file_path,
    plan_paths,
)

LABEL = "16k-20260101T000000Z"
OUTSIDE = {"innodb_data_home_dir": "/sys", "innodb_log_group_home_dir": "/log", "innodb_undo_directory": "/log"}


def layout(mount_point: bool = False, **more) -> Layout:
    return Layout("/var/lib/mysql", "/srv/mysql", mount_point, **more)


@pytest.mark.parametrize(
    ("text", "names", "autoextend"),
    [
        ("ibdata1:12M:autoextend", ("ibdata1",), True),
        ("ibdata1:12M", ("ibdata1",), False),
        ("ibdata1:1G;ibdata2:12M:AUTOEXTEND:max:10G", ("ibdata1", "ibdata2"), True),
        ("ibdata1:1G;ibdata2:12M;", ("ibdata1", "ibdata2"), False),
    ],
)
def test_parse_data_file_path(text, names, autoextend):
    assert parse_data_file_path(text) == (names, autoextend)


def test_paths_of_a_plain_directory_lie_beside_it():
    paths = plan_paths(layout(), LABEL)
    assert (paths.datadir, paths.inside) == ("/srv/mysql", False)
    assert paths.build == "/srv/mysql.pagesmith-new"
    assert paths.retained == f"/srv/mysql.pagesmith-{LABEL}"
    assert paths.build_options() == []


def test_paths_of_a_mount_point_lie_inside():
    paths = plan_paths(layout(mount_point=True), LABEL)
    assert (paths.datadir, paths.inside) == ("/srv/mysql", True)
    assert paths.build == "/srv/mysql/.pagesmith-new"
    assert paths.retained == f"/srv/mysql/.pagesmith-retained/{LABEL}"


@pytest.mark.parametrize("mount_point", [False, True])
def test_paths_outside_lie_inside_their_directories(mount_point):
    paths = plan_paths(layout(mount_point, outside=OUTSIDE, system_files=("sys1", "sys2")), LABEL)
    assert [entry.option for entry in paths.outside] == list(OUTSIDE)
    for entry in paths.outside:
        assert entry.build == f"{entry.directory}/.pagesmith-new"
        assert entry.retained == f"{entry.directory}/.pagesmith-retained/{LABEL}"
    assert paths.outside[0].patterns == (*OUTSIDE_DIRECTORIES["innodb_data_home_dir"], "sys1", "sys2")
    assert paths.build_options() == [
        "--innodb-data-home-dir=/sys/.pagesmith-new",
        "--innodb-log-group-home-dir=/log/.pagesmith-new",
        "--innodb-undo-directory=/log/.pagesmith-new",
    ]


def test_directories_inside_the_data_directory_go_with_it():
    paths = plan_paths(layout(nested={"tmpdir": "tmp", "innodb_undo_directory": "undo/logs"}), LABEL)
    assert paths.outside == ()
    assert paths.nested == (("innodb_undo_directory", "undo/logs"), ("tmpdir", "tmp"))
    assert paths.build_options() == ["--innodb-undo-directory=/srv/mysql.pagesmith-new/undo/logs"]


def test_external_tablespaces_are_kept_beside_themselves():
    paths = plan_paths(layout(external=["/ext/app/t.ibd"]), LABEL)
    assert paths.external == (("/ext/app/t.ibd", f"/ext/app/t.ibd.pagesmith-{LABEL}"),)


@pytest.mark.parametrize("mount_point", [False, True])
def test_paths_survive_the_journal(mount_point):
    nested = {"tmpdir": "tmp", "innodb_undo_directory": "undo/logs"}
    paths = plan_paths(layout(mount_point, outside=OUTSIDE, external=["/ext/t.ibd"], nested=nested), LABEL)
    assert Paths.from_dict(json.loads(json.dumps(paths.as_dict()))) == paths


def test_layout_can_be_reported():
    assert json.loads(json.dumps(layout(outside=OUTSIDE).as_dict()))["outside"] == OUTSIDE


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("innodb_data_home_dir", ["ib_buffer_pool", "ibtmp1"]),
        ("innodb_log_group_home_dir", ["#innodb_redo", "ib_logfile0", "ib_logfile101"]),
        ("innodb_undo_directory", ["undo001", "undo_001"]),
        ("aria_log_dir_path", ["aria_log.00000001", "aria_log_control"]),
    ],
)
def test_matching(tmp_path, option, expected):
    for name in (
        *("#innodb_redo", "ib_logfile0", "ib_logfile101", "ibdata1", "ib_buffer_pool", "ibtmp1", "undo001", "undo_001"),
        *("aria_log.00000001", "aria_log_control", "undo_of_my_work", "notes.txt", ".pagesmith-new", ".pagesmith-retained"),
    ):
        (tmp_path / name).touch()
    assert matching(str(tmp_path), OUTSIDE_DIRECTORIES[option]) == expected


def test_no_pattern_takes_our_own_directories_or_that_of_another_option(tmp_path):
    seen: list[str] = []
    for name in ("ib_logfile0", "ibtmp1", "undo001", "aria_log_control", "ib_buffer_pool", ".pagesmith-new", ".pagesmith-retained"):
        (tmp_path / name).touch()
    for patterns in OUTSIDE_DIRECTORIES.values():
        seen += matching(str(tmp_path), patterns)
    assert sorted(seen) == ["aria_log_control", "ib_buffer_pool", "ib_logfile0", "ibtmp1", "undo001"]

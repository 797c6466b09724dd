# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What deletes data, and what guards it: retire, remove_build and their like."""

from __future__ import annotations

import os

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import data_directory, processes
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import Layout, OutsideDirectory, Paths, plan_paths

LABEL = "16k-20260101T000000Z"


@pytest.fixture
def datadir(tmp_path):
    return make(tmp_path / "mysql")


@pytest.fixture
def inspectable():
    """What deletes looks first for servers that run there, which only root may do while another user's server runs."""
    try:
        processes.servers_in("/")
    except InnodbError as error:
        pytest.skip(str(error))


def make(path):
    """A directory with a file in it."""
    path.mkdir(parents=True)
    (path / "ibdata1").write_bytes(b"x" * 5000)
    return path


@pytest.mark.usefixtures("inspectable")
def test_retire_deletes_all_that_is_kept_and_nothing_else(tmp_path, datadir):
    retained = make(tmp_path / f"mysql.pagesmith-{LABEL}")
    outside = make(tmp_path / "log" / ".pagesmith-retained" / LABEL)
    external = tmp_path / f"t.ibd.pagesmith-{LABEL}"
    external.write_bytes(b"x" * 5000)
    kept = [str(retained), str(outside), str(external), str(tmp_path / f"gone.pagesmith-{LABEL}")]
    freed = data_directory.retire(kept, str(retained), str(datadir))
    assert freed >= 15000
    assert sorted(os.listdir(tmp_path)) == ["log", "mysql"]
    assert data_directory.retire(kept, str(retained), str(datadir)) == 0


@pytest.mark.usefixtures("inspectable")
@pytest.mark.parametrize("written", ["{path}/", "{parent}/./{name}", "{parent}/mysql/../{name}"])
def test_retire_takes_other_spellings_of_the_path(tmp_path, datadir, written):
    retained = make(tmp_path / f"mysql.pagesmith-{LABEL}")
    confirmed = written.format(path=retained, parent=tmp_path, name=retained.name)
    assert data_directory.retire([str(retained)], confirmed, str(datadir)) > 0
    assert not retained.exists()


@pytest.mark.parametrize("confirmed", ["", "yes", "{datadir}", "{retained}x", "{outside}"])
def test_retire_refuses_another_confirmation(tmp_path, datadir, confirmed):
    retained = make(tmp_path / f"mysql.pagesmith-{LABEL}")
    outside = make(tmp_path / "log" / ".pagesmith-retained" / LABEL)
    confirmed = confirmed.format(datadir=datadir, retained=retained, outside=outside)
    with pytest.raises(InnodbError, match="is not the retained directory") as caught:
        data_directory.retire([str(retained), str(outside)], confirmed, str(datadir))
    assert str(retained) in caught.value.remedy
    assert (retained / "ibdata1").exists()


def test_retire_refuses_when_nothing_is_kept(datadir):
    with pytest.raises(InnodbError, match="is not the retained directory"):
        data_directory.retire([], str(datadir), str(datadir))


@pytest.mark.usefixtures("inspectable")
@pytest.mark.parametrize("bad_first", [True, False])
@pytest.mark.parametrize("bad", ["name", "datadir", "above", "link"])
def test_retire_refuses_what_is_not_ours_before_it_deletes_anything(tmp_path, bad, bad_first):
    good = make(tmp_path / f"other.pagesmith-{LABEL}")
    live = tmp_path / "mysql"
    if bad == "name":
        wrong = make(tmp_path / "mysql.old")
    elif bad == "datadir":
        wrong = live = make(tmp_path / f"mysql.pagesmith-{LABEL}")
    elif bad == "above":
        wrong = tmp_path / f"mysql.pagesmith-{LABEL}"
        live = make(wrong / "data")
    else:
        target = make(tmp_path / "elsewhere")
        wrong = tmp_path / f"mysql.pagesmith-{LABEL}"
        wrong.symlink_to(target)
    kept = [str(wrong), str(good)] if bad_first else [str(good), str(wrong)]
    with pytest.raises(InnodbError, match="is not a retained directory, so it is not deleted"):
        data_directory.retire(kept, kept[0], str(live))
    assert wrong.exists()
    assert good.exists()


def test_retire_refuses_the_directory_to_which_a_link_leads_the_server(tmp_path):
    real = make(tmp_path / f"mysql.pagesmith-{LABEL}")
    (tmp_path / "mysql").symlink_to(real)
    with pytest.raises(InnodbError, match="not deleted"):
        data_directory.retire([str(real)], str(real), str(tmp_path / "mysql"))
    assert real.exists()


@pytest.mark.usefixtures("inspectable")
@pytest.mark.parametrize("mount_point", [False, True])
def test_remove_build(tmp_path, datadir, mount_point):
    outside = {"innodb_undo_directory": str(tmp_path / "undo"), "innodb_log_group_home_dir": str(tmp_path / "undo")}
    paths = plan_paths(Layout(str(datadir), str(datadir), mount_point, outside), LABEL)
    for directory in {paths.build, *(entry.build for entry in paths.outside)}:
        os.makedirs(os.path.join(directory, "mysql"))
    data_directory.remove_build(paths)
    data_directory.remove_build(paths)
    assert sorted(os.listdir(tmp_path)) == ["mysql", "undo"]
    assert os.listdir(tmp_path / "undo") == []
    assert os.listdir(datadir) == ["ibdata1"]


@pytest.mark.parametrize("name", ["mysql", "mysql-new", f"mysql.pagesmith-{LABEL}", "mysql.pagesmith-new.old"])
@pytest.mark.parametrize("outside", [False, True])
def test_remove_build_refuses_other_names(tmp_path, name, outside):
    wrong = make(tmp_path / name)
    build = str(tmp_path / "x.pagesmith-new")
    entries = (OutsideDirectory("innodb_undo_directory", str(tmp_path), (), str(wrong), ""),) if outside else ()
    paths = Paths(str(tmp_path / "x"), build if outside else str(wrong), "", False, entries)
    with pytest.raises(InnodbError, match="not a directory that a migration built"):
        data_directory.remove_build(paths)
    assert (wrong / "ibdata1").exists()


def test_remove_build_refuses_a_link(tmp_path, datadir):
    paths = plan_paths(Layout(str(datadir), str(datadir), False), LABEL)
    os.symlink(datadir, paths.build)
    with pytest.raises(InnodbError, match="not a directory that a migration built"):
        data_directory.remove_build(paths)
    assert (datadir / "ibdata1").exists()


@pytest.mark.parametrize(("kept_exists", "left"), [(True, False), (False, True)])
def test_remove_half_built_keeps_the_only_copy(tmp_path, datadir, kept_exists, left):
    source, kept = tmp_path / "t.ibd", tmp_path / "t.ibd.kept"
    source.touch()
    if kept_exists:
        kept.touch()
    data_directory.remove_half_built(Paths(str(datadir), "", "", False, (), ((str(source), str(kept)),)))
    assert source.exists() is left
    assert kept.exists() is kept_exists


def test_put_back_files_copies_only_what_is_missing(tmp_path):
    old, new = make(tmp_path / "old"), make(tmp_path / "new")
    for name in ("debian-10.11.flag", "server.pem", "other.txt"):
        (old / name).write_text("old")
    (new / "server.pem").write_text("new")
    (old / "link.pem").symlink_to(old / "other.txt")
    assert data_directory.put_back_files(str(old), str(new), ["debian-*.flag", "*.pem"]) == ["debian-10.11.flag"]
    assert sorted(os.listdir(new)) == ["debian-10.11.flag", "ibdata1", "server.pem"]
    assert (new / "server.pem").read_text() == "new"


def test_put_back_binlog_links_logs_and_copies_what_changes(tmp_path):
    old, new = make(tmp_path / "old"), make(tmp_path / "new")
    for name in ("bin.000001", "bin.000002", "bin.index", "bin.state", "binary.txt"):
        (old / name).write_text(name)
    for name in ("bin.000001", "bin.000009", "bin.index"):
        (new / name).write_text("of the initialisation")
    layout = Layout(str(old), str(old), False, binlog=f"{old}/bin", binlog_inside=True)
    assert data_directory.put_back_binlog(layout, str(new)) == ["bin.000001", "bin.000002", "bin.index", "bin.state"]
    linked = {name for name in os.listdir(new) if name != "ibdata1" and (new / name).samefile(old / name)}
    assert linked == {"bin.000001", "bin.000002"}
    assert not (new / "bin.000009").exists() and (new / "bin.index").read_text() == "bin.index"


def test_put_back_binlog_never_deletes_the_log_in_use(datadir):
    (datadir / "bin.000001").touch()
    layout = Layout(str(datadir), str(datadir), False, binlog=f"{datadir}/bin", binlog_inside=True)
    with pytest.raises(InnodbError, match="is the data directory itself"):
        data_directory.put_back_binlog(layout, str(datadir))
    assert (datadir / "bin.000001").exists()


def test_put_back_binlog_in_a_directory_of_its_own(tmp_path):
    old, new = make(tmp_path / "old"), make(tmp_path / "new")
    (old / "log").mkdir()
    (new / "log").mkdir()
    (old / "log" / "bin.000001").touch()
    data_directory.put_back_binlog(Layout(str(old), str(old), False, binlog=f"{old}/log/bin", binlog_inside=True), str(new))
    assert os.listdir(new / "log") == ["bin.000001"]


@pytest.mark.parametrize(("binlog", "inside"), [(None, False), ("/elsewhere/bin", False)])
def test_put_back_no_binlog(datadir, tmp_path, binlog, inside):
    layout = Layout(str(datadir), str(datadir), False, binlog=binlog, binlog_inside=inside)
    assert data_directory.put_back_binlog(layout, str(tmp_path)) == []


def test_make_nested_makes_every_directory_on_the_way_like_the_old_one(datadir, tmp_path):
    (datadir / "undo" / "logs").mkdir(parents=True)
    (datadir / "undo").chmod(0o750)
    paths = plan_paths(Layout(str(datadir), str(datadir), False, nested={"innodb_undo_directory": "undo/logs", "tmpdir": "missing"}), LABEL)
    os.mkdir(paths.build)
    data_directory.make_nested(paths)
    data_directory.make_nested(paths)
    assert os.listdir(paths.build) == ["undo"]
    assert os.listdir(os.path.join(paths.build, "undo")) == ["logs"]
    assert os.stat(os.path.join(paths.build, "undo")).st_mode & 0o777 == 0o750


def test_remove_empty_leaves_what_is_not(tmp_path, datadir):
    empty = tmp_path / "empty"
    empty.mkdir()
    data_directory.remove_empty([str(empty), str(datadir), str(tmp_path / "missing")])
    assert os.listdir(tmp_path) == ["mysql"]


def test_fingerprint_differs_when_something_was_written_but_not_for_our_own_directories(datadir, tmp_path):
    paths = plan_paths(Layout(str(datadir), str(datadir), True), LABEL)
    before = data_directory.fingerprint(paths)
    os.mkdir(paths.build)
    assert data_directory.fingerprint(paths) == before
    (datadir / "ibdata1").write_bytes(b"y" * 5001)
    assert data_directory.fingerprint(paths) != before

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The renames of a swap and of a rollback: cut short anywhere, they can be finished and undone."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import data_directory
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import Layout, aside_paths, plan_paths

LABEL = "16k-20260101T000000Z"
KINDS = ("plain", "inside", "outside", "shared", "inside and outside")
OLD = {"ibdata1": "old", "ib_logfile0": "old", "undo001": "old", "mysql/db.MYD": "old", "dropped/t.ibd": "old"}
NEW = {"ibdata1": "new", "ib_logfile0": "new", "undo001": "new", "undo002": "new", "mysql/db.MYD": "new"}
#: Kind -> option -> directory; the files of an option lie there instead of in the data directory.
OUTSIDE = {
    "outside": {"innodb_log_group_home_dir": "log", "innodb_undo_directory": "undo"},
    "shared": {"innodb_log_group_home_dir": "log", "innodb_undo_directory": "log"},
    "inside and outside": {"innodb_log_group_home_dir": "log"},
}
FILES = {"innodb_log_group_home_dir": ("ib_logfile0",), "innodb_undo_directory": ("undo001", "undo002")}


def write(directory: str, name: str, content: str) -> None:
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


def tree(root) -> dict[str, str]:
    """All files below root and what is in them."""
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


class Place:
    """A data directory of this kind with the new one built beside it."""

    def __init__(self, root, kind: str) -> None:
        self.root = root
        outside = {option: str(root / directory) for option, directory in OUTSIDE.get(kind, {}).items()}
        datadir = str(root / "mysql")
        os.makedirs(root / "mysql" / "lost+found")
        self.paths = plan_paths(Layout(datadir, datadir, kind.startswith("inside"), outside), LABEL)
        self.home = {name: entry for entry in self.paths.outside for name in FILES[entry.option]}
        for entry in self.paths.outside:
            os.makedirs(entry.directory, exist_ok=True)
        for name, content in OLD.items():
            write(self.home[name].directory if name in self.home else datadir, name, content)
        for name, content in NEW.items():
            write(self.home[name].build if name in self.home else self.paths.build, name, content)
        self.before = tree(root)
        self.moves = data_directory.swap_moves(self.paths)

    def in_place(self) -> dict[str, str]:
        """What a server that is started now would find."""
        found = {}
        for name in {**OLD, **NEW}:
            path = os.path.join(self.home[name].directory if name in self.home else self.paths.datadir, name)
            if os.path.isfile(path):
                with open(path, encoding="utf-8") as file:
                    found[name] = file.read()
        return found

    def carry_out(self, moves) -> None:
        data_directory.carry_out(moves, self.paths.datadir if os.path.isdir(self.paths.datadir) else str(self.root))

    def undo(self, moves) -> None:
        data_directory.undo(moves, str(self.root))


@pytest.fixture(params=KINDS)
def place(request, tmp_path) -> Place:
    return Place(tmp_path, request.param)


def test_plain_moves(tmp_path):
    paths = Place(tmp_path, "plain").paths
    assert data_directory.swap_moves(paths) == [(paths.datadir, paths.retained), (paths.build, paths.datadir)]


def test_inside_leaves_our_own_directories_and_lost_and_found(tmp_path):
    place = Place(tmp_path, "inside")
    sources = {os.path.relpath(source, place.paths.datadir) for source, _target in place.moves}
    assert sources == {"dropped", "ib_logfile0", "ibdata1", "mysql", "undo001"} | {
        f".pagesmith-new/{name}" for name in ("ib_logfile0", "ibdata1", "mysql", "undo001", "undo002")
    }


def test_swap_puts_the_new_files_in_place_and_loses_none(place):
    data_directory.require_clear(place.moves)
    place.carry_out(place.moves)
    assert place.in_place() == NEW
    assert sorted(tree(place.root).values()) == sorted(place.before.values())


def crash_points(place: Place):
    """Number of renames done, for each crash point in turn, with the files in that state."""
    for done in range(len(place.moves) + 1):
        place.carry_out(place.moves[:done])
        assert data_directory.completed(place.moves) == done
        yield done
        place.undo(place.moves)
        assert tree(place.root) == place.before


def test_completed_at_every_crash_point(place):
    assert list(crash_points(place)) == list(range(len(place.moves) + 1))


def test_carry_out_goes_on_from_every_crash_point_and_may_be_repeated(place):
    for _done in crash_points(place):
        place.carry_out(place.moves)
        place.carry_out(place.moves)
        assert place.in_place() == NEW


def test_undo_cut_short_can_be_repeated(place):
    for done in crash_points(place):
        for kept in (done // 2, max(done - 1, 0)):
            place.undo(place.moves[kept:done])  # a crash after some of the renames were undone
            place.undo(place.moves)
            assert tree(place.root) == place.before
            place.carry_out(place.moves[:done])


def test_undo_again_after_the_build_was_removed(place):
    for _done in crash_points(place):
        place.undo(place.moves)
        built = [place.paths.build, *(entry.build for entry in place.paths.outside)]
        for directory in set(built):
            os.rename(directory, f"{directory}.removed")
        left = tree(place.root)
        assert data_directory.completed(place.moves) == 0
        place.undo(place.moves)
        assert tree(place.root) == left
        for directory in set(built):
            os.rename(f"{directory}.removed", directory)


def test_the_build_is_not_removed_when_the_data_directory_is_missing(tmp_path):
    place = Place(tmp_path, "plain")
    os.rename(place.paths.datadir, place.paths.retained)
    before = tree(tmp_path)
    with pytest.raises(InnodbError, match="may hold the only data"):
        data_directory.remove_build(place.paths)
    assert tree(tmp_path) == before


def test_undo_of_nothing(place):
    place.undo([])
    place.undo(place.moves)
    assert tree(place.root) == place.before


def test_rollback_after_opening_at_every_crash_point(place):
    place.carry_out(place.moves)
    written = {"ibdata1": "written since", **{name: content for name, content in NEW.items() if name != "ibdata1"}}
    write(place.paths.datadir, "ibdata1", "written since")
    aside = aside_paths(place.paths, "8k-20260102T000000Z-rolled-back")
    moves = data_directory.rollback_moves(place.paths, aside)
    data_directory.require_clear(moves)
    for done in range(len(moves) + 1):
        place.carry_out(moves[:done])
        assert data_directory.completed(moves) == done
        place.carry_out(moves)
        assert place.in_place() == OLD
        place.undo(moves)
        assert place.in_place() == written


@pytest.mark.parametrize("left", [True, False], ids=["clients wrote one", "dropped since"])
def test_rollback_of_an_external_tablespace(tmp_path, left):
    place = Place(tmp_path, "plain")
    source, kept = str(tmp_path / "t.ibd"), str(tmp_path / f"t.ibd.pagesmith-{LABEL}")
    paths = replace(place.paths, external=((source, kept),))
    place.carry_out(place.moves)
    write(str(tmp_path), os.path.basename(kept), "old")
    if left:
        write(str(tmp_path), "t.ibd", "new")
    moves = data_directory.rollback_moves(paths, aside_paths(paths, "8k-20260102T000000Z-rolled-back"))
    place.carry_out(moves)
    assert (tmp_path / "t.ibd").read_text() == "old"
    assert not os.path.exists(kept)
    assert (tmp_path / "t.ibd.pagesmith-8k-20260102T000000Z-rolled-back").exists() is left


@pytest.mark.parametrize("existing", ["datadir target", "retained"])
def test_carry_out_never_replaces(tmp_path, existing):
    place = Place(tmp_path, "plain")
    place.carry_out(place.moves[:1])
    if existing == "retained":
        place.undo(place.moves)
        write(place.paths.retained, "ibdata1", "another")
    else:
        write(place.paths.datadir, "ibdata1", "another")
    before = tree(tmp_path)
    with pytest.raises(InnodbError, match="can't be renamed"):
        place.carry_out(place.moves)
    assert tree(tmp_path) == before


def test_require_clear(tmp_path):
    place = Place(tmp_path, "plain")
    data_directory.require_clear(place.moves)
    write(place.paths.retained, "ibdata1", "another")
    with pytest.raises(InnodbError, match=f"{place.paths.retained} exists already"):
        data_directory.require_clear(place.moves)


@pytest.mark.parametrize(
    ("source", "target", "reason"), [("/proc", "/proc.old", "is a mount point"), ("/proc/self", "/x", "different file")]
)
def test_require_clear_refuses_mount_points_and_other_file_systems(source, target, reason):
    with pytest.raises(InnodbError, match=reason):
        data_directory.require_clear([(source, target)])

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Data directories: initialise one, put it in the place of another, put that back, delete a retained one.

Every guard stands in the function whose act it guards. Directories with data are renamed; only retire() deletes them.
"""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import os
import pwd
import shutil
import stat
from collections.abc import Iterable, Sequence

from . import processes, tablespace
from .durable import rename, sync_directory
from .errors import InnodbError
from .instance import Instance, log_errors
from .layout import BUILD_INSIDE, LOST_AND_FOUND, MARK, RETAINED_INSIDE, Layout, Paths, kept_names, matching, mount_points
from .page_size import label
from .processes import Run

Move = "tuple[str, str]"

#: Seconds in which a server that was told to end has ended, before what it works on is deleted.
STOP_SECONDS = 60

INITIALISE = {
    "mariadb-install-db": (
        "--auth-root-authentication-method=socket",
        "--auth-root-socket-user=root",
        "--skip-test-db",
        "--skip-name-resolve",
        # MariaDB 10.5 writes one otherwise, beside that of the running server where its path is absolute.
        "--skip-log-bin",
    ),
    "mysqld": ("--initialize-insecure", "--skip-log-bin", "--init-file=/dev/null", "--persisted-globals-load=OFF"),
}
#: Programs that take directories inside the data directory, which options name, only when they are there; others only when not.
FILLS_DIRECTORIES = ("mariadb-install-db",)
#: Where the initialisation writes its log and its temporary files. A server that starts deletes the temporary tables of every
#: other server in the same tmpdir (measured), so it must not be the one of the running server.
INITIALISE_DIR = ".pagesmith-initialise"  # MySQL does not initialise a directory with anything in it but such names
INITIALISE_LOG = "error.log"
REQUIRED_AFTER_INITIALISE = ("mysql",)


def build(run: Run, instance: Instance, paths: Paths, size: int, options: Sequence[str]) -> None:
    """Make an empty data directory of this page size at paths.build, owned and labelled like the one it will replace.

    The initialisation tool's exit status proves nothing, so the files it made are read. What an earlier attempt left is removed.
    """
    make_build_directories(paths)
    program = instance.engine.trait("initialise")
    if program in FILLS_DIRECTORIES:
        make_nested(paths)
    tool = shutil.which(program, path=f"{os.path.dirname(instance.program)}:/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/mysql/scripts")
    if not tool:
        raise InnodbError(f"the program {program} is missing", remedy=f"Install the package that holds {program}")
    own = os.path.join(paths.build, INITIALISE_DIR)
    os.mkdir(own, 0o700)
    os.chown(own, *processes.owner(paths.datadir))
    log = os.path.join(own, INITIALISE_LOG)
    command = [
        tool,
        *instance.first_arguments,
        *INITIALISE[program],
        f"--user={pwd.getpwuid(os.stat(paths.datadir).st_uid).pw_name}",
        f"--datadir={paths.build}",
        f"--innodb-page-size={size}",
        f"--log-error={log}",
        f"--tmpdir={own}",
        *paths.build_options(),
        *options,
    ]
    code, out, err = run(command)
    found = built_page_size(instance, paths)
    missing = [name for name in REQUIRED_AFTER_INITIALISE if not os.path.isdir(os.path.join(paths.build, name))]
    if code != 0 or found != size or missing:
        said = log_errors(log) if os.path.exists(log) else (err.strip() or out.strip() or "no message").splitlines()[-1]
        raise InnodbError(f"{program} did not make a data directory with {label(size)} pages (exit status {code}): {said}")
    shutil.rmtree(own)
    make_nested(paths)


def make_build_directories(paths: Paths) -> None:
    """Empty directories to build in, owned and labelled like those whose place they will take. What was there is removed."""
    remove_build(paths)
    for directory, like in _build_directories(paths):
        os.mkdir(directory, 0o700)
        copy_attributes(like, directory)


def built_page_size(instance: Instance, paths: Paths) -> int | None:
    """Page size in bytes of what was built, read from its first file."""
    home = next((entry.build for entry in paths.outside if entry.option == "innodb_data_home_dir"), paths.build)
    return tablespace.page_size_of_file(os.path.join(home, os.path.basename(instance.system_file)))


def _build_directories(paths: Paths) -> list[tuple[str, str]]:
    """Directories to make, each with the one it is modelled on; options that share a directory share the new one."""
    pairs = {paths.build: paths.datadir}
    for entry in paths.outside:
        pairs[entry.build] = entry.directory
    return list(pairs.items())


def make_nested(paths: Paths) -> None:
    """Make the directories inside the data directory that options name, like those of the old one."""
    for _option, nested in paths.nested:
        current = ""
        for part in nested.split(os.sep):
            current = os.path.join(current, part)
            old, new = os.path.join(paths.datadir, current), os.path.join(paths.build, current)
            if os.path.isdir(old) and not os.path.isdir(new):
                os.mkdir(new, 0o700)
                copy_attributes(old, new)


def copy_attributes(source: str, target: str) -> None:
    """Owner, mode, ACL and security label."""
    status = os.stat(source)
    os.chown(target, status.st_uid, status.st_gid)
    shutil.copystat(source, target)


def remove_build(paths: Paths) -> None:
    """Delete what was being built. It was never in use: its name is one that only build() gives, no server runs in it,
    and the data directory in use is in its place.
    """
    for directory, _like in _build_directories(paths):
        if not os.path.lexists(directory):
            continue
        if not directory.endswith(BUILD_INSIDE) or os.path.islink(directory) or directory in mount_points():
            raise InnodbError(f"{directory} is not a directory that a migration built, so it is not deleted")
        if not os.path.isdir(paths.datadir):
            raise InnodbError(f"{paths.datadir} is missing, so {directory} may hold the only data and is not deleted")
        # A private server that was told to end while it started may hang; one that answered ends by itself.
        for pid in filter(processes.never_answered, processes.servers_in(directory)):
            processes.stop_pid(pid, STOP_SECONDS)
        processes.wait_stopped(directory, os.path.join(directory, "ibdata1"), STOP_SECONDS)
        shutil.rmtree(directory)
        sync_directory(os.path.dirname(directory))


def remove_half_built(paths: Paths) -> None:
    """Delete tablespaces outside the data directory that stand in the place of one that is set aside: copies never in use."""
    for source, kept in paths.external:
        if os.path.isfile(source) and os.path.isfile(kept):
            os.unlink(source)
            sync_directory(os.path.dirname(source))


def put_back_files(source: str, target: str, patterns: Iterable[str]) -> list[str]:
    """Copy files of the old data directory that initialisation does not make, with owner, mode and times; names that exist stay."""
    copied = []
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(glob.escape(source), pattern))):
            copy = os.path.join(target, os.path.relpath(path, source))
            if os.path.isfile(path) and not os.path.islink(path) and not os.path.lexists(copy):
                copy_file(path, copy)
                copied.append(os.path.relpath(path, source))
    return copied


def remove_files(directory: str, patterns: Iterable[str]) -> None:
    """Delete what a server that was never in use made for itself, where what is carried takes its place."""
    if not directory.endswith(BUILD_INSIDE):
        raise InnodbError(f"{directory} is not a directory that a migration built, so nothing in it is deleted")
    for name in matching(directory, patterns):
        os.unlink(os.path.join(directory, name))


def copy_file(source: str, target: str) -> None:
    """A copy with owner, mode, times and extended attributes; it is brought to the disk with all others of its directory."""
    shutil.copy2(source, target)
    status = os.stat(source)
    os.chown(target, status.st_uid, status.st_gid)


def put_back_binlog(layout: Layout, target: str) -> list[str]:
    """Carry a binary log inside the data directory over, so that it goes on where it stopped and replicas find their position.

    Closed log files are never written again, so a hard link is enough; the index and the state are copied, since they change.
    """
    if not layout.binlog or not layout.binlog_inside:
        return []
    carried = []
    folder = os.path.relpath(os.path.realpath(os.path.dirname(layout.binlog)), layout.real_datadir)
    name = os.path.basename(layout.binlog)
    if os.path.realpath(target) == layout.real_datadir:
        raise InnodbError(f"{target} is the data directory itself, so its binary log is not replaced")
    # Initialising may have begun a log of its own, which nobody has seen (MariaDB 10.5 does).
    for path in glob.glob(os.path.join(glob.escape(os.path.join(target, folder)), f"{glob.escape(name)}.*")):
        os.unlink(path)
    for path in sorted(glob.glob(glob.escape(layout.binlog) + ".*")):
        copy = os.path.join(target, folder, os.path.basename(path))
        if path.rpartition(".")[2].isdigit():
            os.link(path, copy)
        else:
            copy_file(path, copy)
        carried.append(os.path.basename(path))
    return carried


def swap_moves(paths: Paths) -> list[Move]:
    """The renames that set the old files aside and put the new ones in their place, in order."""
    moves = _exchange(paths, paths.build, paths.retained)
    for entry in paths.outside:
        moves += _moved(matching(entry.directory, entry.patterns), entry.directory, entry.retained)
        moves += _moved(matching(entry.build, entry.patterns), entry.build, entry.directory)
    return moves


def rollback_moves(paths: Paths, aside: Paths) -> list[Move]:
    """The renames that set the new files aside and put the retained ones back, after the new server was in use."""
    moves = _exchange(paths, paths.retained, aside.retained)
    for entry, other in zip(paths.outside, aside.outside):
        moves += _moved(matching(entry.directory, entry.patterns), entry.directory, other.retained)
        moves += _moved(kept_names(entry), entry.retained, entry.directory)
    for (source, kept), (_source, other) in zip(paths.external, aside.external):
        moves += [(source, other)] if os.path.exists(source) else []
        moves.append((kept, source))
    return moves


def _exchange(paths: Paths, incoming: str, outgoing: str) -> list[Move]:
    """The renames that put what is in the place of the data directory into outgoing, and incoming into that place."""
    if not paths.inside:
        return [(paths.datadir, outgoing), (incoming, paths.datadir)]
    names = [name for name in sorted(os.listdir(paths.datadir)) if name not in (LOST_AND_FOUND, BUILD_INSIDE, RETAINED_INSIDE)]
    return _moved(names, paths.datadir, outgoing) + _moved(sorted(os.listdir(incoming)), incoming, paths.datadir)


def _moved(names: Iterable[str], source: str, target: str) -> list[Move]:
    return [(os.path.join(source, name), os.path.join(target, name)) for name in names]


def require_clear(moves: Iterable[Move]) -> None:
    """InnodbError when a rename would cross file systems or could replace something."""
    moves = [tuple(move) for move in moves]
    sources = {source for source, _target in moves}
    points = mount_points()
    for source, target in moves:
        if os.path.lexists(target) and target not in sources:
            raise InnodbError(f"{target} exists already", remedy="Move it away and run again")
        if source in points:
            raise InnodbError(
                f"{source} is a mount point and can't be renamed",
                remedy="Mount it elsewhere, or name it in the options of the server",
            )
        parent = os.path.dirname(target)
        while not os.path.isdir(parent):
            parent = os.path.dirname(parent)
        if os.path.exists(source) and os.stat(source, follow_symlinks=False).st_dev != os.stat(parent).st_dev:
            raise InnodbError(f"{source} and {parent} are on different file systems")


def completed(moves: Sequence[Move]) -> int:
    """How many of these renames, made in order, were made: the last one whose source is gone and whose target is there counts.

    Where the target is a name that an earlier rename cleared, what was there must be kept. Otherwise it is back in its place:
    the renames were undone, and their source is gone because it was deleted then.
    """
    kept = dict(moves)
    for number in range(len(moves), 0, -1):
        source, target = moves[number - 1]
        if os.path.lexists(target) and not os.path.lexists(source) and os.path.lexists(kept.get(target, target)):
            return number
    return 0


def carry_out(moves: Iterable[Move], like: str) -> None:
    """Make the renames that are left. like: the directory whose owner the directories made on the way get."""
    moves = [tuple(move) for move in moves]
    for source, target in moves[completed(moves) :]:
        if not os.path.lexists(source) or os.path.lexists(target):
            raise InnodbError(
                f"{source} can't be renamed to {target}: the one is missing, or the other exists",
                state="The renames stopped there.",
            )
        _make_parents(os.path.dirname(target), like)
        rename(source, target)


def undo(moves: Iterable[Move], like: str) -> None:
    """Undo the renames that were made, last first."""
    moves = [tuple(move) for move in moves]
    for source, target in reversed(moves[: completed(moves)]):
        _make_parents(os.path.dirname(source), like)
        rename(target, source)


def _make_parents(directory: str, like: str) -> None:
    if os.path.isdir(directory):
        return
    _make_parents(os.path.dirname(directory), like)
    os.mkdir(directory, 0o700)
    status = os.stat(like)
    os.chown(directory, status.st_uid, status.st_gid)
    sync_directory(os.path.dirname(directory))


def remove_empty(directories: Iterable[str]) -> None:
    """Remove directories of ours that are empty now; one that is not stays."""
    for directory in directories:
        if os.path.isdir(directory) and not os.listdir(directory):
            os.rmdir(directory)


def remove_empty_retained(directories: Iterable[str]) -> None:
    """Remove retained directories that are empty now, and what they lay in."""
    for directory in directories:
        remove_empty([directory])
        if os.path.basename(os.path.dirname(directory)) == RETAINED_INSIDE:
            remove_empty([os.path.dirname(directory)])


def fingerprint(paths: Paths) -> str:
    """Names, sizes and times of all files of the server, as one hash: it differs when a server was started in between."""
    digest = hashlib.sha256()
    roots = [paths.datadir, *(entry.directory for entry in paths.outside)]
    for root in roots:
        patterns = None if root == paths.datadir else [p for entry in paths.outside if entry.directory == root for p in entry.patterns]
        names = sorted(os.listdir(root)) if patterns is None else matching(root, patterns)
        for name in names:
            # A log may be rotated at any time, by whoever likes.
            if not name.startswith(MARK) and not fnmatch.fnmatch(name, "*.log*") and not fnmatch.fnmatch(name, "*.err*"):
                _add_to_fingerprint(digest, os.path.join(root, name))
    for source, kept in paths.external:
        _add_to_fingerprint(digest, source if os.path.exists(source) and not os.path.exists(kept) else kept, source)
    return digest.hexdigest()


def _add_to_fingerprint(digest: object, path: str, name: str | None = None) -> None:
    status = os.lstat(path)
    if stat.S_ISDIR(status.st_mode):
        for entry in sorted(os.listdir(path)):
            _add_to_fingerprint(digest, os.path.join(path, entry))
    elif not stat.S_ISSOCK(status.st_mode):
        digest.update(f"{name or path}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ino}\n".encode("utf-8", "surrogateescape"))


def retire(retained: Sequence[str], confirmed: str, datadir: str) -> int:
    """Delete what a finished migration kept, and return the bytes that were freed.

    retained: the paths of the journal, the data directory's first. confirmed: the path as the user typed it.
    """
    if not retained or os.path.realpath(confirmed) != os.path.realpath(retained[0]):
        raise InnodbError(
            f"'{confirmed}' is not the retained directory of this instance",
            remedy=f"Set innodb_retire_confirm to {retained[0]}" if retained else "",
        )
    points = mount_points()
    real = os.path.realpath(datadir)
    for path in retained:
        if not os.path.lexists(path):
            continue
        name_is_ours = f"{MARK}-" in os.path.basename(path) or os.path.basename(os.path.dirname(path)) == RETAINED_INSIDE
        if not name_is_ours or os.path.islink(path) or real == path or real.startswith(path + os.sep):
            raise InnodbError(f"{path} is not a retained directory, so it is not deleted")
        inside = sorted(point for point in points if point == path or point.startswith(path + os.sep))
        if inside:
            raise InnodbError(f"{inside[0]} is mounted in the retained directory {path}", remedy="Unmount it and run again")
        if os.path.isdir(path):
            processes.require_stopped(path, os.path.join(path, "ibdata1"))
    freed = 0
    for path in retained:
        if os.path.lexists(path):
            freed += tree_bytes(path)
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
            sync_directory(os.path.dirname(path))
    return freed


def copied_bytes(path: str) -> int:
    """Bytes that a copy of a file or a tree may occupy: the holes in its files may be filled."""
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        return max(status.st_size, status.st_blocks * 512)
    return status.st_blocks * 512 + sum(copied_bytes(os.path.join(path, name)) for name in os.listdir(path))


def tree_bytes(path: str) -> int:
    """Bytes that a file or a tree occupies."""
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        return status.st_blocks * 512
    return status.st_blocks * 512 + sum(tree_bytes(os.path.join(path, name)) for name in os.listdir(path))

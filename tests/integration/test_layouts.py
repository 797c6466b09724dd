# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Data directories as real hosts have them: after a migration and after its rollback shape, owners, modes and ACLs are as before."""

from __future__ import annotations

import fnmatch
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Callable

import pytest
from content import read_content, require_equal
from disks import command, loop_device, mounted
from harness import CASES, USER, Sandbox, make_base

DISK_BYTES = 4 << 30
ACL = "system.posix_acl_access"
# Come and go with the work of a server, or are what a migration keeps.
PASSING = (
    *("*.pid", "ib_buffer_pool", "ibtmp*", "aria_log.*", "binlog.*", "binlog-state*", "*pagesmith*", "lost+found", "*_upgrade_info"),
    *("FTS_*", "multi-master.info", "ddl_recovery*", "tc.log", "server.sock", "error.log", "ib_logfile*"),
)
IGNORED = ("lost+found", ".pagesmith-retained", ".pagesmith-new")


class Place:
    """A sandbox with the directories that its layout is made of. strays: paths that stay with the old directory; unused: empty ones."""

    def __init__(
        self, server: Sandbox, directories: list[Path], strays: list[Path] | None = None, unused: list[Path] | None = None
    ) -> None:
        self.server = server
        self.directories = directories
        self.strays = strays or []
        self.unused = unused or []

    def shape(self, strays: bool, inodes: bool = False) -> dict[str, Any]:
        """What is seen of the directories: type, mode, owner and ACL of each entry. inodes: and that it is the very same file."""
        found = {}
        for directory in self.directories:
            found[str(directory)] = (look(directory), os.path.realpath(directory))
            for root, names, files in os.walk(directory):
                names[:] = [name for name in names if "pagesmith" not in name]
                for path in (Path(root, name) for name in [*names, *files]):
                    if any(fnmatch.fnmatch(path.name, pattern) for pattern in PASSING):
                        continue
                    if strays or not any(path == stray or stray in path.parents for stray in self.strays):
                        found[str(path)] = (look(path), path.stat().st_ino if inodes else None)
        return found


def look(path: Path) -> tuple:
    status = path.lstat()
    acl = os.getxattr(path, ACL) if ACL in os.listxattr(path, follow_symlinks=False) else None
    return (oct(status.st_mode), status.st_uid, status.st_gid, acl, os.readlink(path) if path.is_symlink() else None)


def owned(path: Path, mode: int = 0o750) -> Path:
    path.mkdir(parents=True)
    shutil.chown(path, USER, USER)
    path.chmod(mode)
    return path


def ignoring(server: Sandbox) -> Sandbox:
    """The option file of a data directory that is a mount point has lines for the directories in it that are no schemas."""
    plain = server.config
    server.config = lambda target: plain(target) + "".join(f"ignore_db_dirs={name}\n" for name in IGNORED)
    return server


@contextmanager
def plain_with_attributes() -> Iterator[Place]:
    """A directory with an ACL, a group and a mode of its own, strays in it, and the binary log inside."""
    with ExitStack() as stack:
        base = make_base()
        stack.callback(shutil.rmtree, base)
        datadir = owned(base / "data", 0o2751)
        shutil.chown(datadir, group="adm")
        command("setfacl", "-m", "u:games:rx,g:adm:rwx", datadir)
        server = Sandbox(base=base, settings={"log_bin": "binlog", "server_id": "7"})
        stack.enter_context(server)
        stray, directory = datadir / "backup.sql", datadir / ".ssh"
        stray.write_text("-- an old dump")
        directory.mkdir(mode=0o700)
        (directory / "id").write_text("a key")
        yield Place(server, [datadir], [stray, directory])


@contextmanager
def mount_point() -> Iterator[Place]:
    """A file system of its own with lost+found; tables with DATA DIRECTORY."""
    with ExitStack() as stack:
        base = make_base()
        stack.callback(shutil.rmtree, base)
        datadir = owned(base / "data")
        stack.enter_context(loop_device(DISK_BYTES, datadir))
        shutil.chown(datadir, USER, USER)
        datadir.chmod(0o750)
        outside = owned(base / "external")
        server = ignoring(Sandbox(base=base, settings={"ignore_db_dirs": "lost+found"}))
        stack.enter_context(server)
        server.sql(f"CREATE DATABASE far; CREATE TABLE far.away (id INT PRIMARY KEY) DATA DIRECTORY='{outside}'")
        server.sql("INSERT INTO far.away VALUES (1), (2)")
        yield Place(server, [datadir, outside])


@contextmanager
def bind_mount() -> Iterator[Place]:
    """A bind mount from the same file system, which os.path.ismount does not tell; the binary log outside."""
    with ExitStack() as stack:
        base = make_base()
        stack.callback(shutil.rmtree, base)
        source, datadir, logs = owned(base / "really"), owned(base / "data"), owned(base / "binlogs")
        stack.enter_context(mounted(source, datadir, "--bind"))
        server = ignoring(Sandbox(base=base, settings={"log_bin": logs / "binlog", "server_id": "7"}))
        stack.enter_context(server)
        yield Place(server, [datadir, logs])


@contextmanager
def symbolic_link() -> Iterator[Place]:
    """The data directory is a link to another file system; system tablespace in two files, and every log, in directories of their own."""
    with ExitStack() as stack:
        base = make_base()
        stack.callback(shutil.rmtree, base)
        disk = stack.enter_context(loop_device(DISK_BYTES))
        disk.chmod(0o755)
        target = owned(disk / "mariadb")
        (base / "data").symlink_to(target)
        home, log, undo, aria = (owned(base / name) for name in ("home", "log", "undo", "aria"))
        settings = {
            "innodb_data_home_dir": home,
            "innodb_data_file_path": "ibdata1:12M;ibdata2:12M:autoextend",
            "innodb_log_group_home_dir": log,
            "innodb_undo_directory": undo,
            "innodb_undo_tablespaces": "3",
            "aria_log_dir_path": aria,
        }
        server = Sandbox(base=base, settings=settings)
        stack.enter_context(server)
        yield Place(server, [base / "data", target, home, log, undo, aria])


@contextmanager
def shared_directory() -> Iterator[Place]:
    """System tablespace, redo log, undo and Aria's log share one directory with files of somebody else."""
    with ExitStack() as stack:
        base = make_base()
        stack.callback(shutil.rmtree, base)
        shared = owned(base / "shared")
        (shared / "of-somebody-else").write_text("stays")
        names = ("innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_undo_directory", "aria_log_dir_path")
        server = Sandbox(base=base, settings={"innodb_undo_tablespaces": "2", **dict.fromkeys(names, shared)})
        stack.enter_context(server)
        yield Place(server, [base / "data", shared])


@contextmanager
def empty_undo_directory() -> Iterator[Place]:
    """A directory for undo logs, of which there are none."""
    with ExitStack() as stack:
        base = make_base()
        stack.callback(shutil.rmtree, base)
        undo = owned(base / "undo")
        server = Sandbox(base=base, settings={"innodb_undo_directory": undo, "innodb_undo_tablespaces": "0"})
        stack.enter_context(server)
        yield Place(server, [base / "data", undo], unused=[undo])


LAYOUTS = (plain_with_attributes, mount_point, bind_mount, symbolic_link, shared_directory, empty_undo_directory)


def read(server: Sandbox) -> dict:
    with server.connect() as connection:
        return read_content(connection)


def positions(server: Sandbox) -> tuple[str, list[str]]:
    """Position by GTID, and the names of the binary logs that the server still has."""
    if server.sql("SELECT @@log_bin").strip() == "0":
        return "", []
    return server.sql("SELECT @@gtid_binlog_pos").strip(), [line.split()[0] for line in server.sql("SHOW BINARY LOGS").splitlines()]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_there_and_back(layout: Callable) -> None:
    with layout() as place:
        server = place.server
        server.sql((CASES / "shop.sql").read_text())
        server.restart()
        content, position, schemas = read(server), positions(server), server.sql("SHOW DATABASES")
        plan = server.plan("8k")
        for stray in place.strays:
            assert str(stray) in " ".join(plan.notes), "the plan does not tell what stays behind"
        server.stop()
        same_files = place.shape(strays=True, inodes=True)
        server.start()
        shape = place.shape(strays=False)
        server.migrate("8k")
        assert server.page_size() == 8192
        require_equal(content, read(server))
        assert place.shape(strays=False) == shape
        require_position_goes_on(position, positions(server))
        kept = server.kept()
        # Of a directory from which nothing was to be set aside nothing is kept.
        unused = {f"{directory}/.pagesmith-retained" for directory in place.unused}
        assert kept and all(os.path.lexists(path) or os.path.dirname(path) in unused for path in kept)
        server.rollback(discard=position != ("", []))
        assert server.page_size() == 16384
        require_equal(content, read(server))
        require_position_goes_on(position, positions(server))
        assert server.sql("SHOW DATABASES") == schemas, "what the rollback kept is taken for a schema"
        server.stop()
        assert place.shape(strays=True, inodes=True) == same_files, "the old files are not back, every one of them"
        server.start()
        server.retire(server.kept()[0])
        server.restart()
        assert server.sql("SHOW DATABASES") == schemas
        assert list(server.include.iterdir()) == []


def test_a_rollback_that_keeps_writes_leaves_no_schema_behind() -> None:
    """Where what is kept lies inside the data directory; its option file is as before once all of that is deleted."""
    with bind_mount() as place:
        server = place.server
        server.sql("CREATE DATABASE shop; CREATE TABLE shop.bought (id INT PRIMARY KEY); INSERT INTO shop.bought VALUES (1)")
        schemas = server.sql("SHOW DATABASES")
        server.migrate("8k")
        server.sql("INSERT INTO shop.bought VALUES (2)")
        server.rollback(keep=True)
        assert server.page_size() == 16384
        assert server.sql("SELECT GROUP_CONCAT(id) FROM shop.bought") == "1,2\n"
        assert server.sql("SHOW DATABASES") == schemas, "what is kept is taken for a schema"
        for path in server.kept():
            server.retire(path)
        server.restart()
        assert server.page_size() == 16384
        assert server.sql("SHOW DATABASES") == schemas
        assert list(server.include.iterdir()) == []


def require_position_goes_on(before: tuple[str, list[str]], after: tuple[str, list[str]]) -> None:
    """No transaction was added, and the old logs are still there to be read."""
    assert after[0] == before[0]
    assert after[1][: len(before[1])] == before[1]
    assert len(after[1]) > len(before[1]) or not before[1]


def test_only_the_named_instance_is_touched() -> None:
    """Two instances in one option file, told apart by the suffix of their groups."""
    base = make_base()
    try:
        shutil.chown(base, USER, USER)
        places = [owned(base / name) for name in ("one", "two")]
        settings = [{"port": "0", "pid-file": place / "server.pid"} for place in places]
        servers = [
            Sandbox(base=place, settings=own, group_suffix=suffix, option_file=base / "my.cnf")
            for place, own, suffix in zip(places, settings, (".one", ".two"))
        ]
        include = base / "conf.d"
        include.mkdir()
        (base / "my.cnf").write_text("".join(server.option_text() for server in servers) + f"!includedir {include}\n")
        with ExitStack() as stack:
            for server in servers:
                stack.callback(server.remove)
                server.make_temporary()
                server.initialise()
                server.start()
                server.sql((CASES / "shop.sql").read_text())
                server.restart()
            one, two = servers
            contents, pids, files = [read(server) for server in servers], two.servers(), two.snapshot()
            one.migrate("8k")
            assert (one.page_size(), two.page_size()) == (8192, 16384)
            assert (two.servers(), two.snapshot()) == (pids, files)
            assert [read(server) for server in servers] == contents
            two.restart()
            assert two.page_size() == 16384, "the option file of the one is read by the other"
    finally:
        shutil.rmtree(base)

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every path the server writes, which of them a migration moves, and under which names."""

from __future__ import annotations

import fcntl
import fnmatch
import os
import struct
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from .instance import Instance
from .mounts import mount_identity, mount_of, parse_mountinfo, read_mounts

MARK = ".pagesmith"
RETAINED_INSIDE = ".pagesmith-retained"
BUILD_INSIDE = ".pagesmith-new"
LOST_AND_FOUND = "lost+found"
FS_IOC_GETFLAGS = 0x80086601
IMMUTABLE_OR_APPEND = 0x10 | 0x20

#: Directories of the server that can lie outside the data directory: option, and the names of the files it keeps there.
#: The system tablespace's own names come from innodb_data_file_path.
OUTSIDE_DIRECTORIES = {
    "innodb_data_home_dir": ("ibtmp*", "ib_buffer_pool*"),
    "innodb_log_group_home_dir": ("ib_logfile*", "#ib_redo*", "#innodb_redo"),
    "innodb_undo_directory": ("undo[0-9]*", "undo_[0-9]*"),
    "aria_log_dir_path": ("aria_log.*", "aria_log_control"),
    "innodb_doublewrite_dir": ("#ib_*.dblwr",),
    "innodb_temp_tablespaces_dir": ("temp_*.ibt",),
}

#: Options that may name a directory, or a file in a directory, inside the data directory, which must be there again.
NESTED_DIRECTORIES = ("tmpdir", "innodb_tmpdir", "slave_load_tmpdir")
NESTED_FILES = ("log_bin", "relay_log", "log_error", "general_log_file", "slow_query_log_file", "pid_file", "socket")

TABLE_FILE_SUFFIXES = (
    ".ibd",
    ".frm",
    ".MYD",
    ".MYI",
    ".MAD",
    ".MAI",
    ".CSV",
    ".CSM",
    ".MRG",
    ".ARZ",
    ".ARM",
    ".TRG",
    ".TRN",
    ".isl",
    ".par",
    ".sdi",
    ".cfg",
    ".opt",
    ".TMM",
    ".TMD",
    ".ARN",
    ".BAK",
)
SERVER_FILE_PATTERNS = (
    "ib*",
    "undo*",
    "aria_log*",
    "#*",
    "*.pid",
    "*.err",
    "*.log",
    "*.sock",
    "*.flag",
    "*_upgrade_info",
    "*.pem",
    "*.info",
    "tc.log",
    "auto.cnf",
    "mysqld-auto.cnf",
    "mysql.ibd",
    "*.index",
    "*.state",
    "*.000*",
    "*.dblwr",
    "multi-master.info",
    "*.lock",
    "mysql_upgrade_history",
    "*.idx",
)


@dataclass(frozen=True)
class OutsideDirectory:
    """A directory of the server outside the data directory: where its new files are built, where its old ones are kept."""

    option: str
    directory: str
    patterns: tuple[str, ...]
    build: str
    retained: str


@dataclass(frozen=True)
class Paths:
    """Where the data lies and where a migration puts it. All are real paths, free of symbolic links.

    inside: the data directory is a mount point, so its entries are moved instead of the directory itself.
    external: tablespaces outside all directories, and the names under which they are kept.
    nested: options that name a directory inside the data directory, and that directory relative to it.
    """

    datadir: str
    build: str
    retained: str
    inside: bool
    outside: tuple[OutsideDirectory, ...] = ()
    external: tuple[tuple[str, str], ...] = ()
    nested: tuple[tuple[str, str], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Paths:
        outside = tuple(OutsideDirectory(**{**entry, "patterns": tuple(entry["patterns"])}) for entry in data["outside"])
        external = tuple((source, target) for source, target in data["external"])
        nested = tuple((option, directory) for option, directory in data["nested"])
        return Paths(data["datadir"], data["build"], data["retained"], data["inside"], outside, external, nested)

    def build_options(self) -> list[str]:
        """Options of a server that works on the directories being built."""
        places = [(entry.option, entry.build) for entry in self.outside]
        places += [(option, os.path.join(self.build, path)) for option, path in self.nested if option in OUTSIDE_DIRECTORIES]
        return [f"--{option.replace('_', '-')}={directory}" for option, directory in places]


@dataclass(frozen=True)
class Layout:
    """What lies where. binlog: base path of the binary log, None when there is none.

    symbolic_links: links among the schemas and tables. mounts_inside: mount points below the data directory.
    strays: entries that are neither the server's, nor a schema, nor in a schema's directory.
    """

    datadir: str
    real_datadir: str
    mount_point: bool
    outside: dict[str, str] = field(default_factory=dict)
    external: list[str] = field(default_factory=list)
    nested: dict[str, str] = field(default_factory=dict)
    symbolic_links: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    mounts_inside: list[str] = field(default_factory=list)
    binlog: str | None = None
    binlog_inside: bool = False
    system_files: tuple[str, ...] = ("ibdata1",)
    autoextend: bool = True

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def mount_points() -> set[str]:
    """All mount points of this namespace; unlike os.path.ismount() this knows bind mounts of the same file system."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        return {mount.mount_point for mount in parse_mountinfo(file.read())}


def parse_data_file_path(text: str) -> tuple[tuple[str, ...], bool]:
    """File names of innodb_data_file_path and whether the last one grows by itself."""
    parts = [part for part in text.split(";") if part]
    return tuple(part.split(":")[0] for part in parts), parts[-1].lower().find(":autoextend") >= 0


def read_layout(instance: Instance) -> Layout:
    """The layout of an instance, from its options and its files; the server may be up or down."""
    options = instance.options
    real = os.path.realpath(instance.datadir)
    outside, nested = {}, {}
    for option in (*OUTSIDE_DIRECTORIES, *NESTED_DIRECTORIES, *NESTED_FILES):
        value = options.get(option)
        path = os.path.realpath(os.path.join(instance.datadir, value)) if value else real
        if option in NESTED_FILES:
            path = os.path.dirname(path) if value else real
        if path.startswith(real + os.sep):
            nested[option] = os.path.relpath(path, real)
        elif path != real and option in OUTSIDE_DIRECTORIES:
            outside[option] = path
    names, autoextend = parse_data_file_path(options.get("innodb_data_file_path") or "ibdata1:12M:autoextend")
    log_bin = options.get("log_bin")
    binlog = None
    if log_bin and log_bin not in ("0", "FALSE", "OFF"):
        base = options.get("log_bin_basename") or (log_bin if log_bin not in ("1", "TRUE", "ON") else "mysql-bin")
        binlog = os.path.join(instance.datadir, base)
    links, external, strays = _scan(real) if os.path.isdir(real) else ([], [], [])
    return Layout(
        datadir=instance.datadir,
        real_datadir=real,
        mount_point=real in mount_points(),
        outside=outside,
        external=external,
        nested=nested,
        mounts_inside=sorted(point for point in mount_points() if point.startswith(real + os.sep)),
        symbolic_links=links,
        strays=strays,
        binlog=binlog,
        binlog_inside=bool(binlog) and f"{os.path.realpath(os.path.dirname(binlog))}/".startswith(f"{real}/"),
        system_files=names,
        autoextend=autoextend,
    )


def _scan(datadir: str) -> tuple[list[str], list[str], list[str]]:
    """Symbolic links, files that .isl files point to, and strays of a data directory."""
    links, external, strays = [], [], []
    for entry in sorted(os.scandir(datadir), key=lambda item: item.name):
        if entry.is_symlink():
            links.append(entry.path)
        elif entry.is_dir():
            if entry.name.startswith(MARK) or entry.name == LOST_AND_FOUND:
                continue
            if entry.name.startswith("#"):
                continue
            if entry.name.startswith(".") or not os.access(entry.path, os.R_OK):
                strays.append(entry.path)
                continue
            for item in sorted(os.scandir(entry.path), key=lambda item: item.name):
                if item.is_symlink():
                    links.append(item.path)
                elif item.name.endswith(".isl"):
                    external.append(_read_link_file(item.path))
                elif item.is_dir():
                    strays.append(item.path)
        elif not any(fnmatch.fnmatch(entry.name, pattern) for pattern in SERVER_FILE_PATTERNS):
            strays.append(entry.path)
    return links, external, strays


def _read_link_file(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return os.path.realpath(os.path.join(os.path.dirname(path), file.read().strip()))


def plan_paths(layout: Layout, label: str) -> Paths:
    """The names a migration uses. label tells the retained directory from others: old page size and time."""
    real = layout.real_datadir
    build = os.path.join(real, BUILD_INSIDE) if layout.mount_point else f"{real}{BUILD_INSIDE}"
    outside = []
    for option, directory in layout.outside.items():
        patterns = list(OUTSIDE_DIRECTORIES[option])
        if option == "innodb_data_home_dir":
            patterns += list(layout.system_files)
        outside.append(
            OutsideDirectory(
                option,
                directory,
                tuple(patterns),
                os.path.join(directory, BUILD_INSIDE),
                retained="",
            )
        )
    external = tuple((path, "") for path in layout.external)
    paths = Paths(real, build, "", layout.mount_point, tuple(outside), external, tuple(sorted(layout.nested.items())))
    return aside_paths(paths, label)


def aside_paths(paths: Paths, label: str) -> Paths:
    """The same with other names for what is set aside: the old files, or those of a migration that is rolled back after it was opened."""
    retained = os.path.join(paths.datadir, RETAINED_INSIDE, label) if paths.inside else f"{paths.datadir}{MARK}-{label}"
    outside = tuple(replace(entry, retained=os.path.join(entry.directory, RETAINED_INSIDE, label)) for entry in paths.outside)
    external = tuple((source, f"{source}{MARK}-{label}") for source, _kept in paths.external)
    return replace(paths, retained=retained, outside=outside, external=external)


def matching(directory: str, patterns: Iterable[str]) -> list[str]:
    """Names in a directory that match one of the patterns."""
    return sorted(name for name in os.listdir(directory) if any(fnmatch.fnmatch(name, pattern) for pattern in patterns))


def kept_names(entry: OutsideDirectory) -> list[str]:
    """Names of what was set aside from a directory outside the data directory; where nothing was, its place was not made either."""
    return matching(entry.retained, entry.patterns) if os.path.isdir(entry.retained) else []


def file_flags(path: str) -> int:
    """Attribute flags (chattr) of a file or directory; 0 where the file system has none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        buffer = bytearray(8)
        fcntl.ioctl(descriptor, FS_IOC_GETFLAGS, buffer)
        return struct.unpack_from("i", buffer)[0]
    except OSError:
        return 0
    finally:
        os.close(descriptor)


def in_image_layer(path: str) -> bool:
    """Whether a directory lies in a lower layer of an overlay, as in the image of a container: such a one can't be renamed.

    An overlay gives a directory that has a part in a lower layer a link count of one; others have at least two.
    """
    mount = mount_of(os.path.realpath(path), read_mounts(), mount_identity(path))
    return mount is not None and mount.file_system == "overlay" and os.stat(path).st_nlink == 1


def unwritable(path: str) -> str | None:
    """Why the entries of a directory can't be renamed, None when they can."""
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        return "its file system is mounted read-only"
    if file_flags(path) & IMMUTABLE_OR_APPEND:
        return "it has the immutable or append-only attribute (lsattr)"
    return None

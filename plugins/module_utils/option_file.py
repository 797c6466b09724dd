# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The options of an instance: what the server takes, where each is set, and the one drop-in of ours."""

from __future__ import annotations

import glob
import json
import os
import pwd
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple

from .errors import InnodbError
from .processes import Run

DROP_IN_PREFIX = "zz-pagesmith"
MAX_INCLUDE_DEPTH = 10
BOOLEAN_PREFIXES = {"skip_": "0", "disable_": "0", "enable_": "1"}
NO_VALUE = "(No default value)"
#: Where MySQL keeps the variables that SET PERSIST has set, in its data directory, and the variable that says whether they count.
PERSISTED_FILE = "mysqld-auto.cnf"
PERSISTED_LOAD = "persisted_globals_load"


class Setting(NamedTuple):
    """One line that sets an option. name has underscores and neither C(loose_) nor C(skip_); line counts from 1.

    line 0: the file has no lines, as that of persisted variables, or it is no file.
    """

    name: str
    value: str
    file: str
    line: int

    @property
    def place(self) -> str:
        """The file, with the line where it has some."""
        return f"{self.file}:{self.line}" if self.line else self.file


def normalise(name: str, value: str | None) -> tuple[str, str]:
    """An option as the server reads it: C(loose-skip-log-bin) becomes log_bin, 0."""
    name = name.strip().lstrip("-").lower().replace("-", "_")
    if name.startswith("loose_"):
        name = name[len("loose_") :]
    for prefix, meaning in BOOLEAN_PREFIXES.items():
        # skip_networking and its like are names of their own; they set a variable of the same name to 1.
        if name.startswith(prefix) and value is None and name not in SKIP_VARIABLES:
            return name[len(prefix) :], meaning
    return name, "1" if value is None else value


SKIP_VARIABLES = (
    "skip_networking",
    "skip_name_resolve",
    "skip_external_locking",
    "skip_show_database",
    "skip_grant_tables",
)


def _unquote(value: str) -> str:
    """A value as written in an option file, without inline comment and quotes."""
    value = value.strip()
    if value[:1] in ("'", '"'):
        end = value.find(value[0], 1)
        if end > 0:
            return value[1:end]
    return value.split("#", 1)[0].rstrip()


def parse_text(text: str, file: str, groups: Sequence[str], include: Callable[[str, str], list[Setting]]) -> list[Setting]:
    """Settings of one option file, in order. include is called with ('file'|'directory', path) for each include."""
    settings = []
    group = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        directive = re.match(r"!include(dir)?\s+(.+)", line)
        if directive:
            settings += include("directory" if directive.group(1) else "file", directive.group(2).strip())
        elif line.startswith("["):
            group = line[1 : line.find("]")].strip()
        elif group in groups:
            name, equals, value = line.partition("=")
            name, value = normalise(_unquote(name), _unquote(value) if equals else None)
            settings.append(Setting(name, value, file, number))
    return settings


def read_option_file(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError as error:
        raise InnodbError(
            f"the option file {path} can't be read: {error.strerror}",
            remedy="Correct its path or its permissions and run again",
        ) from error


class Reader:
    """Reads option files and what they include, and remembers which files and directories there were.

    overlay: contents by path that stand in for, or beside, the files on disk.
    """

    def __init__(self, groups: Sequence[str], overlay: dict[str, str] | None = None) -> None:
        self.groups = groups
        self.overlay = overlay or {}
        self.files: list[str] = []
        self.directories: list[str] = []

    def read(self, path: str, depth: int = 0) -> list[Setting]:
        """Settings of the file at path and of all it includes; InnodbError when it is there but can't be read."""
        if depth > MAX_INCLUDE_DEPTH:
            raise InnodbError(f"the option file {path} is included more than {MAX_INCLUDE_DEPTH} levels deep")
        text = self.overlay.get(path)
        if text is None:
            text = read_option_file(path)
        self.files.append(path)

        def include(kind: str, target: str) -> list[Setting]:
            if kind == "file":
                return self.read(target, depth + 1)
            self.directories.append(target)
            names = set(glob.glob(os.path.join(glob.escape(target), "*.cnf")))
            names.update(path for path in self.overlay if os.path.dirname(path) == os.path.normpath(target))
            return [setting for name in sorted(names) for setting in self.read(name, depth + 1)]

        return parse_text(text, path, self.groups, include)


@dataclass(frozen=True)
class Options:
    """The options of one instance.

    values: what the server itself says it would use, by variable name (underscores), unset ones as None.
    settings: every line that sets an option of this server, in the order the server reads them.
    files, directories: what was read, in order. roots: the files that include the others. groups: the groups that count.
    arguments: options of the command line, which win over all files. persisted: variables that MySQL keeps in its data directory, the
    last of settings, which win over the command line as well.
    """

    values: dict[str, str | None]
    settings: list[Setting] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    arguments: dict[str, str] = field(default_factory=dict)
    persisted: list[Setting] = field(default_factory=list)

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def where(self, name: str) -> list[Setting]:
        """The lines that set an option, the one that counts last."""
        return [setting for setting in self.settings if setting.name == name]

    def reread(self, overlay: dict[str, str]) -> list[Setting]:
        """The settings as they would be with these contents in place of, or beside, the files on disk."""
        reader = Reader(self.groups, overlay)
        return [setting for root in self.roots for setting in reader.read(root)] + self.persisted


def parse_help(text: str) -> tuple[list[str], list[str], dict[str, str | None]]:
    """Option files, groups and values from the output of C(mariadbd --verbose --help)."""
    files = re.search(r"^Default options are read from the following files in the given order:\n(.*)$", text, re.MULTILINE)
    groups = re.search(r"^The following groups are read: (.*)$", text, re.MULTILINE)
    table = re.search(r"^-{10,} -{10,}\n(.*?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    if not files or not groups or not table:
        raise InnodbError("the server program did not list its options")
    values: dict[str, str | None] = {}
    for line in table.group(1).splitlines():
        name, _blanks, value = line.partition(" ")
        value = value.strip()
        values[name.replace("-", "_")] = None if value == NO_VALUE else value
    return files.group(1).split(), groups.group(1).split(), values


def default_arguments(defaults_file: str | None, group_suffix: str | None) -> list[str]:
    """The arguments that must come first on the command line of a server."""
    arguments = []
    if defaults_file:
        arguments.append(f"--defaults-file={defaults_file}")
    if group_suffix:
        arguments.append(f"--defaults-group-suffix={group_suffix}")
    return arguments


def read_options(run: Run, program: str, defaults_file: str | None, group_suffix: str | None, arguments: Sequence[str]) -> Options:
    """The options of the instance that C(program) would be with these arguments; the server program is asked itself.

    A server that lists its options makes and removes a file in its data directory, and so changes it; it is handed an empty one.
    """
    if defaults_file and not os.path.isfile(defaults_file):
        raise InnodbError(f"the option file {defaults_file} does not exist", remedy="Correct innodb_instance.defaults_file")
    command = [program, *default_arguments(defaults_file, group_suffix), *arguments]
    with tempfile.TemporaryDirectory(prefix="pagesmith-options-") as scratch:
        code, out, err = run([*command, f"--datadir={scratch}", "--verbose", "--help"])
    if code != 0:
        last = (err.strip() or out.strip() or "no message").splitlines()[-1]
        raise InnodbError(
            f"{program} does not accept its own option files: {last}",
            remedy=f"Run '{' '.join(command)} --help' and correct what it names",
        )
    files, groups, values = parse_help(out)
    if group_suffix:
        groups = groups + [group + group_suffix for group in groups if not group.endswith(group_suffix)]
    reader = Reader(groups)
    paths = [defaults_file] if defaults_file else [os.path.expanduser(path) for path in files]
    roots = [path for path in paths if os.path.exists(path)]
    settings = [setting for path in roots for setting in reader.read(path)]
    given = dict(normalise(*_split_argument(argument)) for argument in arguments)
    places = [setting.value for setting in settings if setting.name == "datadir"] + [given[name] for name in given if name == "datadir"]
    datadir = places[-1] if places else default_datadir(run, program)
    persisted = read_persisted(datadir) if values.get(PERSISTED_LOAD) == "TRUE" else []
    values = {name: _moved(value, scratch, datadir.rstrip("/")) for name, value in values.items()}
    values.update({setting.name: setting.value for setting in persisted})
    return Options(values, settings + persisted, reader.files, reader.directories, roots, groups, given, persisted)


def read_persisted(datadir: str) -> list[Setting]:
    """The variables that MySQL keeps in this data directory; InnodbError when they can't be understood."""
    path = os.path.join(datadir, PERSISTED_FILE)
    if not os.path.exists(path):
        return []
    try:
        found = json.loads(read_option_file(path))
        return [Setting(name, value, path, 0) for name, value in _persisted_in(found)]
    except (ValueError, AttributeError) as error:
        raise InnodbError(
            f"the persisted variables in {path} can't be read, and the server does not start with such a file",
            remedy="Put it back as it was, or move it away to lose what SET PERSIST has set",
        ) from error


def _persisted_in(groups: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values, in whatever groups the version of the file has them."""
    for name, item in groups.items():
        if isinstance(item, dict) and "Value" in item:
            yield name, str(item["Value"])
        elif isinstance(item, dict):
            yield from _persisted_in(item)


def _moved(value: str | None, scratch: str, datadir: str) -> str | None:
    """A value as it is in the real data directory: some are paths below it."""
    return datadir + value[len(scratch) :] if value == scratch or (value or "").startswith(f"{scratch}/") else value


def default_datadir(run: Run, program: str) -> str:
    """The data directory of a server whose option files name none. It is asked as somebody who may not write there."""
    nobody = ["setpriv", "--reuid=nobody", f"--regid={pwd.getpwnam('nobody').pw_gid}", "--clear-groups"] if os.geteuid() == 0 else []
    code, out, err = run([*nobody, program, "--no-defaults", "--verbose", "--help"])
    datadir = parse_help(out)[2].get("datadir") if code == 0 else None
    if not datadir:
        raise InnodbError(
            f"{program} does not tell its default data directory: {(err.strip() or 'no message').splitlines()[-1]}",
            remedy="Set datadir in the server's option file",
        )
    return datadir


def _split_argument(argument: str) -> tuple[str, str | None]:
    name, equals, value = argument.partition("=")
    return name, value if equals else None


def drop_in_path(options: Options, group_suffix: str | None) -> str | None:
    """Where our drop-in belongs so that the server reads it last: the last included directory; None when there is none."""
    return drop_in_name(options.directories[-1], group_suffix) if options.directories else None


def drop_in_name(directory: str, group_suffix: str | None) -> str:
    """The path of our drop-in in a directory: a name that sorts after what packages and people call theirs."""
    suffix = re.sub(r"[^A-Za-z0-9_-]", "-", group_suffix or "")
    return os.path.join(directory, f"{DROP_IN_PREFIX}{suffix}.cnf")


def include_directive(options: Options, defaults_file: str | None) -> tuple[str, str] | None:
    """The option file that may include a directory for our drop-in, and the directory; None when the server has no option file.

    That is the file the instance is started with, else the last one that is not a user's own.
    """
    home = os.path.expanduser("~/")
    files = [defaults_file] if defaults_file else [root for root in options.roots if not root.startswith(home)]
    return (files[-1], f"{files[-1]}.d") if files else None


def overridden(options: Options, drop_in: str, content: str, others: Mapping[str, str] | None = None) -> list[tuple[Setting, Setting]]:
    """Options of our drop-in that another line, the command line or a persisted variable sets later: pairs of (ours, the one that wins).

    others: contents by path of further files as they will be.
    """
    settings = options.reread({**(others or {}), drop_in: content})
    last = {setting.name: setting for setting in settings}
    last.update({name: Setting(name, value, "the command line of the server", 0) for name, value in options.arguments.items()})
    last.update({setting.name: setting for setting in options.persisted})
    ours = [setting for setting in settings if setting.file == drop_in]
    return [(own, last[own.name]) for own in ours if last[own.name].file != drop_in and last[own.name].value != own.value]

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Our option file: tried by the real server before it is used, written, and its values read back from the running server."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from . import data_directory, page_size, rehearsal
from .block_device import memory_bytes
from .durable import private_directory, remove_file, write_file
from .errors import InnodbError, told_to_end
from .instance import Instance
from .layout import Paths
from .option_choices import least_pool_bytes
from .option_file import Options, Setting, drop_in_path, normalise, parse_help, parse_text, read_option_file
from .option_rows import LISTS
from .option_values import MIB, canonical, parse_bytes
from .private_server import PrivateServer, private_options
from .processes import Run
from .session import Login, Session

FILE_MODE = 0o644
COPIES = "options"
TRIAL_LOG = "trial.err"
POOL = "innodb_buffer_pool_size"
PAGE_SIZE = "innodb_page_size"

#: Sizes that a server rounds: the step in bytes is the product of these variables, at least LEAST_STEP_BYTES.
ROUNDED = {POOL: ("innodb_buffer_pool_chunk_size", "innodb_buffer_pool_instances")}
LEAST_STEP_BYTES = MIB

COMPLAINT = re.compile(r"\[(?:Warning|ERROR)\]|adjusted|ignored|removed|deprecated|unknown variable", re.IGNORECASE)
#: A line that finds no fault with an option that was taken: accounts by host name under skip_name_resolve, and MySQL's word that the
#: page size is not the usual one, or that what is asked for goes before what innodb_dedicated_server would choose.
CONSEQUENCE = re.compile(r"in --[\w-]+ mode|has been changed from the default value|innodb_dedicated_server is ignored for")
ERROR_MARK = "[ERROR]"
INCLUDE = re.compile(r"^([ \t]*!include(?:dir)?[ \t]+)(\S.*?)[ \t]*$", re.MULTILINE)


def option_of(argument: str) -> tuple[str, str]:
    """Name and value of an option as it stands on a command line."""
    name, equals, value = argument.partition("=")
    return normalise(name, value if equals else None)


@dataclass(frozen=True)
class Mismatch:
    """An option that the running server has with another value than the file asks for. rounded: by no more than the server's step."""

    option: str
    asked: str
    actual: str
    rounded: bool = False

    def __str__(self) -> str:
        adjusted = parse_bytes(self.asked) is not None and parse_bytes(self.actual) is not None
        return f"{self.option}={self.asked} {'was adjusted to' if adjusted else 'is in truth'} {self.actual or 'empty'}"


def asked_for(content: str, groups: Sequence[str]) -> list[Setting]:
    """The options that a drop-in sets in these groups: the last line of each, all lines of lists."""

    def refuse(_kind: str, path: str) -> list[Setting]:
        raise InnodbError(f"the option file includes {path}, but it must stand alone")

    settings = parse_text(content, "", groups, refuse)
    last = {setting.name: setting.line for setting in settings}
    return [setting for setting in settings if setting.name in LISTS or last[setting.name] == setting.line]


def equal(asked: str, actual: str) -> bool:
    """Whether a server that shows the value actual took what was asked for."""
    if canonical(asked) == canonical(actual):
        return True
    if "," in asked or "," in actual:
        # Lists are shown in another order, and with what belongs to them by itself.
        wanted, shown = (({canonical(part) for part in text.split(",")} - {""}) for text in (asked, actual))
        return bool(wanted) and wanted <= shown
    # A switch that takes a file name, such as log_bin, shows only that it is on.
    return actual.upper() == "ON" and canonical(asked) != "0" and parse_bytes(asked) is None


def compare(settings: Iterable[Setting], variables: Mapping[str, str | None]) -> list[Mismatch]:
    """The options whose variable has another value. One without a variable of its name can't be compared: the server's log can."""
    found = []
    for setting in settings:
        if setting.name not in variables:
            continue
        actual = variables[setting.name] or ""
        if not equal(setting.value, actual):
            found.append(Mismatch(setting.name, setting.value, actual, _rounded(setting, actual, variables)))
    return found


def _rounded(setting: Setting, actual: str, variables: Mapping[str, str | None]) -> bool:
    asked, taken = parse_bytes(setting.value), parse_bytes(actual)
    if setting.name not in ROUNDED or asked is None or taken is None:
        return False
    step = 1
    for name in ROUNDED[setting.name]:
        step *= int(variables.get(name) or 1)
    return abs(taken - asked) < max(step, LEAST_STEP_BYTES)


def read_back(session: Session, content: str, groups: Sequence[str]) -> list[Mismatch]:
    """Compare every option of a drop-in with the running server. groups: those that the server reads (Options.groups)."""
    settings = asked_for(content, groups)
    return compare(settings, _variables(session, settings))


def _variables(session: Session, settings: Iterable[Setting]) -> dict[str, str | None]:
    steps = [name for names in ROUNDED.values() for name in names]
    return session.variables(*(setting.name for setting in settings), *steps)


def complaints(log: str, names: Collection[str]) -> list[str]:
    """Lines of a server's log that find fault with one of these options, without time and thread; each once."""
    found: dict[str, None] = {}
    for line in log.splitlines():
        text = re.sub(r"(?<=\w)-(?=\w)", "_", line.lower())
        named = any(re.search(rf"(?<![a-z0-9_])(?:loose_)?{re.escape(name)}(?![a-z0-9_])", text) for name in names)
        if named and COMPLAINT.search(line) and not CONSEQUENCE.search(line):
            found[re.sub(r"^.*?\[(?:Warning|ERROR|Note|System)\]\s*(?:\[[^\]]*\]\s*)*", "", line).strip()] = None
    return list(found)


def problems_beforehand(instance: Instance, settings: Sequence[Setting], size: int) -> list[str]:
    """What is wrong with a drop-in for a data directory of this page size, without asking the server."""
    problems = []
    if not settings:
        problems.append(f"it sets nothing in a group that this server reads ({', '.join(instance.options.groups)})")
    if size not in instance.engine.trait("page_sizes"):
        problems.append(f"{instance.engine.title} can't have {page_size.label(size)} pages")
    for setting in settings:
        if setting.name == PAGE_SIZE and page_size.parse(setting.value) != size:
            problems.append(f"it asks for {PAGE_SIZE}={setting.value}, but the data directory is to have {page_size.label(size)} pages")
        pool = parse_bytes(setting.value) if setting.name == POOL else None
        if pool is not None and pool > memory_bytes():
            problems.append(f"{POOL}={setting.value} is more than the memory of this host ({memory_bytes() // MIB} MiB)")
    return problems


def candidate_problems(run: Run, instance: Instance, paths: Paths, content: str, directory: str, size: int) -> list[str]:
    """What the real server program finds wrong with a drop-in of this content, empty when nothing.

    A server is started privately, with the instance's other option files and little memory, on an empty data directory with pages of
    size bytes. directory is made for it, and removed; it needs about 150 MiB and a few seconds. The instance itself is not touched.
    """
    settings = asked_for(content, instance.options.groups)
    problems = problems_beforehand(instance, settings, size)
    if problems:
        return problems
    drop_in = drop_in_path(instance.options, instance.group_suffix)
    with _scratch(instance, paths, directory) as scratch:
        defaults_file = mirror(instance.options, drop_in, content, os.path.join(directory, COPIES))
        trial = replace(instance, defaults_file=defaults_file)
        # Listing its options, a server makes and removes a file in its data directory.
        code, out, err = run([*trial.command, f"--datadir={directory}", "--verbose", "--help"])
        problems = complaints(err, {setting.name for setting in settings})
        if code != 0 or (problems and ERROR_MARK in err):
            errors = [line.partition(ERROR_MARK)[2].strip() for line in err.splitlines() if ERROR_MARK in line]
            return problems or [f"the server does not accept it: {'; '.join(errors) or f'exit status {code}'}"]
        limits = _limits(instance, size, parse_help(out)[2])
        data_directory.build(run, instance, scratch, size, _memory_limits(instance, size))
        return problems + _trial(trial, scratch, directory, settings, limits)


def _trial(trial: Instance, scratch: Paths, directory: str, settings: list[Setting], limits: list[str]) -> list[str]:
    """Start the server and look at its log and its values."""
    options = [*private_options(trial), *limits, *scratch.build_options()]
    server = PrivateServer(
        trial, scratch.build, os.path.join(directory, "run"), options, Login(user="root"), title="a server with the option file"
    )
    fixed = {option_of(argument)[0] for argument in server.command()[1:]}
    tried = [setting for setting in settings if setting.name not in fixed]
    # Where it outlives the server, whose own account of a failed start is short.
    server.error_log = os.path.join(directory, TRIAL_LOG)
    mismatches: list[Mismatch] = []
    failure = None
    try:
        with server, server.session() as session:
            mismatches = compare(tried, _variables(session, tried))
    except InnodbError as error:
        if told_to_end(error):
            raise
        failure = error.failed
    with open(server.error_log, encoding="utf-8", errors="replace") as file:
        problems = complaints(file.read(), {setting.name for setting in tried})
    problems += [str(mismatch) for mismatch in mismatches if not mismatch.rounded]
    return [failure] if failure and not problems else problems


def _memory_limits(instance: Instance, size: int) -> list[str]:
    """Options that keep a server small beside the live one."""
    return [f"--innodb-buffer-pool-size={2 * least_pool_bytes(instance.engine, size)}", *instance.engine.trait("scratch_options")]


def _limits(instance: Instance, size: int, values: Mapping[str, str | None]) -> list[str]:
    """The limits that do limit: what the server would take less of by itself is tried as it is. values: as the server lists them."""
    limits = []
    for option in _memory_limits(instance, size):
        name, limit = option_of(option)
        value = parse_bytes(values.get(name) or "")
        if value is None or value > parse_bytes(limit):
            limits.append(option)
    return limits


@contextmanager
def _scratch(instance: Instance, paths: Paths, directory: str) -> Iterator[Paths]:
    """The paths of an empty data directory and of copies of option files; what an earlier attempt left goes first, all at the end."""
    scratch, copies = rehearsal.scratch_paths(paths, directory), os.path.join(directory, COPIES)

    def clear() -> None:
        data_directory.remove_build(scratch)
        if os.path.isdir(copies):
            shutil.rmtree(copies)
        remove_file(os.path.join(directory, TRIAL_LOG))

    if os.path.isdir(directory):
        clear()
    private_directory(directory, *instance.owner())
    try:
        yield scratch
    finally:
        clear()
        os.rmdir(directory)


def mirror(options: Options, drop_in: str | None, content: str, target: str) -> str:
    """Copy all option files to target, with the drop-in as it is to be, and return the file that includes them.

    The copies are as readable as the originals, and include one another. Without a place for the drop-in it is read last.
    """
    contents = {os.path.abspath(path): read_option_file(path) for path in options.files}
    place = os.path.abspath(drop_in or "/candidate.cnf")
    contents[place] = content

    def there(path: str) -> str:
        return target + os.path.abspath(path)

    os.mkdir(target, 0o755)
    for directory in options.directories:
        os.makedirs(there(directory), 0o755, exist_ok=True)
    for path, text in contents.items():
        copy = there(path)
        os.makedirs(os.path.dirname(copy), 0o755, exist_ok=True)
        write_file(copy, INCLUDE.sub(lambda match: match.group(1) + there(match.group(2)), text), FILE_MODE)
        if os.path.exists(path) and path != place:
            data_directory.copy_attributes(path, copy)
    roots = [*options.roots, *([] if drop_in else [place])]
    first = os.path.join(target, "trial.cnf")
    write_file(first, "".join(f"!include {there(root)}\n" for root in roots), FILE_MODE)
    return first

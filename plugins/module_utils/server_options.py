# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which options a server is given beside its page size, with what value and why: a table of options, and a pure choice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Callable, NamedTuple

from .engines import ANY, BOTH_MYSQL, FOREVER, MARIADB, MYSQL, PERCONA, Engine, Version
from .errors import InnodbError
from .layout import BUILD_INSIDE, LOST_AND_FOUND, RETAINED_INSIDE
from .option_file import normalise
from .page_size import label

KIB = 1 << 10
MIB = 1 << 20
SIZE_UNITS = {"": 1, "K": KIB, "M": MIB, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50, "E": 1 << 60}
#: The buffer pool is counted in pieces of this size by servers that have innodb_buffer_pool_chunk_size.
POOL_STEP_BYTES = 128 * MIB
LARGEST_MEMORY_SHARE = 0.9
DEFAULT_MEMORY_SHARE = 0.5

FLASH = "flash"
ROTATING = "rotating"
AUTO = "auto"

#: innodb_io_capacity and its maximum by kind of storage, in operations per second. A rule of thumb of hosting guides for flash,
#: not a measurement; for disks the defaults of servers before MySQL 8.4.
IO_CAPACITY = {FLASH: (2000, 4000), ROTATING: (200, 2000)}
#: Below this no server puts the maximum by itself.
LEAST_IO_CAPACITY_MAX = 2000

#: Series of servers that were really started with the rows below that are marked as verified.
SERVERS_RUN: dict[str, tuple[Version, ...]] = {
    MARIADB: ((10, 5), (10, 11), (11, 8)),
    MYSQL: ((5, 6), (9, 7)),
    PERCONA: (),
}

#: What is to be done about an option that exists: write it, or nothing, since its default is right already.
WRITTEN = "written"
DEFAULT_IS_RIGHT = "default is right"


class Row(NamedTuple):
    """From version since up to, but without, version until an engine has the option. verified: run on SERVERS_RUN in that range."""

    name: str
    engines: tuple[str, ...]
    since: Version
    until: Version
    verified: bool
    use: str = WRITTEN


ROWS = (
    Row("innodb_page_size", (MARIADB,), (10, 1), FOREVER, True),
    Row("innodb_page_size", BOTH_MYSQL, (5, 6), FOREVER, True),
    Row("innodb_buffer_pool_size", (MARIADB, *BOTH_MYSQL), ANY, FOREVER, True),
    # From 11.0 on innodb_data_file_buffering and innodb_log_file_buffering take its place; both are off, which is O_DIRECT.
    Row("innodb_flush_method", (MARIADB,), ANY, (11, 0), True),
    Row("innodb_flush_method", (MARIADB,), (11, 0), FOREVER, False, DEFAULT_IS_RIGHT),
    Row("innodb_flush_method", BOTH_MYSQL, ANY, FOREVER, True),
    Row("innodb_flush_neighbors", (MARIADB, *BOTH_MYSQL), ANY, FOREVER, True),
    Row("innodb_io_capacity", (MARIADB, *BOTH_MYSQL), ANY, FOREVER, True),
    Row("innodb_io_capacity_max", (MARIADB, *BOTH_MYSQL), ANY, FOREVER, True),
    Row("ignore_db_dirs", (MARIADB,), ANY, FOREVER, True),
)

#: Options of which every line adds to those before it.
LISTS = ("ignore_db_dirs", "plugin_load_add")


def find_row(name: str, engine: Engine, rows: Iterable[Row] = ROWS) -> Row | None:
    """The row of an option for this engine and version; None where the option does not exist, or is not known to."""
    for row in rows:
        if row.name == name and engine.name in row.engines and row.since <= engine.version < row.until:
            return row
    return None


def verified(name: str, engine: Engine) -> bool:
    """Whether a server of this very series was started with the option."""
    row = find_row(name, engine)
    return row is not None and row.verified and engine.version[:2] in SERVERS_RUN[engine.name]


class Choice(NamedTuple):
    """An option to write. value None: the name alone stands on the line. reason: one sentence for the reader of the file."""

    name: str
    value: str | None
    reason: str

    @property
    def line(self) -> str:
        """The line of the option file."""
        return self.name if self.value is None else f"{self.name}={quoted(self.value)}"


def quoted(value: str) -> str:
    """A value as an option file needs it: in quotes where a comment sign or blanks would be lost."""
    if "#" in value or value != value.strip() or value[:1] in ("'", '"'):
        mark = "'" if '"' in value else '"'
        return f"{mark}{value}{mark}"
    return value


def parse_bytes(text: str | int) -> int | None:
    """Bytes from C(512M), C(8k) or C(8192), as the servers read sizes; None when it is no such size."""
    match = re.fullmatch(r"(\d+)\s*([KMGTPE]?)(?:i?B)?", str(text).strip(), re.IGNORECASE)
    return int(match.group(1)) * SIZE_UNITS[match.group(2).upper()] if match else None


def format_bytes(size: int) -> str:
    """Bytes with the largest unit that divides them: 1610612736 gives C(1536M)."""
    for unit in ("T", "G", "M", "K"):
        if size and size % SIZE_UNITS[unit] == 0:
            return f"{size // SIZE_UNITS[unit]}{unit}"
    return str(size)


class Question(NamedTuple):
    """What a decision looks at. settled: options that the user or another option file sets, by name."""

    engine: Engine
    facts: Mapping[str, Any]
    wishes: Mapping[str, Any]
    settled: Mapping[str, Any]

    def wish(self, name: str) -> Any:
        value = self.wishes.get(name)
        return None if value == "" else value

    @property
    def storage(self) -> str | None:
        """Kind of the storage as far as it is certain. Virtual disks say that they rotate, so that alone decides nothing."""
        wished = self.wish("storage") or AUTO
        if wished != AUTO:
            return wished
        return FLASH if self.facts.get("rotational") is False else None


#: Value and reason; None: nothing is written.
Decision = "tuple[str, str] | None"


def _page_size(question: Question) -> Decision:
    return label(question.facts["page_size"]), "The page size of the data directory, which can't be started with another one."


def least_pool_bytes(engine: Engine, page_size: int) -> int:
    """The smallest buffer pool with which the server starts."""
    return engine.trait("minimum_pool_mib")[page_size] * MIB


def _buffer_pool_size(question: Question) -> Decision:
    page_size, memory = question.facts["page_size"], question.facts.get("memory_bytes")
    least = least_pool_bytes(question.engine, page_size)
    wished = question.wish("buffer_pool_size")
    if wished is not None:
        size = parse_bytes(wished)
        if size is None:
            raise InnodbError(f"'{wished}' is no size of a buffer pool", remedy="Write it like 12G or 512M")
        if size < least:
            raise InnodbError(f"a buffer pool of {wished} is too small: {label(page_size)} pages need {format_bytes(least)}")
        if memory and size > memory:
            raise InnodbError(f"a buffer pool of {wished} does not fit into the memory of {memory // MIB} MiB")
        return str(wished), "As asked for."
    if not memory:
        return None
    share = float(question.wish("memory_share") or DEFAULT_MEMORY_SHARE)
    if not 0 < share <= LARGEST_MEMORY_SHARE:
        raise InnodbError(f"{share:g} is no share of the memory for the buffer pool", remedy=f"Choose one up to {LARGEST_MEMORY_SHARE}")
    size = int(memory * share)
    size -= size % (POOL_STEP_BYTES if size >= POOL_STEP_BYTES else MIB)
    return format_bytes(max(size, least)), f"{share:.0%} of the memory, in steps of {format_bytes(POOL_STEP_BYTES)}."


def _flush_method(question: Question) -> Decision:
    return "O_DIRECT", "Pages are cached in the buffer pool; a second copy in the cache of the operating system costs memory."


def _flush_neighbors(question: Question) -> Decision:
    return {
        FLASH: ("0", "On flash, writing neighbouring pages along saves no seek and wears the device."),
        ROTATING: ("1", "On a disk that rotates, writing neighbouring pages along saves seeks."),
    }.get(question.storage)


def _io_capacity(question: Question) -> Decision:
    wished, most = question.wish("io_capacity"), question.wish("io_capacity_max")
    if wished is not None:
        if most is not None and int(most) < int(wished):
            raise InnodbError(f"an I/O capacity of {wished} is more than its maximum of {most}")
        return str(wished), "As asked for, in operations per second."
    if question.storage is None or "innodb_io_capacity_max" in question.settled:
        return None
    capacity = IO_CAPACITY[question.storage][0]
    capacity = capacity if most is None else min(capacity, int(most))
    return str(capacity), f"Operations per second for work in the background: a rule of thumb for {question.storage} storage."


def _io_capacity_max(question: Question) -> Decision:
    wished, base = question.wish("io_capacity_max"), question.wish("io_capacity")
    if wished is not None:
        return str(wished), "As asked for, in operations per second."
    if base is not None:
        return str(max(2 * int(base), LEAST_IO_CAPACITY_MAX)), "Twice innodb_io_capacity, for times when flushing falls behind."
    if question.storage is None or "innodb_io_capacity" in question.settled:
        return None
    return str(IO_CAPACITY[question.storage][1]), "What flushing may take when it falls behind."


class Rule(NamedTuple):
    """How an option is decided. wish: the wish that asks for it, which goes before what another option file sets."""

    name: str
    decide: Callable[[Question], Any]
    wish: str | None = None


#: In the order of the file.
RULES = (
    Rule("innodb_page_size", _page_size, "page_size"),
    Rule("innodb_buffer_pool_size", _buffer_pool_size, "buffer_pool_size"),
    Rule("innodb_flush_method", _flush_method),
    Rule("innodb_flush_neighbors", _flush_neighbors),
    Rule("innodb_io_capacity", _io_capacity, "io_capacity"),
    Rule("innodb_io_capacity_max", _io_capacity_max, "io_capacity_max"),
)


def choose(engine: Engine, facts: Mapping[str, Any], wishes: Mapping[str, Any]) -> list[Choice]:
    """The options to write, in order; InnodbError when a wish can't be met.

    facts: page_size and memory_bytes in bytes, rotational (true, false, or none when unknown), datadir_is_mount_point, and
    set_elsewhere, the options that other option files set, by name.
    wishes: buffer_pool_size, memory_share (0 to 0.9), storage (auto, flash, rotating), io_capacity, io_capacity_max, and extra,
    further options by name, which win over everything here. What is not wished for is left out, none or empty.
    """
    elsewhere = facts.get("set_elsewhere") or {}
    extra = extra_choices(wishes.get("extra") or {})
    given = {identity(choice) for choice in extra}
    question = Question(engine, facts, {"page_size": facts["page_size"], **wishes}, {**elsewhere, **dict.fromkeys(given)})
    chosen = []
    for rule in RULES:
        row = find_row(rule.name, engine)
        left = rule.name in elsewhere and question.wish(rule.wish or "") is None
        if row is None or row.use != WRITTEN or rule.name in given or left:
            continue
        decision = rule.decide(question)
        if decision:
            chosen.append(Choice(rule.name, *decision))
    return chosen + ignored_directories(engine, facts) + extra


def ignored_directories(engine: Engine, facts: Mapping[str, Any]) -> list[Choice]:
    """Directories in a data directory that is a mount point, which are no schemas though the server would take them for some."""
    option = engine.trait("ignore_directory_option")
    if not option or not facts.get("datadir_is_mount_point"):
        return []
    reasons = {
        RETAINED_INSIDE: "What a migration keeps inside this data directory, which is a mount point, is no schema.",
        BUILD_INSIDE: "Nor is what a migration builds there.",
        LOST_AND_FOUND: "Nor is the file system's own directory.",
    }
    return [Choice(option, name, reason) for name, reason in reasons.items()]


def identity(choice: Choice) -> str:
    """The name under which the server knows an option, however it is written."""
    return normalise(choice.name, choice.value)[0]


def extra_choices(extra: Mapping[str, Any]) -> list[Choice]:
    """The user's own options as lines: a list becomes one line for each element, none the name alone."""
    choices = []
    for name, value in extra.items():
        name = str(name).strip()
        if not re.fullmatch(r"[A-Za-z][\w-]*", name):
            raise InnodbError(f"'{name}' is no name of an option")
        for item in value if isinstance(value, (list, tuple)) else [value]:
            choice = Choice(name.replace("-", "_"), _text(name, item), "As asked for.")
            if identity(choice) == "innodb_page_size":
                raise InnodbError("innodb_page_size is no further option", remedy="Set nvme_config_page_size instead")
            choices.append(choice)
    return choices


def _text(name: str, value: Any) -> str | None:
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    text = None if value is None else str(value)
    if text and re.search(r"[\x00-\x1f\x7f]", text):
        raise InnodbError(f"the value of {name} holds a control character")
    return text

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The value of each option and its reason: one pure function for each, and the order in which they stand in the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, NamedTuple

from .engines import Engine
from .errors import InnodbError
from .option_question import DEDICATED, FLASH, ROTATING, Decision, Question, number, size
from .option_values import GIB, MIB, format_bytes, parse_bytes
from .page_size import label

#: The buffer pool is counted in pieces of this size by servers that have innodb_buffer_pool_chunk_size.
POOL_STEP_BYTES = 128 * MIB
LARGEST_MEMORY_SHARE = 0.9
DEFAULT_MEMORY_SHARE = 0.5
MOST_POOL_INSTANCES = 8

#: innodb_io_capacity and its maximum by kind of storage, in operations per second. A rule of thumb of hosting guides for flash,
#: not a measurement; for disks the defaults of servers before MySQL 8.4.
IO_CAPACITY = {FLASH: (2000, 4000), ROTATING: (200, 2000)}
#: Below this no server puts the maximum by itself.
LEAST_IO_CAPACITY_MAX = 2000
LEAST_IO_CAPACITY = 100

#: The log: this share of the buffer pool and at most this share of the file system, in steps; smaller ones are the servers' defaults.
LOG_POOL_SHARE = 4
LOG_STORAGE_SHARE = 20
LOG_STEP_BYTES = 64 * MIB
LEAST_LOG_BYTES = 128 * MIB
MOST_LOG_BYTES = 4 * GIB
DEFAULT_LOG_FILES = 2

#: Threads for requests to flash, where the server has threads of their own for that and its default is 4.
FLASH_IO_THREADS = 8
PURGE_THREADS = 4
#: Pages that each part of the buffer pool looks at in every second to find free ones: what a disk can write in that time.
ROTATING_LRU_SCAN_DEPTH = 256
LARGE_SECTOR_BYTES = 4096

ASKED = "As asked for."


def least_pool_bytes(engine: Engine, page_size: int) -> int:
    """The smallest buffer pool with which the server starts."""
    return engine.trait("minimum_pool_mib")[page_size] * MIB


def pool_bytes(question: Question) -> int | None:
    """The buffer pool that the server will have, whoever decides it; None when it is not known."""
    name = "innodb_buffer_pool_size"
    if name in question.given:
        return parse_bytes(question.given[name])
    return size(question, "buffer_pool_size") or parse_bytes(question.elsewhere(name) or "") or shared_pool_bytes(question)


def shared_pool_bytes(question: Question) -> int | None:
    """The share of the memory, in the steps of the server; None where that is not known, or the server chooses itself."""
    memory = question.facts.get("memory_bytes")
    if not memory or question.dedicated:
        return None
    share = float(question.wish("memory_share") or DEFAULT_MEMORY_SHARE)
    if not 0 < share <= LARGEST_MEMORY_SHARE:
        raise InnodbError(f"{share:g} is no share of the memory for the buffer pool", remedy=f"Choose one up to {LARGEST_MEMORY_SHARE}")
    pool = int(memory * share)
    pool -= pool % (POOL_STEP_BYTES if pool >= POOL_STEP_BYTES else MIB)
    return max(pool, least_pool_bytes(question.engine, question.facts["page_size"]))


def _page_size(question: Question) -> Decision:
    asked = question.facts["page_size"]
    sizes = question.engine.trait("page_sizes")
    if asked not in sizes:
        possible = ", ".join(label(each) for each in sizes)
        raise InnodbError(
            f"{question.engine.title} can't have {label(asked)} pages: it would warn, and make smaller ones",
            remedy=f"Choose one of {possible}, or a later version of the server",
        )
    return label(asked), "The page size of the data directory, which can't be started with another one."


def _buffer_pool_size(question: Question) -> Decision:
    page_size, memory = question.facts["page_size"], question.facts.get("memory_bytes")
    wished = size(question, "buffer_pool_size")
    if wished is None:
        pool = shared_pool_bytes(question)
        share = float(question.wish("memory_share") or DEFAULT_MEMORY_SHARE)
        return pool and (format_bytes(pool), f"{share:.0%} of the memory, in steps of {format_bytes(POOL_STEP_BYTES)}.")
    asked = question.wish("buffer_pool_size")
    least = least_pool_bytes(question.engine, page_size)
    if wished < least:
        raise InnodbError(f"a buffer pool of {asked} is too small: {label(page_size)} pages need {format_bytes(least)}")
    if memory and wished > memory:
        raise InnodbError(f"a buffer pool of {asked} does not fit into the memory of {memory // MIB} MiB")
    return str(asked), ASKED


def _buffer_pool_instances(question: Question) -> Decision:
    wished = number(question, "buffer_pool_instances", 1)
    if wished is not None:
        return str(wished), ASKED
    pool = pool_bytes(question)
    # Below 1G every server has one.
    if not pool or pool < GIB:
        return None
    return str(
        min(MOST_POOL_INSTANCES, pool // GIB)
    ), f"Threads wait less for one another; each part has at least 1G, {MOST_POOL_INSTANCES} are enough."


def _flush_method(question: Question) -> Decision:
    wished = question.wish("flush_method")
    if wished is not None:
        return str(wished), ASKED
    if question.dedicated:
        return None
    return "O_DIRECT", "Pages are cached in the buffer pool; a second copy in the cache of the operating system costs memory."


def _data_file_buffering(question: Question) -> Decision:
    # innodb_flush_method would decide the same once more.
    if question.wish("flush_method") is not None or question.settled("innodb_flush_method"):
        return None
    return "OFF", "Pages are cached in the buffer pool; a second copy in the cache of the operating system costs memory."


def _flush_neighbors(question: Question) -> Decision:
    return {
        FLASH: ("0", "On flash, writing neighbouring pages along saves no seek and wears the device."),
        ROTATING: ("1", "On a disk that rotates, writing neighbouring pages along saves seeks."),
    }.get(question.storage)


def _flush_neighbor_pages(question: Question) -> Decision:
    decision = _flush_neighbors(question)
    return decision and ({"0": "none", "1": "area"}[decision[0]], decision[1])


def _capacities(question: Question) -> tuple[int, int, str] | None:
    """I/O capacity, its maximum, and where they come from; None when nothing is certain."""
    measured = number(question, "measured_iops", 1)
    if measured is not None:
        return max(measured // 2, LEAST_IO_CAPACITY), max(measured, LEAST_IO_CAPACITY), f"{measured} writes per second were measured"
    if question.storage is None:
        return None
    return (*IO_CAPACITY[question.storage], f"a rule of thumb for {question.storage} storage")


def _default_is_for_flash(question: Question) -> bool:
    """Whether the server itself takes the storage for flash and nothing better is known: the rule of thumb would be a step back."""
    default = question.engine.trait("default_io_capacity")
    return question.storage == FLASH and question.wish("measured_iops") is None and default > IO_CAPACITY[FLASH][0]


def _io_capacity(question: Question) -> Decision:
    wished, most = number(question, "io_capacity", LEAST_IO_CAPACITY), number(question, "io_capacity_max", LEAST_IO_CAPACITY)
    if wished is not None:
        if most is not None and most < wished:
            raise InnodbError(f"an I/O capacity of {wished} is more than its maximum of {most}")
        return str(wished), "As asked for, in operations per second."
    found = _capacities(question)
    # The two are one decision: what somebody says of one is not contradicted by the other.
    if question.settled("innodb_io_capacity_max") or (most is None and _default_is_for_flash(question)):
        return None
    if found is None:
        below = most is not None and most < question.engine.trait("default_io_capacity")
        return (str(most), "No more than innodb_io_capacity_max.") if below else None
    return str(found[0] if most is None else min(found[0], most)), f"Operations per second for work in the background: {found[2]}."


def _io_capacity_max(question: Question) -> Decision:
    wished, base = number(question, "io_capacity_max", LEAST_IO_CAPACITY), number(question, "io_capacity", LEAST_IO_CAPACITY)
    if wished is not None:
        return str(wished), "As asked for, in operations per second."
    if base is not None:
        return str(max(2 * base, LEAST_IO_CAPACITY_MAX)), "Twice innodb_io_capacity, for times when flushing falls behind."
    found = _capacities(question)
    if found is None or question.settled("innodb_io_capacity") or _default_is_for_flash(question):
        return None
    return str(found[1]), "What flushing may take when it falls behind."


def _io_threads(wish: str) -> Callable[[Question], Any]:
    def decide(question: Question) -> Decision:
        wished = number(question, wish, 1)
        if wished is not None:
            return str(wished), ASKED
        if question.storage != FLASH:
            return None
        return str(FLASH_IO_THREADS), "Flash serves many requests at once; the server's 4 threads keep its queues short."

    return decide


def log_bytes(question: Question) -> tuple[int, str] | None:
    """Bytes of the whole log, and why; None when the server's default is right."""
    wished = size(question, "log_size")
    if wished is not None:
        return wished, ASKED
    pool, storage = pool_bytes(question), question.facts.get("total_bytes")
    if not pool:
        return None
    most = min(MOST_LOG_BYTES, storage // LOG_STORAGE_SHARE if storage else MOST_LOG_BYTES)
    found = min(pool // LOG_POOL_SHARE, most) // LOG_STEP_BYTES * LOG_STEP_BYTES
    if found < LEAST_LOG_BYTES:
        return None
    return found, "A quarter of the buffer pool, at most 4G and 5% of the file system: a page is written once for many changes."


def _redo_log_capacity(question: Question) -> Decision:
    # Both have one wish: what is asked for is written as the newer option, which wins.
    settled = "innodb_log_file_size" in question.given or (question.wish("log_size") is None and question.settled("innodb_log_file_size"))
    found = None if settled else log_bytes(question)
    return found and (format_bytes(found[0]), found[1])


def _log_file_size(question: Question) -> Decision:
    # The newer option wins, and the server warns of the older one.
    if question.has("innodb_redo_log_capacity"):
        return None
    found = log_bytes(question)
    if found is None or not question.has("innodb_log_files_in_group"):
        return found and (format_bytes(found[0]), found[1])
    files = int(question.elsewhere("innodb_log_files_in_group") or DEFAULT_LOG_FILES)
    return format_bytes(found[0] // files), f"{found[1][:-1]}; there are {files} files of this size."


def _log_write_ahead_size(question: Question) -> Decision:
    wished = size(question, "log_write_size")
    if wished is not None:
        return str(wished), ASKED
    sector = question.facts.get("physical_sector_bytes")
    if not sector or sector < LARGE_SECTOR_BYTES:
        return None
    return str(min(sector, question.facts["page_size"])), "The sector of the device: less is read before it is written."


def _doublewrite(question: Question) -> Decision:
    wished = question.wish("doublewrite")
    atomic, page_size = question.facts.get("atomic_write_unit_bytes") or 0, question.facts["page_size"]
    if str(wished).lower() not in ("off", "false"):
        promise = f" The device promises {format_bytes(atomic)} at once, but no server asks it for that." if atomic >= page_size else ""
        return "ON", f"A page that is half written when the power fails is lost without it.{promise}"
    if atomic < page_size:
        promised = f"{format_bytes(atomic)} of them" if atomic else "no part of them"
        raise InnodbError(
            f"the doublewrite buffer stays on: pages have {label(page_size)}, and the storage promises to write {promised} at once",
            remedy="Leave nvme_config_doublewrite at auto, or use storage that promises atomic writes of a whole page",
        )
    return "OFF", f"As asked for: the device promises to write {format_bytes(atomic)} at once."


def _purge_threads(question: Question) -> Decision:
    wished = number(question, "purge_threads", 1)
    if wished is not None:
        return str(wished), ASKED
    if question.storage != FLASH:
        return None
    return str(PURGE_THREADS), "Several threads remove old versions of rows; flash keeps up with them, and later servers do the same."


def _lru_scan_depth(question: Question) -> Decision:
    wished = number(question, "lru_scan_depth", 100)
    if wished is not None:
        return str(wished), ASKED
    if question.storage != ROTATING:
        return None
    return str(ROTATING_LRU_SCAN_DEPTH), "A disk can't write more pages in the second that the page cleaner has."


def _page_cleaners(question: Question) -> Decision:
    return str(number(question, "page_cleaners", 1)), ASKED


def _numa_interleave(question: Question) -> Decision:
    wished = question.wish("numa_interleave")
    if wished is not None:
        return ("OFF" if str(wished).lower() in ("off", "false") else "ON"), ASKED
    nodes = question.facts.get("numa_nodes") or 1
    return ("ON", f"The memory has {nodes} nodes, over which the buffer pool is spread.") if nodes > 1 else None


def _large_pages(question: Question) -> Decision:
    return ("ON", "As asked for; the huge pages must be set aside by the kernel.") if question.wish("large_pages") else None


def _by_the_server(_question: Question, _value: str) -> str:
    return "what the server chooses"


def _buffering_of_method(_question: Question, method: str) -> str:
    return "OFF" if method.upper() in ("O_DIRECT", "O_DIRECT_NO_FSYNC", "4", "5") else "ON"


def _capacity_of_files(question: Question, size: str) -> str:
    files = int(question.elsewhere("innodb_log_files_in_group") or DEFAULT_LOG_FILES)
    return format_bytes((parse_bytes(size) or 0) * files)


class Rule(NamedTuple):
    """How an option is decided. wish: the wish that asks for it, which goes before what another option file sets.

    rivals: options that decide the same and keep this one from being written, where another file sets them, each with what gives the
    value of this option that a value of the rival amounts to.
    """

    name: str
    decide: Callable[[Question], Any]
    wish: str | None = None
    rivals: Mapping[str, Callable[[Question, str], str]] = {}


#: In the order of the file.
RULES = (
    Rule("innodb_page_size", _page_size, "page_size"),
    Rule("innodb_buffer_pool_size", _buffer_pool_size, "buffer_pool_size", {DEDICATED: _by_the_server}),
    Rule("innodb_buffer_pool_instances", _buffer_pool_instances, "buffer_pool_instances"),
    Rule("innodb_flush_method", _flush_method, "flush_method", {DEDICATED: _by_the_server}),
    Rule("innodb_data_file_buffering", _data_file_buffering, None, {"innodb_flush_method": _buffering_of_method}),
    Rule("innodb_flush_neighbors", _flush_neighbors),
    Rule("innodb_flush_neighbor_pages", _flush_neighbor_pages),
    Rule("innodb_io_capacity", _io_capacity, "io_capacity"),
    Rule("innodb_io_capacity_max", _io_capacity_max, "io_capacity_max"),
    Rule("innodb_read_io_threads", _io_threads("read_io_threads"), "read_io_threads"),
    Rule("innodb_write_io_threads", _io_threads("write_io_threads"), "write_io_threads"),
    Rule(
        "innodb_redo_log_capacity",
        _redo_log_capacity,
        "log_size",
        {"innodb_log_file_size": _capacity_of_files, DEDICATED: _by_the_server},
    ),
    Rule("innodb_log_file_size", _log_file_size, "log_size"),
    Rule("innodb_log_write_ahead_size", _log_write_ahead_size, "log_write_size"),
    Rule("innodb_log_block_size", _log_write_ahead_size, "log_write_size"),
    Rule("innodb_doublewrite", _doublewrite, "doublewrite"),
    Rule("innodb_purge_threads", _purge_threads, "purge_threads"),
    Rule("innodb_lru_scan_depth", _lru_scan_depth, "lru_scan_depth"),
    Rule("innodb_page_cleaners", _page_cleaners, "page_cleaners"),
    Rule("innodb_numa_interleave", _numa_interleave, "numa_interleave"),
    Rule("large_pages", _large_pages, "large_pages"),
)

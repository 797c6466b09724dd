# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the rules look at besides facts as they are: figures of the server now, and of each page size it could have.

Pure, and total: whatever is missing or of another type than expected is None in the result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ansible_collections.pagesmith.innodb.plugins.module_utils.engines import MARIADB, MYSQL, PERCONA, Engine
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_values import MIB
from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES, label

from .measured import benchmark_of
from .prediction import Growth, growth, predict, read_amplification
from .reading import entries, look, number, ratio

#: Bytes of an empty data directory with its log, for what a new one needs besides the data.
EMPTY_BYTES = 2048 * MIB
#: Bytes of a dump in parts of the data.
DUMP_SHARE = 1.2

FACT_KEYS = (
    "engine",
    "version",
    "banner",
    "running",
    "name",
    "manager",
    "service",
    "page_size",
    "page_size_files",
    "page_size_server",
    "page_size_option",
    "page_sizes_supported",
    "numa_nodes",
    "datadir",
    "socket",
    "error_log",
    "group_suffix",
    "memory_bytes",
    "drop_in",
    "omitted",
    "layout",
    "storage",
    "settings",
    "schema",
    "migration",
    "server",
    "workload",
    "replication",
)
NOW_KEYS = (
    "page_size",
    "name",
    "bytes",
    "pool_bytes",
    "memory_bytes",
    "data_to_pool",
    "data_to_memory",
    "working_set_to_pool",
    "hit_ratio",
    "row_bytes",
    "rows_per_page_request",
    "page_share_used",
    "rows_per_statement",
    "write_share",
    "storage",
    "log_block_bytes",
    "compressed_tables",
    "better_sector_bytes",
)
CANDIDATE_KEYS = (
    "page_size",
    "name",
    "current",
    "smaller",
    "larger",
    "supported",
    "minimum_pool_bytes",
    "rehearsed",
    "fits",
    "problems",
    "predicted_bytes",
    "predicted_error_bytes",
    "growth",
    "needed_bytes",
    "needed_at_worst_bytes",
    "read_amplification",
    "pages_in_pool",
    "key_blocks_above",
    "key_blocks_equal",
    "keys_over",
    "rows_over",
    "tables_near",
    "benchmark",
)


def page_size_of(facts: Any) -> int | None:
    """The page size now, in bytes, when it is one that InnoDB knows."""
    size = number(look(facts, "page_size"))
    return int(size) if size in PAGE_SIZES else None


def data_bytes(facts: Any) -> float | int | None:
    """Bytes of all tables and indexes."""
    schema = look(facts, "schema")
    total = number(look(schema, "bytes"))
    parts = [number(look(schema, key)) for key in ("data_bytes", "index_bytes")]
    return total if total is not None else sum(parts) if None not in parts else None


def storage_of_datadir(facts: Any) -> Mapping[str, Any] | None:
    """What is known of the storage under the data directory."""
    storage, datadir = look(facts, "storage"), look(facts, "datadir")
    if not isinstance(storage, Mapping):
        return None
    named = [look(storage, "datadir"), look(storage, datadir) if isinstance(datadir, str) else None]
    named += [entry for entry in storage.values() if look(entry, "path") == datadir]
    return next((entry for entry in named if isinstance(entry, Mapping)), None)


def rates(facts: Any) -> Mapping[str, Any] | None:
    """Rates since the start of the server, which say more of it than some seconds do; else those of the seconds."""
    both = [look(facts, "workload", name) for name in ("since_start", "sampled")]
    return next((entry for entry in both if isinstance(entry, Mapping) and number(entry.get("pages_read")) is not None), None)


def rows_per_page_request(found: Any) -> float | None:
    """Rows read for each time that a page was asked for, from memory or from storage: below 1 for point reads, many for scans."""
    rows, hit_ratio = number(look(found, "rows_read_per_page_read")), number(look(found, "buffer_pool_hit_ratio"))
    if rows is None or hit_ratio is None or not 0 <= hit_ratio <= 1:
        return None
    return rows * (1 - hit_ratio)


def rows_per_statement(found: Any) -> float | None:
    rows, pages = number(look(found, "rows_read_per_page_read")), number(look(found, "pages_read"))
    reads, writes = number(look(found, "reads")), number(look(found, "writes"))
    if None in (rows, pages, reads, writes):
        return None
    return ratio(rows * pages, reads + writes)


def better_sectors(storage: Any) -> float | int | None:
    """Bytes of an LBA format of the device that performs better than the one in use: NVMe says 0 for best, 3 for worst."""
    formats = [entry for entry in entries(look(storage, "lba_formats")) if number(entry.get("relative_performance")) is not None]
    used = [entry["relative_performance"] for entry in formats if entry.get("in_use")]
    better = [entry for entry in formats if used and entry["relative_performance"] < used[0]]
    return number(min(better, key=lambda entry: entry["relative_performance"]).get("bytes")) if better else None


def compressed_tables(facts: Any) -> float | int | None:
    """Tables of ROW_FORMAT=COMPRESSED."""
    formats = look(facts, "schema", "by_row_format")
    if not isinstance(formats, Mapping):
        return None
    counts = [number(look(entry, "tables")) or 0 for name, entry in formats.items() if str(name).lower() == "compressed"]
    return sum(counts)


def describe_now(facts: Any) -> dict[str, Any]:
    """The values of NOW_KEYS."""
    size, total, found = page_size_of(facts), data_bytes(facts), rates(facts)
    variables = look(facts, "server", "variables")
    pool = number(look(facts, "workload", "buffer_pool", "size_bytes")) or number(look(variables, "innodb_buffer_pool_size"))
    memory, storage = number(look(facts, "memory_bytes")), storage_of_datadir(facts)
    reads, writes = number(look(found, "reads")), number(look(found, "writes"))
    row_bytes, rows = ratio(look(facts, "schema", "data_bytes"), look(facts, "schema", "rows")), rows_per_page_request(found)
    return {
        "page_size": size,
        "name": label(size) if size else None,
        "bytes": total,
        "pool_bytes": pool,
        "memory_bytes": memory,
        "data_to_pool": ratio(total, pool),
        "data_to_memory": ratio(total, memory),
        "working_set_to_pool": ratio(look(facts, "workload", "working_set_bytes"), pool),
        "hit_ratio": number(look(found, "buffer_pool_hit_ratio")),
        "row_bytes": row_bytes,
        "rows_per_page_request": rows,
        "page_share_used": ratio(rows * row_bytes, size) if None not in (rows, row_bytes) else None,
        "rows_per_statement": rows_per_statement(found),
        "write_share": ratio(writes, reads + writes) if None not in (reads, writes) else None,
        "storage": storage,
        "log_block_bytes": number(look(variables, "innodb_log_block_size")) or number(look(variables, "innodb_log_write_ahead_size")),
        "compressed_tables": compressed_tables(facts),
        "better_sector_bytes": better_sectors(storage),
    }


def trait(facts: Any, name: str) -> Any:
    """What the table of engines says, None when it does not know this engine or version."""
    engine, version = look(facts, "engine"), re.match(r"\d{1,4}(\.\d{1,4})*", str(look(facts, "version")), re.ASCII)
    if engine not in (MARIADB, MYSQL, PERCONA) or not version:
        return None
    try:
        return Engine(engine, tuple(int(part) for part in version[0].split(".")), "").trait(name)
    except InnodbError:
        return None


def supported_sizes(facts: Any) -> list[Any] | None:
    given = look(facts, "page_sizes_supported")
    known = given if isinstance(given, (list, tuple)) else trait(facts, "page_sizes")
    return None if known is None else [number(size) for size in known]


def key_blocks(facts: Any, size: int, above: bool) -> float | int | None:
    """How many tables have a KEY_BLOCK_SIZE above the page size, or just as large."""
    sizes = look(facts, "schema", "compressed", "key_block_sizes")
    if not isinstance(sizes, Mapping):
        return None
    pairs = [(number(block), number(count) or 0) for block, count in sizes.items()]
    return sum(count for block, count in pairs if block is not None and (block > size if above else block == size))


def near_limits(facts: Any, size: int) -> dict[str, list[str] | None]:
    """Names of the tables whose declared widths are over a limit of the page size (by kind), and of those that come near one."""
    given = look(facts, "schema", "near_limits")
    found: dict[str, list[str] | None] = {"keys_over": None, "rows_over": None, "tables_near": None}
    if not isinstance(given, (list, tuple)):
        return found
    names: dict[str, set[str]] = {key: set() for key in found}
    for entry in entries(given):
        share = ratio(entry.get("declared_bytes"), entry.get("limit_bytes"))
        if number(entry.get("page_size")) == size and share is not None:
            over = {"key": "keys_over", "row": "rows_over"}.get(str(entry.get("kind"))) if share > 1 else None
            names[over or "tables_near"].add(str(entry.get("table")))
    return {key: sorted(value) for key, value in names.items()}


def describe_candidate(size: int, facts: Any, rehearsal: Any, benchmark: Any, now: Mapping[str, Any], space: Mapping) -> dict[str, Any]:
    """The values of CANDIDATE_KEYS."""
    current = now["page_size"]
    tried = look(rehearsal, "page_sizes", str(size))
    sizes, minimum = supported_sizes(facts), look(trait(facts, "minimum_pool_mib"))
    found = predict(size, current, now["bytes"], tried, space_of(facts, size, current, space))
    predicted, error = found.bytes, found.error_bytes
    pool = now["pool_bytes"]
    return {
        "page_size": size,
        "name": label(size),
        "current": size == current,
        "smaller": None if current is None else size < current,
        "larger": None if current is None else size > current,
        "supported": None if sizes is None else size in sizes,
        "minimum_pool_bytes": minimum[size] * MIB if isinstance(minimum, dict) and size in minimum else None,
        "rehearsed": isinstance(tried, Mapping),
        "fits": look(tried, "fits"),
        "problems": look(tried, "problems"),
        "predicted_bytes": predicted,
        "predicted_error_bytes": error,
        "growth": growth_of(rehearsal, size, current, ratio(predicted, now["bytes"])),
        "needed_bytes": needed(predicted, 0, now["bytes"]),
        "needed_at_worst_bytes": needed(predicted, error, now["bytes"]),
        "read_amplification": read_amplification(size, current, now["rows_per_page_request"], now["row_bytes"]),
        "pages_in_pool": int(pool // size) if pool is not None and pool >= 0 else None,
        "key_blocks_above": key_blocks(facts, size, above=True),
        "key_blocks_equal": key_blocks(facts, size, above=False),
        **near_limits(facts, size),
        "benchmark": benchmark_of(benchmark, size, current),
    }


def growth_of(rehearsal: Any, size: int, current: int | None, otherwise: float | None) -> float | None:
    """Size of the files with this page size in parts of those with the present one, both as the rehearsal predicts them for the same move.

    The files of today, or the bytes that the server counts, are no measure: small tables have files of whole extents, and pages that
    were filled by and by are half empty.
    """
    found = [number(look(rehearsal, "page_sizes", str(each), "predicted_bytes")) for each in (size, current)]
    return otherwise if None in found else ratio(*found)


def space_of(facts: Any, size: int, current: int | None, space: Mapping) -> Growth | None:
    if current is None:
        return None
    return growth(
        space,
        size,
        current,
        large_share=number(look(facts, "schema", "large_objects", "share")) or 0,
        small_tables=number(look(facts, "schema", "small_tables", "tables")) or 0,
    )


def needed(predicted: int | None, error: int | None, total: float | int | None) -> int | None:
    """Bytes for the new data directory and the dump beside the old one."""
    if None in (predicted, error, total):
        return None
    return int(predicted + error + EMPTY_BYTES + total * DUMP_SHARE)

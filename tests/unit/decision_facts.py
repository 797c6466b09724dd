# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Facts of a server in full, as instance_info gives them, to be changed by the tests of decisions."""

from __future__ import annotations

import copy
from pathlib import Path

from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.policy import load_policy

GIB = 1 << 30
MIB = 1 << 20
POLICY_FILE = str(Path(__file__).resolve().parents[2] / "roles" / "assess" / "files" / "policy.yml")
POLICY = load_policy(POLICY_FILE)

RATES = {
    "reads": 6000,
    "writes": 1700,
    "rows_read_per_page_read": 12,
    "buffer_pool_hit_ratio": 0.942,
    "pages_read": 11800,
    "pages_written": 3000,
    "bytes_read": 185 * MIB,
    "bytes_written": 96 * MIB,
    "log_writes": 900,
    "log_bytes": 4 * MIB,
    "doublewrite_share": 0.5,
}

FACTS = {
    "engine": "mariadb",
    "version": "10.11.19",
    "banner": "mariadbd Ver 10.11.19-MariaDB",
    "running": True,
    "name": "mariadb",
    "manager": "systemd",
    "service": "mariadb.service",
    "page_size": 16384,
    "page_size_files": 16384,
    "page_size_server": 16384,
    "page_size_option": None,
    "page_sizes_supported": list(PAGE_SIZES),
    "datadir": "/var/lib/mysql",
    "socket": "/run/mysqld/mysqld.sock",
    "memory_bytes": 32 * GIB,
    "omitted": {},
    "server": {
        "vendor_build": "MariaDB Server",
        "uptime_seconds": 864000,
        "variables": {"innodb_buffer_pool_size": 24 * GIB, "innodb_log_write_ahead_size": 4096},
        "origins": {},
        "page_size_agrees": True,
        "page_size_notes": [],
    },
    "schema": {
        "tables": 40,
        "bytes": 72 * GIB,
        "data_bytes": 58 * GIB,
        "index_bytes": 14 * GIB,
        "rows": 250_000_000,
        "by_row_format": {"Dynamic": {"tables": 40, "bytes": 72 * GIB}},
        "small_tables": {"tables": 5, "share": 0.125},
        "large_objects": {"tables": 0, "bytes": 0, "share": 0.0},
        "compressed": {"tables": 0, "key_block_sizes": {}},
        "encrypted": {"tables": 0},
        "near_limits": [],
        "table_list": [],
        "table_list_omitted": 0,
    },
    "workload": {
        "uptime_seconds": 864000,
        "sample_seconds": 10,
        "since_start": RATES,
        "sampled": RATES,
        "buffer_pool": {"size_bytes": 24 * GIB, "data_bytes": 23 * GIB, "dirty_bytes": GIB, "free_bytes": GIB, "instances": 1},
        "working_set_bytes": None,
        "io_bound": {"verdict": "yes", "confidence": "high", "reasons": ["94.2 % of the requests for pages are answered from memory"]},
    },
    "storage": {
        "datadir": {
            "path": "/var/lib/mysql",
            "free_bytes": 900 * GIB,
            "total_bytes": 1000 * GIB,
            "file_system": "ext4",
            "device": "nvme0n1",
            "kind": "nvme",
            "model": "SAMSUNG MZQL2960",
            "rotational": False,
            "logical_sector_bytes": 512,
            "physical_sector_bytes": 4096,
            "lba_formats": [{"bytes": 512, "in_use": True, "relative_performance": 0}],
            "atomic_write_unit_bytes": 4096,
            "power_loss_protection": True,
            "scheduler": "none",
        }
    },
    "replication": {"role": "standalone", "upstream": [], "downstream": [], "log_bin": True, "galera": None, "group_replication": False},
}


def server(changes: dict | None = None) -> dict:
    """The facts with some changed: keys are dotted paths."""
    facts = copy.deepcopy(FACTS)
    for path, value in (changes or {}).items():
        *parents, last = path.split(".")
        place = facts
        for name in parents:
            place = place[name]
        place[last] = value
    return facts


def sized(data: int, pool: int, memory: int, row_bytes: int = 250) -> dict:
    """Changes for a server with so many bytes of data and indexes, of buffer pool, of memory and of each row."""
    return {
        "memory_bytes": memory,
        "schema.bytes": data,
        "schema.data_bytes": data * 8 // 10,
        "schema.index_bytes": data * 2 // 10,
        "schema.rows": data * 8 // 10 // row_bytes,
        "schema.by_row_format": {"Dynamic": {"tables": 40, "bytes": data}},
        "workload.buffer_pool.size_bytes": pool,
        "server.variables.innodb_buffer_pool_size": pool,
    }


def working(rows_per_statement: float, rows_per_page_request: float, hit_ratio: float, write_share: float = 0.2) -> dict:
    """Changes for a workload."""
    rows_per_page_read = rows_per_page_request / (1 - hit_ratio)
    statements = 10_000
    rates = {
        **RATES,
        "reads": statements * (1 - write_share),
        "writes": statements * write_share,
        "rows_read_per_page_read": rows_per_page_read,
        "buffer_pool_hit_ratio": hit_ratio,
        "pages_read": statements * rows_per_statement / rows_per_page_read,
    }
    return {"workload.since_start": rates, "workload.sampled": rates}


def rehearsed(total: int = 72 * GIB, **problems: list) -> dict:
    """A rehearsal of so many bytes at all page sizes that passes but for the problems, by k4096 and its like."""
    growth = {4096: 1.25, 8192: 1.1, 16384: 1.0, 32768: 1.1, 65536: 1.3}
    return {
        "page_sizes": {
            str(size): {
                "fits": not problems.get(f"k{size}"),
                "problems": problems.get(f"k{size}", []),
                "tables": 40,
                "predicted_bytes": int(total * growth[size]),
                "predicted_error_bytes": 2 * GIB,
                "seconds": 4.0,
                "per_table": {},
            }
            for size in PAGE_SIZES
        },
        "checked": ["every definition", "a sample of rows"],
        "not_checked": ["rows outside the sample"],
    }

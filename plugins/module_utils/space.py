# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The room on the host's disks that a migration may need. Pure: facts in, bytes out."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from .carriers import BINARY, carrier_of
from .facts import Facts
from .option_values import MIB

LOAD_LOG_BYTES = 2048 * MIB

#: Bytes of a new data directory by page size, in parts of the old one's at 16k: the worst of the kinds of table measured
#: (docs/performance.md), so that a disk is not found too small half-way.
GROWTH = {4096: 1.4, 8192: 1.2, 16384: 1.1, 32768: 1.3, 65536: 1.9}
#: Bytes of an empty data directory.
EMPTY_BYTES = {4096: 125 * MIB, 8192: 125 * MIB, 16384: 125 * MIB, 32768: 190 * MIB, 65536: 254 * MIB}
#: Bytes of the dump in parts of the tables' size. Compressed tables are written uncompressed.
DUMP_SHARE = 1.2
COMPRESSED_DUMP_SHARE = 5.0
#: Bytes of the temporary files in which the new server puts the rows of a table in order that it reads from a binary file, in parts of the
#: table's size: 1.1 for one with secondary keys, 2.0 for one of large values. They lie beside the dump.
SORT_SHARE = 2.2


@dataclass(frozen=True)
class Space:
    """Bytes a migration needs: for the dump with what is put in order beside it, and for the new data directory beside the old one."""

    dump: int
    build: int


def needed_space(facts: Facts, target: int, sorted_at_once: int) -> Space:
    tables = [table for table in facts.server.tables if table.kind == "rows"] if facts.server else []
    dump = sum(table.size_bytes * (COMPRESSED_DUMP_SHARE if table.compressed else DUMP_SHARE) for table in tables)
    binary = (table.size_bytes for table in tables if carrier_of(table, facts.instance.engine) == BINARY)
    dump += SORT_SHARE * sum(heapq.nlargest(sorted_at_once, binary))
    build = sum(table.size_bytes for table in tables) * GROWTH[target]
    log = max(LOAD_LOG_BYTES, int((facts.server.variables.get("innodb_log_file_size") if facts.server else None) or 0))
    return Space(dump=int(dump), build=int(build) + EMPTY_BYTES[target] + log)

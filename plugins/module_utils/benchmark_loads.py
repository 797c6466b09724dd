# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The loads of the benchmark: which script makes and drives which data, as rows of a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .errors import InnodbError

#: sysbench's own scripts, by their names, all on the same tables.
SYSBENCH_TABLES = "sbtest"
REPLAY = "replay"
#: So many tables does the data of a load with several tables have.
TABLES = 4
#: Chance by which a row is chosen: each row as often as any other, as in the published tests with data larger than memory.
DISTRIBUTIONS = ("uniform", "gaussian", "special", "pareto", "zipfian")


class Dataset(NamedTuple):
    """Data that one or more loads work on.

    script: prepares it. unit_bytes: bytes on disk, at 16k, of one unit of the option size_option. tables: in which the units are divided.
    least: units without which the load does not work.
    """

    name: str
    script: str
    size_option: str
    unit_bytes: int
    tables: int = 1
    least: int = 1

    def units(self, wanted_bytes: float) -> int:
        """Units, for each table, of data that take about so many bytes."""
        return max(self.least, round(wanted_bytes / self.unit_bytes / self.tables))

    def expected_bytes(self, units: int) -> int:
        return units * self.tables * self.unit_bytes


class Load(NamedTuple):
    """One kind of work. script: the program's own, or one of ours (with .lua). writes: whether it changes data."""

    name: str
    title: str
    dataset: str
    script: str
    writes: bool


DATASETS = {
    each.name: each
    for each in (
        Dataset(SYSBENCH_TABLES, "oltp_read_write", "table-size", 232, TABLES, 100),
        # Ours count in units of their own, see their scripts.
        Dataset("new_orders", "pagesmith_new_orders.lua", "units", 3_600_000),
        Dataset("scans", "pagesmith_scans.lua", "units", 170_000),
        Dataset("ledger", "pagesmith_ledger.lua", "units", 3_100, least=100),
        Dataset("sessions", "pagesmith_sessions.lua", "units", 800, least=100),
        Dataset("wide_rows", "pagesmith_wide_rows.lua", "units", 2_050, least=100),
        # A copy of the host's own tables.
        Dataset(REPLAY, "pagesmith_replay.lua", "units", 1),
        Dataset("large_objects", "pagesmith_large_objects.lua", "units", 31_000, least=10),
    )
}
LOADS = {
    each.name: each
    for each in (
        Load("oltp_read_write", "mixed transactions", SYSBENCH_TABLES, "oltp_read_write", True),
        Load("oltp_read_only", "reading transactions", SYSBENCH_TABLES, "oltp_read_only", False),
        Load("oltp_point_select", "single rows by their key", SYSBENCH_TABLES, "oltp_point_select", False),
        Load("oltp_update_index", "updates of an indexed column", SYSBENCH_TABLES, "oltp_update_index", True),
        Load("oltp_write_only", "writing transactions", SYSBENCH_TABLES, "oltp_write_only", True),
        Load("new_orders", "orders in the manner of TPC-C", "new_orders", "pagesmith_new_orders.lua", True),
        Load("scans", "sums over ranges of a warehouse", "scans", "pagesmith_scans.lua", False),
        Load("ledger", "bookings and statements of accounts", "ledger", "pagesmith_ledger.lua", True),
        Load("sessions", "a session store with keys without order", "sessions", "pagesmith_sessions.lua", True),
        Load("wide_rows", "rows of 1,500 bytes", "wide_rows", "pagesmith_wide_rows.lua", True),
        Load(REPLAY, "the host's own reading statements", REPLAY, "pagesmith_replay.lua", False),
        Load("large_objects", "objects of 10 to 30 kB", "large_objects", "pagesmith_large_objects.lua", True),
    )
}


def choose(names: Iterable[str]) -> list[Load]:
    """The loads of these names, each once; InnodbError for one that does not exist."""
    chosen = list(dict.fromkeys(names))
    unknown = [name for name in chosen if name not in LOADS]
    if unknown or not chosen:
        raise InnodbError(f"there is no load {', '.join(unknown) or 'to run'}", remedy=f"Choose from {', '.join(LOADS)}")
    return [LOADS[name] for name in chosen]

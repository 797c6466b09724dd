# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What stands against keeping the server running while it is copied, besides what stands against any migration. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from .facts import Facts
from .live_copy import OWN_SCHEMAS
from .preflight import Blocker
from .strategies import BACK, DUMP_RESTORE, LIVE, SIDE_BY_SIDE

OTHERWISE = "or migrate with innodb_strategy=dump_restore"
#: Why a setting stands against following; {value} is what it is.
REASONS = {
    "binlog_format": (
        "binlog_format is {value}, whose statements may do something else on another server",
        "SET GLOBAL binlog_format=ROW, let the old sessions end",
    ),
    "encrypt_binlog": ("The binary log is encrypted, so its end can't be compared", "Switch encrypt_binlog off"),
    "binlog_encryption": ("The binary log is encrypted, so its end can't be compared", "Switch binlog_encryption off"),
    "binlog_transaction_compression": (
        "The transactions in the binary log are compressed, so what they change can't be read",
        "SET GLOBAL binlog_transaction_compression=OFF",
    ),
    "wsrep_on": ("The server is a node of a Galera cluster, whose changes come from elsewhere as well", "Take it out of the cluster"),
}


def find_blockers(facts: Facts, strategy: str) -> list[Blocker]:
    """All blockers of a strategy that others have not."""
    if facts.server is None:
        return []
    return [blocker for check in CHECKS[strategy] for blocker in check(facts)]


def _binary_log(facts: Facts) -> Iterable[Blocker]:
    variables = facts.server.variables
    if variables.get("log_bin") != "ON" or not facts.layout.binlog:
        yield Blocker(
            "log_bin",
            "log_bin",
            "The server writes no binary log that the successor could follow",
            f"Set log_bin and server_id in its option file and restart it, {OTHERWISE}",
        )
        return
    for name, harmless in facts.instance.engine.trait("followable").items():
        value = variables.get(name)
        if value is not None and value not in harmless:
            message, remedy = REASONS[name]
            yield Blocker(f"live {name}", name, message.format(value=value), f"{remedy}, {OTHERWISE}")


def _replica(facts: Facts) -> Iterable[Blocker]:
    for channel in facts.server.channels:
        yield Blocker(
            f"live replica {channel.name or 'default'}",
            channel.title,
            f"The server is a replica, and this strategy does not carry its position: {channel.title}",
            "Migrate with innodb_strategy=dump_restore, with which a replica keeps its position",
        )


def _tables(facts: Facts) -> Iterable[Blocker]:
    for table in facts.server.tables:
        if table.schema not in OWN_SCHEMAS and not table.sequence and table.engine.lower() != "innodb":
            yield Blocker(
                f"live engine of {table.title}",
                table.title,
                f"{table.title} is a table of {table.engine}, of which no state can be seen while it is written to",
                f"Convert it to InnoDB, {OTHERWISE}",
            )


def _places(facts: Facts) -> Iterable[Blocker]:
    for path in facts.layout.external:
        yield Blocker(
            f"live external {path}",
            path,
            f"The tablespace {path} lies outside the data directory, and two servers can't both have it there",
            f"Move it into the data directory, {OTHERWISE}",
        )
    allowed = facts.server.variables.get("secure_file_priv")
    if (allowed or "").upper() == "NULL":
        # An empty value means any directory.
        yield Blocker(
            "live secure_file_priv",
            "secure_file_priv",
            "secure_file_priv forbids the server to write any file",
            f"Set it to a directory, or to nothing, and restart the server, {OTHERWISE}",
        )


_FOLLOWED = (_replica, _binary_log, _tables, _places)
CHECKS = {DUMP_RESTORE: (), SIDE_BY_SIDE: (_replica, _places), LIVE: _FOLLOWED, BACK: _FOLLOWED}

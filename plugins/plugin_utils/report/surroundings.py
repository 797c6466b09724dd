# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The host as the parts of its page: its server, its load and its storage."""

from __future__ import annotations

from typing import Any, NamedTuple

from .host import HostReport
from .recommendation import Fact
from .units import UNKNOWN, bytes_markup, bytes_text, count_text, duration_text, share_text, size_text
from .values import amount, flag, mapping, mappings, number, page_size, text, texts

ENGINES = {"mariadb": "MariaDB", "mysql": "MySQL", "percona": "Percona Server"}
KINDS = {"nvme": "NVMe", "ssd": "SSD", "hdd": "hard disk", "virtual": "virtual disk"}
ROLES = {
    "standalone": "stands alone",
    "replica": "replica",
    "primary": "primary",
    "intermediate": "replica with replicas of its own",
    "galera": "Galera node",
    "group_replication": "member of group replication",
}
IO_BOUND = {
    "yes": "The server is bound by I/O",
    "no": "The server is not bound by I/O",
    "unknown": "Whether the server is bound by I/O is not known",
}


class Rate(NamedTuple):
    """A row of the table of rates: how a value is named and written."""

    key: str
    label: str
    write: Any


RATES = (
    Rate("reads", "Reads, statements/s", count_text),
    Rate("writes", "Writes, statements/s", count_text),
    Rate("rows_read_per_page_read", "Rows read for each page read", count_text),
    Rate("buffer_pool_hit_ratio", "Hit ratio of the buffer pool", share_text),
    Rate("pages_read", "Pages read/s", count_text),
    Rate("pages_written", "Pages written/s", count_text),
    Rate("bytes_read", "Read/s", bytes_text),
    Rate("bytes_written", "Written/s", bytes_text),
    Rate("log_writes", "Log writes/s", count_text),
    Rate("log_bytes", "Log written/s", bytes_text),
    Rate("doublewrite_share", "Share of doublewrite in what is written", share_text),
)


def known(facts: list[Fact]) -> list[Fact]:
    """The facts that say something."""
    return [fact for fact in facts if fact.value not in ("", UNKNOWN)]


def yes_no(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"


def server_facts(report: HostReport) -> list[Fact]:
    """The server and what it is set to."""
    facts = mapping(report.data, "facts")
    engine = text(facts, "engine")
    agrees = flag(facts, "server", "page_size_agrees")
    notes = " ".join(texts(facts, "server", "page_size_notes"))
    return known(
        [
            Fact("Server", f"{ENGINES.get(engine, engine)} {text(facts, 'version')}".strip(), text(facts, "server", "vendor_build")),
            Fact("Running", yes_no(flag(facts, "running")), up_for(amount(facts, "server", "uptime_seconds"))),
            Fact("Run by", " ".join(filter(None, (text(facts, "manager"), text(facts, "service"))))),
            Fact("Data directory", text(facts, "datadir")),
            Fact("Server, files and options agree on the page size", yes_no(agrees), notes),
            Fact("Page sizes of this engine", ", ".join(size_text(size) for size in supported(facts))),
            Fact("Memory of the host", bytes_text(amount(facts, "memory_bytes"))),
            Fact("Role in replication", replication(facts), replication_note(facts)),
        ]
    )


def up_for(seconds: float | None) -> str:
    return f"for {duration_text(seconds)}" if seconds is not None else ""


def supported(facts: dict[str, Any]) -> list[int]:
    listed = facts.get("page_sizes_supported")
    return [size for size in (page_size({"size": item}, "size") for item in listed) if size] if isinstance(listed, list) else []


def replication(facts: dict[str, Any]) -> str:
    role = text(facts, "replication", "role")
    return ROLES.get(role, role)


def replication_note(facts: dict[str, Any]) -> str:
    """Whom the server follows and who follows it."""
    upstream = ", ".join(f"{text(entry, 'host')}:{text(entry, 'port')}" for entry in mappings(facts, "replication", "upstream"))
    downstream = len(mappings(facts, "replication", "downstream"))
    parts = [
        f"follows {upstream}" if upstream else "",
        f"{downstream} {'follows' if downstream == 1 else 'follow'} it" if downstream else "",
    ]
    return ", ".join(filter(None, parts))


def setting_rows(report: HostReport) -> list[dict[str, str]]:
    """Effective InnoDB settings whose place is known, in the order of their names."""
    rows = []
    for name, origin in sorted(mapping(report.data, "facts", "server", "origins").items()):
        place = text(origin, "file") and f"{text(origin, 'file')}, line {text(origin, 'line')}"
        value = text(report.data, "facts", "server", "variables", name) or text(origin, "value")
        rows.append({"name": name, "value": value, "place": place or "default"})
    return rows


def io_bound(report: HostReport) -> dict[str, Any]:
    """The verdict on I/O in one sentence, with what speaks for it."""
    path = ("facts", "workload", "io_bound")
    sentence = IO_BOUND.get(text(report.data, *path, "verdict"), IO_BOUND["unknown"])
    confidence = text(report.data, *path, "confidence")
    return {"sentence": sentence, "confidence": confidence, "reasons": texts(report.data, *path, "reasons")}


def rate_rows(report: HostReport) -> list[dict[str, str]]:
    """Rates since the start of the server and in the seconds in which it was watched; empty when none is known."""
    load = mapping(report.data, "facts", "workload")
    rows = []
    for rate in RATES:
        values = [number(load, span, rate.key) for span in ("since_start", "sampled")]
        if values != [None, None]:
            rows.append({"label": rate.label, "since_start": rate.write(values[0]), "sampled": rate.write(values[1])})
    return rows


def pool_facts(report: HostReport) -> list[Fact]:
    pool = ("facts", "workload", "buffer_pool")
    return [
        fact
        for fact in (
            Fact("Buffer pool", bytes_markup(report.pool_bytes)),
            Fact("Data in it", bytes_markup(amount(report.data, *pool, "data_bytes"))),
            Fact("Not yet written", bytes_markup(amount(report.data, *pool, "dirty_bytes"))),
            Fact("Free", bytes_markup(amount(report.data, *pool, "free_bytes"))),
            Fact("Working set", bytes_markup(amount(report.data, "facts", "workload", "working_set_bytes"))),
        )
        if UNKNOWN not in fact.value
    ]


def schema_facts(report: HostReport) -> list[Fact]:
    """The tables of the server in sums."""
    schema = mapping(report.data, "facts", "schema")
    formats = mapping(schema, "by_row_format")
    shares = ", ".join(f"{name} {count_text(amount(formats, name, 'tables'))}" for name in sorted(formats))
    small, large = mapping(schema, "small_tables"), mapping(schema, "large_objects")
    return known(
        [
            Fact("Tables", count_text(amount(schema, "tables"))),
            Fact("Rows", count_text(amount(schema, "rows"))),
            Fact("Tables by row format", shares),
            Fact("Small tables", count_text(amount(small, "tables")), of_all(amount(small, "share"), "tables")),
            Fact("Tables with large objects", count_text(amount(large, "tables")), of_all(amount(large, "share"), "bytes")),
            Fact("Compressed tables", count_text(amount(schema, "compressed", "tables"))),
            Fact("Encrypted tables", count_text(amount(schema, "encrypted", "tables"))),
        ]
    )


def of_all(share: float | None, what: str) -> str:
    return f"{share_text(share)} of all {what}" if share is not None else ""


def storage_groups(report: HostReport) -> list[dict[str, Any]]:
    """The file systems that the server writes to, each once with all its paths."""
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for path, entry in sorted(mapping(report.data, "facts", "storage").items()):
        place = (text(entry, "device"), text(entry, "mount_point") or path)
        group = groups.setdefault(place, {"paths": [], "facts": storage_facts(mapping({"entry": entry}, "entry"))})
        group["paths"].append(path)
    return list(groups.values())


def storage_facts(entry: dict[str, Any]) -> list[Fact]:
    options = ", ".join(texts(entry, "mount_options"))
    kind = text(entry, "kind")
    free, total = amount(entry, "free_bytes"), amount(entry, "total_bytes")
    layers = " on ".join(f"{text(layer, 'name')} ({text(layer, 'type')})" for layer in reversed(mappings(entry, "stack")))
    return [
        fact
        for fact in (
            Fact("Free", bytes_markup(free), f"of {bytes_text(total)}" if total is not None else ""),
            Fact("Free inodes", count_text(amount(entry, "free_inodes"))),
            Fact("File system", text(entry, "file_system"), options),
            Fact("Mounted at", text(entry, "mount_point")),
            Fact("Device", text(entry, "device"), layers),
            Fact("Kind", KINDS.get(kind, "" if kind == "unknown" else kind), text(entry, "model")),
            Fact("Sectors", sectors(entry)),
            Fact("LBA formats", lba_formats(entry)),
            Fact("Optimal I/O", bytes_text(amount(entry, "optimal_io_bytes") or None)),
            Fact("Writes are atomic up to", bytes_text(amount(entry, "atomic_write_unit_bytes") or None)),
            Fact("Protected against loss of power", yes_no(flag(entry, "power_loss_protection")) or UNKNOWN),
            Fact("Scheduler", text(entry, "scheduler")),
        )
        if fact.value and (fact.value != UNKNOWN or fact.label.startswith("Protected"))
    ]


def sectors(entry: dict[str, Any]) -> str:
    """Logical and physical sectors: 512 B logical, 4 KiB physical."""
    parts = [(amount(entry, f"{name}_sector_bytes"), name) for name in ("logical", "physical")]
    return ", ".join(f"{bytes_text(size)} {name}" for size, name in parts if size)


def lba_formats(entry: dict[str, Any]) -> str:
    parts = []
    for item in mappings(entry, "lba_formats"):
        notes = [text(item, "relative_performance"), "in use" if flag(item, "in_use") else ""]
        parts.append(f"{bytes_text(amount(item, 'bytes'))} ({', '.join(filter(None, notes)) or 'not in use'})")
    return "; ".join(parts)

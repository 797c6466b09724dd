# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""From whom a server copies, who copies from it, and what cluster it is in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .addresses import addresses_of
from .channels import GROUP_CHANNELS, named, number
from .facts import Limited, Omitted

GALERA = ("cluster_size", "cluster_status", "local_state_comment", "ready", "provider_version", "cluster_state_uuid")
ONLINE = ("ONLINE", "RECOVERING")


def upstream_of(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Channels from the rows of SHOW REPLICA STATUS and its elder forms."""
    found = []
    for row in rows:
        if named(row, "channel") in GROUP_CHANNELS:
            continue
        found.append(
            {
                "channel": named(row, "channel") or "",
                "host": named(row, "host"),
                "port": number(named(row, "port")),
                "addresses": addresses_of(named(row, "host")),
                "server_id": number(named(row, "server_id")) or None,
                "server_uuid": named(row, "server_uuid"),
                "running": named(row, "io") == "Yes" and named(row, "sql") == "Yes",
                "lag_seconds": number(named(row, "lag")),
                "gtid": named(row, "gtid"),
                "error": named(row, "error") or named(row, "sql_error"),
            }
        )
    return found


def downstream_of(registered: Iterable[Mapping[str, Any]], senders: Iterable[str]) -> list[dict[str, Any]]:
    """Replicas: those that have registered, and those that are connected without.

    registered: rows of SHOW REPLICAS and its elder forms. senders: for each thread that sends a binary log, the client's address.
    A replica rarely says its own host name; then the address of its connection stands in, where only one can be meant.
    """
    addresses = [_split(address) for address in senders]
    found = [
        {"host": row.get("host") or None, "port": number(row.get("port")) or None, "server_id": number(row.get("server_id"))}
        for row in registered
    ]
    unnamed = [each for each in found if each["host"] is None]
    taken = {each["host"] for each in found}
    free = [host for host, _port in addresses if host not in taken]
    if len(unnamed) == 1 and len(free) == 1:
        unnamed[0]["host"] = free[0]
    return found + [{"host": host, "port": None, "server_id": None} for host, _port in addresses[len(found) :]]


def _split(address: str) -> tuple[str, str]:
    host, _colon, port = address.rpartition(":")
    return (host, port) if host else (address, "")


def galera_of(status: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, Any] | None:
    """The state of a node of a Galera cluster; None when the server is none."""
    if variables.get("wsrep_on") != "ON" or not int(status.get("wsrep_cluster_size") or 0):
        return None
    found: dict[str, Any] = {name: status.get(f"wsrep_{name}") for name in GALERA}
    found.update(cluster_size=int(status["wsrep_cluster_size"]), ready=status.get("wsrep_ready") == "ON")
    found.update(cluster_name=variables.get("wsrep_cluster_name"), sst_method=variables.get("wsrep_sst_method"))
    return found


def role_of(upstream: list, downstream: list, galera: Any, group: bool) -> str:
    if galera:
        return "galera"
    if group:
        return "group_replication"
    roles = {(False, False): "standalone", (True, False): "replica", (False, True): "primary", (True, True): "intermediate"}
    return roles[bool(upstream), bool(downstream)]


def replication_facts(limited: Limited, omitted: Omitted, variables: Mapping[str, str]) -> dict[str, Any]:
    """The subset replication. variables: global ones by name. A list that could not be read is None, and so is the role then."""
    trait = limited.engine.trait
    upstream = downstream = galera = None
    group = False
    with omitted.part("replication.upstream"):
        upstream = upstream_of(limited.rows(trait("replica_status")))
    with omitted.part("replication.downstream"):
        senders = limited.rows("SELECT host FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%' ORDER BY id")
        downstream = downstream_of(limited.rows(trait("replicas_registered")), [row["host"] for row in senders])
    with omitted.part("replication.galera"):
        galera = galera_of(limited.pairs("SHOW GLOBAL STATUS LIKE 'wsrep%'"), variables)
    with omitted.part("replication.group_replication"):
        members = limited.rows(trait("group_members")) if trait("group_members") else []
        group = any(row.get("member_state") in ONLINE for row in members)
    position, mode = trait("gtid_variables")
    known = upstream is not None and downstream is not None
    return {
        "role": role_of(upstream or [], downstream or [], galera, group) if known or galera or group else None,
        "upstream": upstream,
        "downstream": downstream,
        "log_bin": variables.get("log_bin") == "ON",
        "binlog_format": variables.get("binlog_format"),
        "identity": {
            "server_id": number(variables.get("server_id")),
            "server_uuid": variables.get("server_uuid"),
            "port": number(variables.get("port")),
        },
        "gtid": {"mode": variables.get(mode), "position": variables.get(position) or None},
        "galera": galera,
        "group_replication": group,
    }

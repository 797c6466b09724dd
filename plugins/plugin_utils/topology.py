# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Who replicates from whom, told by the servers themselves, and the order in which they are migrated. Pure.

Hosts are matched by what their servers say of themselves: the uuid of a MySQL server, server_id, addresses and port. Names of the
inventory are for people only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .reading import look, number

LOOPBACK = ("127.", "::1")


@dataclass
class Node:
    """A server. sources and replicas: hosts of the inventory; outside: sources that are none. page_size in bytes."""

    host: str
    facts: Mapping[str, Any] = field(repr=False)
    page_size: int | None
    running: bool
    unfinished: bool
    server_id: int | None
    server_uuid: str | None
    port: int | None
    addresses: frozenset[str]
    sources: list[str] = field(default_factory=list)
    replicas: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    @property
    def role(self) -> str:
        roles = {(False, False): "standalone", (True, False): "replica", (False, True): "primary", (True, True): "intermediate"}
        return roles[bool(self.sources or self.outside), bool(self.replicas)]


def node_of(host: str, facts: Mapping[str, Any]) -> Node:
    """A server by its facts; one that is down has its identity from its option files."""
    options = {setting.get("name"): setting.get("value") for setting in facts.get("settings") or [] if isinstance(setting, Mapping)}
    identity = look(facts, "replication", "identity") or {}
    return Node(
        host=host,
        facts=facts,
        page_size=facts.get("page_size"),
        running=bool(facts.get("running")),
        unfinished=bool(look(facts, "migration", "unfinished")),
        server_id=number(identity.get("server_id") or options.get("server_id")),
        server_uuid=identity.get("server_uuid"),
        port=number(identity.get("port") or options.get("port") or 3306),
        addresses=frozenset(facts.get("addresses") or ()),
    )


def channels_of(node: Node) -> list[Mapping[str, Any]]:
    """Channels of a server: as it says, or, while it is down, as an unfinished run noted them."""
    upstream = look(node.facts, "replication", "upstream")
    if upstream is not None:
        return upstream
    runs = look(node.facts, "migration", "runs") or []
    return [channel for run in runs if run.get("status") == "unfinished" for channel in run.get("channels") or ()]


def source_of(channel: Mapping[str, Any], replica: Node, nodes: Sequence[Node]) -> list[Node]:
    """The servers that the source of a channel can be: one when it is known, none when it is not among them, else it is not clear."""
    others = [node for node in nodes if node is not replica]
    uuid, server_id = channel.get("server_uuid"), number(channel.get("server_id"))
    if uuid and any(node.server_uuid == uuid for node in others):
        return [node for node in others if node.server_uuid == uuid]
    at_address = [node for node in others if node.port == number(channel.get("port")) and _shares_address(channel, replica, node)]
    if not server_id:
        return at_address
    same_id = [node for node in others if node.server_id == server_id]
    both = [node for node in same_id if node in at_address]
    return both or same_id


def _shares_address(channel: Mapping[str, Any], replica: Node, node: Node) -> bool:
    """Whether a server has the address that the replica asks. A loopback address means the replica's own machine."""
    asked = {address for address in channel.get("addresses") or [channel.get("host")] if address}
    if any(address.startswith(LOOPBACK) for address in asked):
        return _outward(node.addresses) == _outward(replica.addresses)
    return bool(asked & _outward(node.addresses))


def _outward(addresses: frozenset[str]) -> frozenset[str]:
    return frozenset(address for address in addresses if not address.startswith(LOOPBACK))


def connect(nodes: Sequence[Node]) -> list[dict[str, str]]:
    """Fill in sources and replicas of all servers; blockers where it is not clear who is meant."""
    blockers = []
    for node in nodes:
        for channel in channels_of(node):
            found = source_of(channel, node, nodes)
            title = f"{channel.get('host')}:{channel.get('port')}"
            if len(found) > 1:
                names = ", ".join(sorted(each.host for each in found))
                message = f"{node.host} replicates from {title} with server_id {channel.get('server_id')}, which can be {names}"
                blockers.append(blocker("ambiguous", node.host, message, "Give each server a server_id of its own"))
            elif found:
                node.sources.append(found[0].host)
                found[0].replicas.append(node.host)
            else:
                node.outside.append(title)
    return blockers


def blocker(kind: str, host: str, message: str, remedy: str) -> dict[str, str]:
    return {"id": f"{kind} {host}", "object": host, "message": message, "remedy": remedy}


def depths(nodes: Sequence[Node]) -> dict[str, int]:
    """How many servers are above each one, by the longest way; those in or below a circle are left out."""
    by_host = {node.host: node for node in nodes}
    waiting = {node.host: len(set(node.sources)) for node in nodes}
    found = {host: 0 for host, count in waiting.items() if count == 0}
    queue = list(found)
    while queue:
        host = queue.pop(0)
        for replica in sorted(set(by_host[host].replicas)):
            waiting[replica] -= 1
            found[replica] = max(found.get(replica, 0), found[host] + 1)
            if waiting[replica] == 0:
                queue.append(replica)
    return {host: depth for host, depth in found.items() if waiting[host] == 0}


def groups_of(nodes: Sequence[Node]) -> dict[str, str]:
    """The group of each server, named by its first host: servers that replication connects, over any way."""
    found: dict[str, str] = {}
    by_host = {node.host: node for node in nodes}
    for node in nodes:
        queue = [node.host] if node.host not in found else []
        for host in queue:
            if host not in found:
                found[host] = node.host
                queue += [*by_host[host].sources, *by_host[host].replicas]
    return found


def state_blockers(node: Node, source_cut_short: bool) -> list[dict[str, str]]:
    """What about one server stands against a rollout to all of them, before any of them is touched.

    source_cut_short: one of its sources may be down because of a run that goes on now.
    """
    found = []
    host = node.host
    if look(node.facts, "replication", "galera"):
        message = f"{host} is a node of a Galera cluster, and a node with another page size can't come back into it"
        remedy = "Migrate one node alone with wsrep_on=OFF, and begin the cluster anew from it (section Galera of docs/fleet.md)"
        found.append(blocker("galera", host, message, remedy))
    if look(node.facts, "replication", "group_replication"):
        message = f"{host} is a member of a replication group, which is not supported yet"
        found.append(blocker("group_replication", host, message, "Leave it out"))
    if not node.running and not node.unfinished:
        message = f"the server of {host} is not running, so it is not known who replicates from whom"
        found.append(blocker("server_down", host, message, "Start it, or leave it out with --limit"))
    for channel in channels_of(node) if node.running and not node.unfinished and not source_cut_short else ():
        if channel.get("error"):
            message = f"{host} does not replicate from {channel.get('host')}:{channel.get('port')}: {channel['error']}"
            found.append(blocker("replication", host, message, "Repair it first, or leave the host out with --limit"))
    return found


def batches_of(order: Sequence[Node], done: Sequence[Node], groups: Mapping[str, str], size: int) -> list[list[str]]:
    """Hosts that are worked on at the same time: up to size of them, never two of one group, no one before those ahead of it there.

    A server with an unfinished run is alone, since nothing else is touched while one is out. Those that are done are looked at together.
    """
    batches = [[node.host] for node in order if node.unfinished] + ([[node.host for node in done]] if done else [])
    waiting = [node for node in order if not node.unfinished and node not in done]
    while waiting:
        batch: list[Node] = []
        taken: set[str] = set()
        for node in waiting:
            if len(batch) < size and groups[node.host] not in taken:
                batch.append(node)
            taken.add(groups[node.host])
        batches.append([node.host for node in batch])
        waiting = [node for node in waiting if node not in batch]
    return batches


def plan_rollout(facts: Mapping[str, Mapping[str, Any]], page_size: int, size: int) -> dict[str, Any]:
    """Order, batches and blockers of a rollout. facts: of instance_info by host. page_size in bytes, size: hosts at the same time."""
    nodes = [node_of(host, facts[host]) for host in facts]
    blockers = connect(nodes)
    cut_short = {node.host for node in nodes if node.unfinished}
    if len(nodes) > 1:
        # Of one server alone, its own migration tells everything at once.
        blockers += [each for node in nodes for each in state_blockers(node, bool(cut_short & set(node.sources)))]
    depth = depths(nodes)
    circle = sorted(node.host for node in nodes if node.host not in depth)
    for host in circle:
        message = f"{host} is in, or below, a circle of servers that replicate from one another ({', '.join(circle)})"
        blockers.append(blocker("circular", host, message, "Make one of them the only primary, and migrate then"))
    groups = groups_of(nodes)
    first = {"resume": 0, "already": 1, "migrate": 2}
    order = sorted(nodes, key=lambda node: (first[state_of(node, page_size)], -depth.get(node.host, 0), node.host))
    done = [node for node in order if state_of(node, page_size) == "already"]
    return {
        "order": [describe(node, depth.get(node.host, 0), groups[node.host], page_size) for node in order],
        "batches": batches_of(order, done, groups, size),
        "blockers": blockers,
    }


def state_of(node: Node, page_size: int) -> str:
    """What there is to do: go on with a run that was cut short, nothing, or all."""
    return "resume" if node.unfinished else "already" if node.page_size == page_size else "migrate"


def describe(node: Node, depth: int, group: str, page_size: int) -> dict[str, Any]:
    """A server as the plan shows it."""
    return {
        "host": node.host,
        "role": node.role,
        "depth": depth,
        "group": group,
        "page_size": node.page_size,
        "state": state_of(node, page_size),
        "sources": sorted(set(node.sources)),
        "outside": node.outside,
        "replicas": sorted(set(node.replicas)),
    }


def line(number: int, entry: Mapping[str, Any]) -> str:
    """A server of the plan as a sentence."""
    sources = [*entry["sources"], *(f"{title}, which is none of these hosts" for title in entry["outside"])]
    parts = [entry["role"], *([f"from {', '.join(sources)}"] if sources else [])]
    texts = {"already": "has its page size already", "resume": "has an unfinished run, which goes on first", "migrate": "is migrated"}
    return f"{number}. {entry['host']} ({' '.join(parts)}) {texts[entry['state']]}"


GOOD = ("migrated", "already", "planned")


def outcomes_of(plan: Mapping[str, Any], host_variables: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What came of those hosts of a plan that were worked on."""
    found = {}
    for entry in plan["order"]:
        result = host_variables[entry["host"]].get("migrate_result") if entry["host"] in host_variables else None
        if result:
            found[entry["host"]] = result.get("outcome") or "failed"
    return found


def unsettled(plan: Mapping[str, Any], host_variables: Mapping[str, Mapping[str, Any]], host: str) -> list[str]:
    """Hosts of the batches before that of this host that are not as they should be: the rollout must not go on to it."""
    outcomes = outcomes_of(plan, host_variables)
    found = []
    for batch in plan["batches"]:
        if host in batch:
            break
        found += [each for each in batch if outcomes.get(each) not in GOOD]
    return found


def standing(plan: Mapping[str, Any], host_variables: Mapping[str, Mapping[str, Any]], host: str) -> str:
    """Where a rollout stands that ends with this host, as one sentence."""
    outcomes = {**outcomes_of(plan, host_variables), host: "failed"}
    hosts = [each for batch in plan["batches"] for each in batch]
    parts = {
        "done": [each for each in hosts if outcomes.get(each) in GOOD],
        "failed": [each for each in hosts if each in outcomes and outcomes[each] not in GOOD],
        "not begun": [each for each in hosts if each not in outcomes],
    }
    return "; ".join(f"{title}: {', '.join(names)}" for title, names in parts.items() if names)


def not_following(upstream: Sequence[Mapping[str, Any]] | None, before: Sequence[Mapping[str, Any]] | None) -> list[str]:
    """Channels, as sentences, that ran before and do not run now, or have not caught up. upstream, before: of the facts of a replica."""
    now = {channel.get("channel"): channel for channel in upstream or ()}
    found = []
    for channel in before or ():
        title = f"{channel.get('host')}:{channel.get('port')}"
        current = now.get(channel.get("channel"), {})
        if not channel.get("running"):
            continue
        if not current.get("running"):
            found.append(f"replication from {title} does not run{': ' + current['error'] if current.get('error') else ''}")
        elif current.get("lag_seconds") is None or current["lag_seconds"] > max(1, channel.get("lag_seconds") or 0):
            found.append(f"replication from {title} is {current.get('lag_seconds')} s behind")
    return found

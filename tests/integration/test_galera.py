# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A Galera cluster: its nodes are refused, a rehearsal stays outside it, and the documented way leads to the other page size."""

from __future__ import annotations

import json
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from harness import PATIENCE, USER, Refused, Sandbox
from test_rehearsal import arguments, start

PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")
SHOP = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(200) NOT NULL);
INSERT INTO shop.orders (what) SELECT CONCAT('order ', seq) FROM seq_1_to_500;
"""


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _number in range(count)]
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in listeners]


def node(number: int, members: list[int], ports: list[int]) -> Sandbox:
    """members: ports of the group communication. ports: of this node, for clients, the group, incremental and full transfers."""
    clients, group, incremental, full = ports
    return Sandbox(
        settings={
            "skip-networking": False,
            "bind-address": "127.0.0.1",
            "port": clients,
            "server_id": number,
            "log_bin": "binlog",
            "log_slave_updates": "ON",
            "binlog_format": "ROW",
            "innodb_autoinc_lock_mode": 2,
            "wsrep_on": "ON",
            "wsrep_provider": PROVIDER,
            "wsrep_cluster_name": "test",
            "wsrep_cluster_address": f"gcomm://{','.join(f'127.0.0.1:{port}' for port in members)}",
            "wsrep_node_name": f"node{number}",
            "wsrep_node_address": f"127.0.0.1:{group}",
            "wsrep_sst_method": "rsync",
            "wsrep_sst_receive_address": f"127.0.0.1:{full}",
            "wsrep_provider_options": f'"gmcast.listen_addr=tcp://127.0.0.1:{group};ist.recv_addr=127.0.0.1:{incremental};gcache.size=32M"',
        }
    )


@pytest.fixture
def cluster() -> Iterator[list[Sandbox]]:
    """Three nodes with the same content."""
    ports = free_ports(12)
    own = [ports[4 * number : 4 * number + 4] for number in range(3)]
    with ExitStack() as stack:
        nodes = []
        for number, given in enumerate(own, 1):
            each = node(number, [group for _clients, group, *_others in own], given)
            stack.callback(each.remove)
            each.create()
            each.start(*(["--wsrep-new-cluster"] if number == 1 else []))
            nodes.append(each)
        nodes[0].sql(SHOP)
        require_synced(nodes)
        yield nodes


def require_synced(nodes: list[Sandbox]) -> None:
    """Wait until all nodes are in one cluster, and have the same rows."""
    deadline = time.monotonic() + PATIENCE
    while len({seen(each) for each in nodes}) != 1 or int(seen(nodes[0])[0]) != len(nodes):
        assert time.monotonic() < deadline, [seen(each) for each in nodes]
        time.sleep(0.1)


def seen(each: Sandbox) -> tuple[str, ...]:
    found = dict(line.split("\t") for line in each.sql("SHOW GLOBAL STATUS LIKE 'wsrep%'").splitlines() if line.count("\t") == 1)
    rows = each.sql("CHECKSUM TABLE shop.orders", "--force").strip()
    return found["wsrep_cluster_size"], found["wsrep_local_state_comment"], found["wsrep_cluster_status"], rows


def test_the_way_to_another_page_size(cluster: list[Sandbox]) -> None:
    """As docs/fleet.md tells it."""
    first, *others = cluster
    with pytest.raises(Refused, match=r"\[galera\] .*wsrep_on=OFF") as caught:
        first.migrate("8k")
    assert [blocker.id for blocker in caught.value.blockers] == ["galera"], "the rehearsal's server stood outside the cluster"
    for each in others:
        each.stop()
    first.stop()
    options = first.option_file.read_text()
    first.option_file.write_text(options.replace("wsrep_on=ON", "wsrep_on=OFF"))
    first.start()
    first.sql("INSERT INTO shop.orders (what) VALUES ('before')")
    assert first.migrate("8k")["outcome"] == "migrated"
    first.sql("INSERT INTO shop.orders (what) VALUES ('after')")
    first.stop()
    first.option_file.write_text(options)
    first.start("--wsrep-new-cluster")
    for number, each in enumerate(others, 2):
        shutil.copy(first.include / "zz-pagesmith.cnf", each.include)
        each.datadir.rename(each.base / "data.before")
        each.datadir.mkdir(mode=0o700)
        shutil.chown(each.datadir, USER, USER)
        each.start()
        require_synced(cluster[:number])
    assert [each.page_size() for each in cluster] == [8192] * 3
    assert [int(each.sql("SELECT COUNT(*) FROM shop.orders")) for each in cluster] == [502] * 3


def test_a_rehearsal_stays_outside(cluster: list[Sandbox]) -> None:
    """Also of a node that has left, whose port is free: a private server with its option files would join."""
    left = cluster[2]
    left.stop()
    left.start("--wsrep-on=OFF")
    process = start(arguments(left, ["8k"], "1M"))
    out, _err = process.communicate()
    assert json.loads(out)["page_sizes"]["8192"]["fits"]
    require_synced(cluster[:2])
    addresses = cluster[0].sql("SHOW GLOBAL STATUS LIKE 'wsrep_incoming_addresses'")
    assert str(left.settings["port"]) not in addresses

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the decision says from facts alone, beside what the product's own benchmark measures on the same data and load."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from servers import Sandbox, harness

from ansible_collections.pagesmith.innodb.plugins.action.page_size_benchmark import own_scripts
from ansible_collections.pagesmith.innodb.plugins.module_utils import (
    benchmark,
    benchmark_host,
    benchmark_loads,
    benchmark_plan,
    benchmark_server,
    benchmark_statistics,
    scratch,
    sysbench,
)
from ansible_collections.pagesmith.innodb.plugins.module_utils.benchmark_counters import Look
from ansible_collections.pagesmith.innodb.plugins.module_utils.block_device import storage_of
from ansible_collections.pagesmith.innodb.plugins.module_utils.facts import Omitted
from ansible_collections.pagesmith.innodb.plugins.module_utils.instance import Instance, InstanceSpec, find_instance
from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import plan_paths, read_layout
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_values import MIB, parse_bytes
from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import label
from ansible_collections.pagesmith.innodb.plugins.module_utils.private_server import PrivateServer
from ansible_collections.pagesmith.innodb.plugins.module_utils.schema_facts import stored_bytes
from ansible_collections.pagesmith.innodb.plugins.module_utils.session import Session
from ansible_collections.pagesmith.innodb.plugins.module_utils.workload_facts import (
    Situation,
    buffer_pool,
    difference,
    io_bound,
    period,
    rates,
    working_set,
)
from ansible_collections.pagesmith.innodb.plugins.modules import instance_info
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.decision import decide
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.policy import load_policy

POLICY = Path(__file__).resolve().parents[2] / "roles" / "assess" / "files" / "policy.yml"
LOADS = (
    *("oltp_point_select", "oltp_read_write", "oltp_update_index", "scans", "wide_rows", "large_objects", "ledger", "sessions"),
    "new_orders",
)
SIZES = (4096, 8192, 16384)
BASE = 16384
FACTS_PARAMETERS = {"subset_timeout": 60, "table_list_limit": 50}
#: A host is assessed after days of its load; what was counted in the seconds of a measurement stands for these days.
UPTIME_SECONDS = 2 * 86400
#: What the pool of a database host has of its memory. This machine has room for all data, and then the answer is a larger pool.
POOL_TO_MEMORY = 0.7
AIM = 0.03

Key = tuple[str, float]


def workload(
    counted: Mapping[str, float], after: Look, seconds: float, variables: Mapping[str, str], device: str, stored: int
) -> dict[str, Any]:
    """The subset workload as it would be after days of this load."""
    pool = buffer_pool(after.server, variables)
    passed = period(counted, seconds)
    situation = Situation(UPTIME_SECONDS, passed, passed, pool["size_bytes"], stored, device)
    found = rates(counted, seconds, BASE)
    return {
        "uptime_seconds": UPTIME_SECONDS,
        "sample_seconds": seconds,
        "since_start": found,
        "sampled": found,
        "buffer_pool": pool,
        "working_set_bytes": working_set(pool, UPTIME_SECONDS),
        "io_bound": io_bound(situation).as_dict(),
    }


class Facts:
    """Gathers, with the readers of instance_info, what is known of the server of today under each load."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.found: dict[Key, dict[str, Any]] = {}

    def observe(self, server: PrivateServer, session: Session, measured: Mapping[str, Any], before: Look, after: Look) -> None:
        variables = {row["variable_name"].lower(): row["value"] for row in session.rows("SHOW GLOBAL VARIABLES")}
        if int(variables["innodb_page_size"]) != BASE:
            return
        own = replace(self.instance, datadir=server.datadir, socket=server.socket)
        view = instance_info.Look(FACTS_PARAMETERS, harness.run, own, session, variables, BASE, Omitted(60))
        facts = instance_info.basic_facts(view)
        for name in ("server", "storage", "schema", "replication"):
            facts[name] = instance_info.SUBSETS[name](view)
        device = storage_of([server.datadir])[server.datadir]["kind"]
        counted = difference(after.server, before.server)
        stored = stored_bytes(view.limited(), BASE)
        facts["memory_bytes"] = int(int(variables["innodb_buffer_pool_size"]) / POOL_TO_MEMORY)
        facts["workload"] = workload(counted, after, after.moment - before.moment, variables, device, stored)
        self.found[measured["load"], measured["data_to_pool"]] = facts


def row_of(cell: Mapping[str, Any], decision: Mapping[str, Any]) -> dict[str, Any]:
    """A load on data of one size: what was measured, what was recommended, and what is lost by that."""
    measured = {int(size): figures["transactions_per_second"] for size, figures in cell["variants"].items()}
    best = max(measured, key=lambda size: measured[size]["median"])
    chosen = decision["recommended"]
    # Outside what was measured nothing can be said.
    lost = 1 - measured[chosen]["median"] / measured[best]["median"] if chosen in measured else None
    return {
        "load": cell["load"],
        "data_to_pool": cell["data_to_pool"],
        "threads": cell["threads"],
        "measured": measured,
        "best": best,
        "recommended": chosen,
        "lost": lost,
        "noise": chosen in measured and benchmark_statistics.same(measured[chosen], measured[best]),
        "headline": decision["headline"],
        "evidence": decision["evidence"],
        "reasons": [reason["id"] for reason in decision["reasons"]],
    }


def told(row: Mapping[str, Any]) -> str:
    figures = "  ".join(
        f"{rate['median']:9,.0f} ±{rate['spread'] / rate['median']:4.0%}" for _size, rate in sorted(row["measured"].items())
    )
    lost = "?" if row["lost"] is None else f"{row['lost']:.1%}"
    word = "" if row["lost"] is None or row["lost"] <= AIM else "within the spread" if row["noise"] else "LOST"
    return (
        f"{row['load']:18} {row['data_to_pool']:4g}  {figures}  {label(row['best']):>4} {label(row['recommended']):>8} {lost:>7} {word}"
    ).rstrip()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loads", nargs="+", default=list(LOADS), choices=list(benchmark_loads.LOADS))
    parser.add_argument("--data-to-pool", nargs="+", type=float, default=[0.5, 4])
    parser.add_argument("--pool", default="48M", help="buffer pool of each server")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--warm-up", type=int, default=1)
    parser.add_argument("--json", type=Path, help="file for facts, decisions and measurements")
    return parser.parse_args()


def measure(server: Sandbox, given: argparse.Namespace) -> tuple[benchmark.Bench, Facts]:
    """The benchmark of the product, with a look at the facts under each load."""
    instance = find_instance(harness.run, InstanceSpec(defaults_file=str(server.option_file), manager="process", socket=str(server.socket)))
    plan = benchmark_plan.Plan(
        page_sizes=SIZES,
        base=BASE,
        loads=tuple(benchmark_loads.choose(given.loads)),
        data_to_pool=tuple(given.data_to_pool),
        threads=(given.threads,),
        rounds=given.rounds,
        seconds=given.seconds,
        warm_up_seconds=given.warm_up,
        pool_bytes=parse_bytes(given.pool) or 48 * MIB,
        distribution="uniform",
        log_bytes=benchmark_server.log_bytes(instance),
        time_limit_seconds=0,
        space_limit_bytes=0,
        io_limit_bytes=0,
    )
    facts = Facts(instance)
    paths = plan_paths(read_layout(instance), "benchmark")
    with scratch.scratch_directory(str(server.base)) as directory:
        program = sysbench.find(harness.run)
        bench = benchmark.Bench(harness.run, instance, paths, plan, program, directory, say, observe=facts.observe)
        benchmark.write_scripts(bench, own_scripts())
        benchmark.conduct(bench)
    return bench, facts


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr)


def main() -> None:
    given = parse_arguments()
    began = time.monotonic()
    with Sandbox() as server:
        bench, facts = measure(server, given)
    policy = load_policy(str(POLICY))
    cells = benchmark_statistics.summarise(bench.measurements, str(BASE))
    rows = [row_of(cell, decide(facts.found[cell["load"], cell["data_to_pool"]], policy)) for cell in cells]
    head = "  ".join(f"{label(size) + ', tps':>15}" for size in SIZES)
    print(f"{'load':18} {'data':>4}  {head}  best decision   lost")
    for row in rows:
        print(told(row))
    known = [row for row in rows if row["lost"] is not None]
    over = [row for row in known if row["lost"] > AIM]
    beyond = [row for row in over if not row["noise"]]
    print(f"{len(known) - len(over)} of {len(rows)} lose {AIM:.0%} or less; {len(beyond)} lose more than that and more than the spread")
    print(f"{bench.instance.engine.title}, {benchmark_host.machine()}, {time.monotonic() - began:.0f} s, load now {os.getloadavg()[0]:.1f}")
    if given.json:
        texts = {f"{load} {size:g}": found for (load, size), found in facts.found.items()}
        given.json.write_text(json.dumps({"rows": rows, "facts": texts, "measurements": bench.measurements}, indent=1, default=str))


if __name__ == "__main__":
    main()

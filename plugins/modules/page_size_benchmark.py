#!/usr/bin/python
# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measures InnoDB page sizes against one another, with private servers on the host's own storage."""

from __future__ import annotations

DOCUMENTATION = r"""
module: page_size_benchmark
short_description: Measure InnoDB page sizes on the host's own storage
version_added: 0.1.0
description:
  - Makes a private server of the host's own program for each page size, on the host's own storage and with the host's own option files
    but for the page size and a small buffer pool, loads the same data into each, and drives the same loads with sysbench.
  - The page sizes are measured in turns (A B C A B C), so that whatever else the host does meets all of them. Figures are medians with
    their spread, and a difference within the spreads is told as no difference.
  - One server runs at a time. The servers have a Unix socket only, and their files are removed in the end. Should the module be killed,
    its server ends by itself, and the next benchmark or rehearsal in the same directory removes what is left.
  - The running server of the host is not touched, and need not run, but for the load V(replay).
  - Beside a busy one nothing is done unless O(beside_busy) is set.
options:
  page_sizes:
    description:
      - The page sizes to measure, as V(8k) or in bytes. That of the host is always among them.
      - By default V(4k), V(8k) and V(16k).
    type: list
    elements: str
    default: []
  loads:
    description:
      - What is done to the data. V(oltp_read_write), V(oltp_read_only), V(oltp_point_select), V(oltp_update_index) and
        V(oltp_write_only) are sysbench's own.
      - V(replay) sends the reading statements that the host itself has done to a copy of a sample of its rows; see O(replay_log).
      - V(new_orders) is a wholesaler's work in the manner of TPC-C, V(scans) that of a warehouse, V(ledger) books, V(sessions) is a session
        store, V(wide_rows) has rows of 1,500 bytes, V(large_objects) such of 10 to 30 kB.
    type: list
    elements: str
    default: [oltp_read_write]
  replay_log:
    description:
      - A slow log or general log of the host, whose reading statements V(replay) sends. Its last 64 MiB are read.
      - Without it, the statements that C(performance_schema) has kept are taken.
      - Only statements that read rows of tables are sent, and they are sent to private servers on which nothing can be written.
    type: path
  sample_bytes:
    description:
      - How many bytes of rows are copied for V(replay), over all tables, in short ranges as M(pagesmith.innodb.rehearsal) does.
      - The pool of the private servers is made so small that the copy fills it as the host's data fill theirs.
    type: str
    default: 64M
  data_to_pool:
    description: Sizes of the data in parts of the buffer pool, since the answer differs for data in the pool and larger ones.
    type: list
    elements: float
    default: [0.5, 4]
  threads:
    description: Numbers of sysbench's threads. Each is measured.
    type: list
    elements: int
    default: [8, 32]
  rounds:
    description:
      - How often each page size is measured. With one round there is no spread, and a tenth of the figure is taken for it. With two, the
        distance of the rounds is taken threefold, since they are close together by chance too often.
    type: int
    default: 3
  seconds:
    description: Seconds of one measurement.
    type: int
    default: 10
  warm_up_seconds:
    description: Seconds for which each load runs before it is measured.
    type: int
    default: 5
  pool_bytes:
    description: Buffer pool of the private servers, which limits the memory that is taken. A number of bytes, with a suffix V(M) or V(G).
    type: str
    default: 128M
  distribution:
    description: How sysbench chooses rows.
    type: str
    choices: [uniform, gaussian, special, pareto, zipfian]
    default: uniform
  log_write_ahead_bytes:
    description:
      - Sizes of the log's blocks (C(innodb_log_write_ahead_size)) to compare as well, at the page size of the host, with the first of the
        O(loads) that writes. The first size is the one that the others are compared with.
    type: list
    elements: int
    default: []
  time_limit_seconds:
    description:
      - What would take longer is refused. What takes longer nevertheless ends after a whole round, and the result says so.
      - With V(0) there is no limit.
    type: int
    default: 3600
  space_limit_bytes:
    description: What would need more bytes on disk is refused; V(0) for as much as the file system has but for 256 MiB.
    type: str
    default: "0"
  io_limit_bytes:
    description:
      - Bytes per second that a private server may read, and as many that it may write, by a control group, also while its data are made.
        With V(0) there is no limit.
      - The figures are those of a slower storage then.
    type: str
    default: "0"
  beside_busy:
    description: Whether to go on when the host, or its server, is at work.
    type: bool
    default: false
  directory:
    description:
      - Where a directory for the private servers is made. It must exist, on the storage that is to be measured.
      - By default it is made beside the data directory, on the same file system, or in C(/var/tmp) where the data directory is a
        mount point.
    type: path
  scripts:
    description:
      - Scripts for sysbench, by the names of their files. The action of this module adds those of the collection.
    type: dict
    default: {}
extends_documentation_fragment:
  - pagesmith.innodb.attributes
  - pagesmith.innodb.attributes.actiongroup_innodb
  - pagesmith.innodb.instance
  - pagesmith.innodb.login
attributes:
  check_mode:
    support: full
    details:
      - In check mode no server is started and nothing is written. RV(plan) says what would be done.
  diff_mode:
    support: N/A
    details:
      - Nothing of the host is changed.
  idempotent:
    support: full
    details:
      - Nothing of the host is changed.
requirements:
  - sysbench 1.0 or later on the host
author:
  - Pagesmith (@pagesmith)
seealso:
  - module: pagesmith.innodb.page_size_decision
  - module: pagesmith.innodb.rehearsal
"""

EXAMPLES = r"""
- name: Measure the usual page sizes, with data in the buffer pool and with data larger than that
  pagesmith.innodb.page_size_benchmark:
  register: benchmark

- name: A quick look
  pagesmith.innodb.page_size_benchmark:
    page_sizes: [8k, 16k]
    pool_bytes: 64M
    data_to_pool: [4]
    threads: [8]
    seconds: 5

- name: On a production replica, within limits
  pagesmith.innodb.page_size_benchmark:
    loads: [oltp_read_write, oltp_point_select]
    time_limit_seconds: 1800
    space_limit_bytes: 8G
    io_limit_bytes: 100M
    beside_busy: true
"""

RETURN = r"""
benchmark:
  description: What was measured. None in check mode.
  type: dict
  returned: success
  contains:
    date:
      description: When, in UTC.
      type: str
    kind:
      description: V(sysbench), or V(own workload) when statements of the host were replayed.
      type: str
    conclusion:
      description: What came of it, as a sentence for each size of the data.
      type: str
    page_sizes:
      description:
        - For each page size, as a string of bytes, C(transactions_per_second) and its C(spread). It is the geometric mean over all loads,
          sizes of the data and numbers of threads.
      type: dict
    by_data:
      description: The same for each of the O(data_to_pool).
      type: dict
    figures:
      description:
        - For each load, size of the data and number of threads C(variants) with C(median) and C(spread) of each figure, and C(verdicts)
          with the gain against the page size of the host and whether it is V(faster), V(slower) or V(no difference).
      type: list
      elements: dict
    datasets:
      description: Data as they were made, with C(bytes) on disk and C(load_seconds).
      type: list
      elements: dict
    measurements:
      description: Every single measurement.
      type: list
      elements: dict
    replay:
      description:
        - What was replayed, with the number of C(statements), the C(answered_share) that found rows in the copy, what was C(left_out)
          by the reason, and the most frequent C(kinds) without their values. None when nothing was.
      type: dict
    log_blocks:
      description: C(figures) and C(measurements) of the sizes of the log's blocks; none when they were not compared.
      type: dict
    circumstances:
      description: How it was measured, and what was cut short, as sentences.
      type: list
      elements: str
    commands:
      description: Command lines of the servers and of sysbench.
      type: dict
    settings:
      description: Settings of the servers that figures depend on.
      type: dict
    plan:
      description: What was asked for.
      type: dict
    machine:
      description: Processors, memory, kernel.
      type: dict
    storage:
      description: The storage under the directory, as M(pagesmith.innodb.instance_info) tells it.
      type: dict
plan:
  description: What would be done, as sentences.
  type: list
  elements: str
  returned: in check mode
"""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.pagesmith.innodb.plugins.module_utils import (
    ansible_adapter,
    benchmark,
    benchmark_host,
    benchmark_loads,
    benchmark_plan,
    benchmark_replay,
    benchmark_result,
    benchmark_server,
    candidates,
    page_size,
    scratch,
    sysbench,
)
from ansible_collections.pagesmith.innodb.plugins.module_utils.block_device import storage
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.instance import Instance, find_instance
from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import Layout, plan_paths, read_layout
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_rows import USABLE, find_span
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_values import parse_bytes
from ansible_collections.pagesmith.innodb.plugins.module_utils.session import connect, require_driver
from ansible_collections.pagesmith.innodb.plugins.module_utils.work_directory import free_bytes

FALLBACK_DIRECTORY = "/var/tmp"
USUAL_SIZES = (4096, 8192, 16384)
USUAL_SIZE = 16384
POSITIVE = ("rounds", "seconds")
LOG_WRITE_AHEAD_OPTION = "innodb_log_write_ahead_size"


def read_bytes(params: dict, name: str) -> int:
    size = parse_bytes(params[name])
    if size is None:
        raise InnodbError(f"{name}: '{params[name]}' is no number of bytes", remedy="Give it as 128M, or 0 for none")
    return size


def read_sizes(texts: list, instance: Instance, base: int) -> tuple:
    """The page sizes to measure, the smallest first; InnodbError for one that the engine does not have."""
    known = instance.engine.trait("page_sizes")
    asked = [page_size.parse(text) for text in texts]
    unknown = [page_size.label(size) for size in asked if size not in known]
    if unknown:
        names = ", ".join(page_size.label(size) for size in known)
        raise InnodbError(f"{instance.engine.title} has no pages of {', '.join(unknown)}", remedy=f"Choose from {names}")
    return tuple(sorted({*(asked or (size for size in USUAL_SIZES if size in known)), base}))


def read_plan(params: dict, instance: Instance) -> benchmark_plan.Plan:
    """The plan that the options ask for."""
    for name in POSITIVE:
        if params[name] < 1:
            raise InnodbError(f"{name} is {params[name]}", remedy="Give it 1 or more")
    for name in ("threads", "data_to_pool"):
        if not params[name] or min(params[name]) <= 0:
            raise InnodbError(f"{name} is {params[name]}", remedy="Give it numbers above 0")
    base = instance.page_size_of_files() or USUAL_SIZE
    sizes = read_sizes(params["page_sizes"], instance, base)
    pool, least = read_bytes(params, "pool_bytes"), instance.engine.trait("minimum_pool_mib")[max(sizes)]
    if pool < least << 20:
        raise InnodbError(
            f"a server with {page_size.label(max(sizes))} pages needs a buffer pool of {least} MiB", remedy="Give it a larger pool_bytes"
        )
    loads = benchmark_loads.choose(params["loads"])
    return benchmark_plan.Plan(
        page_sizes=sizes,
        base=base,
        loads=tuple(loads),
        data_to_pool=tuple(dict.fromkeys(params["data_to_pool"])),
        threads=tuple(sorted(set(params["threads"]))),
        rounds=params["rounds"],
        seconds=params["seconds"],
        warm_up_seconds=params["warm_up_seconds"],
        pool_bytes=pool,
        distribution=params["distribution"],
        log_bytes=benchmark_server.log_bytes(instance),
        time_limit_seconds=params["time_limit_seconds"],
        space_limit_bytes=read_bytes(params, "space_limit_bytes"),
        io_limit_bytes=read_bytes(params, "io_limit_bytes"),
        log_write_ahead_bytes=tuple(dict.fromkeys(params["log_write_ahead_bytes"])),
        sample_bytes=read_bytes(params, "sample_bytes") if any(load.name == benchmark_loads.REPLAY for load in loads) else 0,
    )


def parent_directory(layout: Layout, given: str) -> str:
    """Where the scratch directory is made. Inside a data directory a running server would take it for a schema."""
    parent = given or os.path.dirname(layout.real_datadir)
    if not os.path.isdir(parent):
        raise InnodbError(f"the directory {parent} does not exist", remedy="Make it, or name another one")
    if given or not os.path.isdir(layout.real_datadir):
        return parent
    same = os.stat(parent).st_dev == os.stat(layout.real_datadir).st_dev
    return parent if same and not layout.mount_point else FALLBACK_DIRECTORY


def look_at_host(instance: Instance, directory: str) -> benchmark_plan.Host:
    span = find_span(LOG_WRITE_AHEAD_OPTION, instance.engine)
    return benchmark_plan.Host(
        benchmark_host.available_memory(),
        free_bytes(directory),
        *benchmark_host.business(instance),
        has_log_write_ahead=span is not None and span.state in USABLE,
        directory=directory,
    )


@contextmanager
def replay(bench: benchmark.Bench, params: dict) -> Iterator[None]:
    """Statements and samples of the running server, if they are asked for; the samples are removed in the end."""
    if not bench.plan.sample_bytes:
        yield
        return
    if not bench.instance.running():
        raise InnodbError(
            f"no server runs in {bench.instance.datadir}, so its rows can't be copied", remedy="Start it, or leave replay out"
        )
    with ExitStack() as stack:
        with connect(bench.instance.login(ansible_adapter.login(params))) as session:
            place = stack.enter_context(candidates.sample_directory(session, bench.directory))
            given = params["replay_log"], bench.plan.sample_bytes, min(bench.plan.page_sizes), place
            bench.replay = benchmark_replay.prepare(session, bench.instance, *given)
        yield


def run_benchmark(module: AnsibleModule) -> dict:
    """All of it, up to the point where check mode stops."""
    params = module.params
    run = ansible_adapter.runner(module)
    instance = find_instance(run, ansible_adapter.instance_spec(params))
    program = sysbench.find(run)
    plan = read_plan(params, instance)
    layout = read_layout(instance)
    parent = parent_directory(layout, params["directory"])
    if not module.check_mode:
        # What a killed benchmark has left takes space that this one may need.
        scratch.sweep(parent)
    host = look_at_host(instance, parent)
    benchmark_plan.require_possible(plan, host, params["beside_busy"])
    if module.check_mode:
        return {"benchmark": None, "plan": benchmark_plan.describe(plan, parent)}
    deadline = time.monotonic() + plan.time_limit_seconds if plan.time_limit_seconds else 0.0
    machine = benchmark_host.machine()
    with scratch.scratch_directory(parent) as directory:
        bench = benchmark.Bench(run, instance, plan_paths(layout, "benchmark"), plan, program, directory, module.debug, deadline)
        benchmark.write_scripts(bench, params["scripts"])
        direct = benchmark_host.takes_direct_io(directory)
        with replay(bench, params):
            benchmark.conduct(bench)
        circumstances = benchmark_result.circumstances(bench, direct, benchmark_plan.why_busy(host))
    return {"benchmark": benchmark_result.result(bench, machine, storage(parent), circumstances)}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "page_sizes": {"type": "list", "elements": "str", "default": []},
            "loads": {"type": "list", "elements": "str", "default": ["oltp_read_write"]},
            "replay_log": {"type": "path"},
            "sample_bytes": {"type": "str", "default": "64M"},
            "data_to_pool": {"type": "list", "elements": "float", "default": [0.5, 4]},
            "threads": {"type": "list", "elements": "int", "default": [8, 32]},
            "rounds": {"type": "int", "default": 3},
            "seconds": {"type": "int", "default": 10},
            "warm_up_seconds": {"type": "int", "default": 5},
            "pool_bytes": {"type": "str", "default": "128M"},
            "distribution": {"type": "str", "choices": list(benchmark_loads.DISTRIBUTIONS), "default": "uniform"},
            "log_write_ahead_bytes": {"type": "list", "elements": "int", "default": []},
            "time_limit_seconds": {"type": "int", "default": 3600},
            "space_limit_bytes": {"type": "str", "default": "0"},
            "io_limit_bytes": {"type": "str", "default": "0"},
            "beside_busy": {"type": "bool", "default": False},
            "directory": {"type": "path"},
            "scripts": {"type": "dict", "default": {}},
            **ansible_adapter.INSTANCE_OPTIONS,
            **ansible_adapter.LOGIN_OPTIONS,
        },
        supports_check_mode=True,
    )
    ansible_adapter.end_orderly()
    try:
        require_driver()
        result = run_benchmark(module)
    except InnodbError as error:
        ansible_adapter.fail(module, error)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Small views of facts and results for the roles."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.pagesmith.innodb.plugins.module_utils import page_size
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report.benchmark_pages import read_result
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report.pages import BENCHMARKS

REPORTED = (
    "outcome",
    "run",
    "page_size_before",
    "page_size_after",
    "strategy",
    "steps",
    "write_outage_seconds",
    "read_outage_seconds",
    "outage_parts",
    "compared_at_fence",
    "changed_since_comparison",
    "bytes_moved",
    "tables",
    "blockers",
    "census_differences",
    "digest_differences",
    "allowed_differences",
    "retained_directory",
    "lost_writes",
    "set_aside",
    "freed_bytes",
    "removed",
    "msg",
)
#: What the report of an assessment tells of a benchmark.
SHOWN_OF_BENCHMARK = ("date", "kind", "conclusion", "page_size", "page_sizes", "by_data", "engine", "version", "circumstances", "plan")
#: What a task's result has beside that of its module.
OF_THE_TASK = ("changed", "failed", "invocation", "warnings", "deprecations", "ansible_facts")
SECONDS_PER_DAY = 86400


def migration_report(result: dict[str, Any], host: str) -> dict[str, Any]:
    """The report of a host from the module's result: its outcome, or 'failed' when it did not come to one."""
    report = {key: result[key] for key in REPORTED if key in result}
    report.setdefault("outcome", "failed")
    report["host"] = host
    kept = report.get("retained_directory")
    report["undo"] = f"ansible-playbook pagesmith.innodb.rollback -i INVENTORY --limit {host}" if kept else None
    return report


def assessment(
    host: str,
    facts: dict[str, Any] | None = None,
    rehearsal: dict[str, Any] | None = None,
    decision: dict[str, Any] | None = None,
    error: str = "",
    benchmark: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The report of a host that was assessed, from the results of the modules; with an error, that and what was found before it."""
    report: dict[str, Any] = {"host": host, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    for name, result in {"facts": facts, "rehearsal": rehearsal, "decision": decision}.items():
        if result and not result.get("failed") and not result.get("skipped"):
            report[name] = {key: value for key, value in result.items() if key not in OF_THE_TASK}
    if benchmark:
        report["benchmark"] = {key: benchmark[key] for key in SHOWN_OF_BENCHMARK if key in benchmark}
    return {**report, "error": error} if error else report


def earlier_benchmark(directory: str, host: str) -> dict[str, Any]:
    """What the playbook benchmark has left of a host in a report directory; empty when it was not measured."""
    path = os.path.join(directory, BENCHMARKS, f"{host}.json")
    if not os.path.exists(path):
        return {}
    try:
        return read_result(Path(path)).data
    except InnodbError as error:
        raise AnsibleFilterError(str(error)) from error


def migration_summary(result: dict[str, Any]) -> list[str]:
    """What came of it, as sentences for the person who looks on."""
    if "msg" in result:
        return [result["msg"]]
    size = page_size.label(result["page_size_after"]) if result.get("page_size_after") else ""
    lines = {
        "migrated": [f"The server has {size} pages now. Clients were shut out for {result.get('write_outage_seconds')} s."],
        "already": [f"The server has {size} pages; nothing had to be done."],
        "rolled_back": [f"The old server with {size} pages runs again with its data."],
        "retired": [f"{result.get('freed_bytes', 0) // 1048576} MiB were freed: {', '.join(result.get('removed', []))}."],
        "planned": ["Nothing was changed: this is what would be done.", *result.get("plan", [])],
    }[result["outcome"]]
    if result.get("allowed_differences"):
        lines.append(f"Differences that were allowed and came: {', '.join(result['allowed_differences'])}.")
    if result.get("retained_directory"):
        lines.append(f"The old data directory is kept as {result['retained_directory']}.")
    if result.get("lost_writes"):
        lines.append(f"Given up: {', '.join(result['lost_writes'])}.")
    if result.get("set_aside"):
        lines.append(f"The new data directory is kept as {result['set_aside'][0]}.")
    return lines


def drift(facts: dict[str, Any], wanted: str | int, retention_days: float, now: float | None = None) -> list[str]:
    """What differs from what should be, as sentences: page size, option files, unfinished runs, directories kept for too long."""
    found = []
    try:
        size = page_size.parse(wanted) if wanted else None
    except InnodbError as error:
        raise AnsibleFilterError(str(error)) from error
    actual = facts["page_size"]
    if size and actual != size:
        found.append(f"The page size is {actual} bytes instead of {size}.")
    if facts["running"] and facts["page_size_server"] != facts["page_size_files"]:
        found.append(f"The server says {facts['page_size_server']} bytes per page, its files {facts['page_size_files']}.")
    if facts["page_size_option"] and facts["page_size_option"] != actual:
        found.append(f"The option files ask for {facts['page_size_option']} bytes per page, the files have {actual}: it would not start.")
    if not facts["running"]:
        found.append("The server is not running.")
    found += [f"The run {run} is unfinished." for run in facts["migration"]["unfinished"]]
    for run in facts["migration"]["runs"]:
        age = ((now or time.time()) - run["ended"]) / SECONDS_PER_DAY if run["kept"] and run["ended"] else 0
        if age > float(retention_days):
            found.append(f"{run['kept'][0]} is kept for {age:.0f} days, longer than {retention_days}.")
    return found


def drift_table(host_variables: Mapping[str, Mapping[str, Any]], hosts: Sequence[str]) -> list[str]:
    """One line for each host, or for each of its differences: host, page size, what differs. From the variables of the role's verify."""
    rows = []
    for host in hosts:
        variables = host_variables.get(host, {})
        drift_found = variables.get("migrate_drift")
        size = (variables.get("migrate_facts") or {}).get("page_size")
        if drift_found is None:
            drift_found = ["It could not be looked at."]
        rows += [(host, str(size or "-"), text) for text in drift_found or ["-"]]
    rows = [("host", "page size", "drift"), *rows]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return [f"{host:<{widths[0]}}  {size:>{widths[1]}}  {text}" for host, size, text in rows]


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Any]:
        return {
            "migration_report": migration_report,
            "migration_summary": migration_summary,
            "drift": drift,
            "drift_table": drift_table,
            "assessment": assessment,
            "earlier_benchmark": earlier_benchmark,
        }

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The files of a report directory: which of them are reports of an assessment, and how pages are written beside them."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError

from .host import HostReport
from .values import cleaned, mapping, text, visible

PAGE_MODE = 0o644
INDEX = "index"
#: The parts of which at least one makes a file the report of an assessment.
PARTS = ("decision", "rehearsal", "facts", "error")


class Reports(NamedTuple):
    """hosts: reports in the order of their names. skipped: files that are something else, each with the reason.

    stems: of all files that may be reports, also those that were not read.
    """

    hosts: list[HostReport]
    skipped: list[dict[str, str]]
    stems: frozenset[str]


def read_reports(directory: str, stems: Collection[str] | None = None) -> Reports:
    """The reports of a directory with these stems, or all of them; a report that cannot be read is one of a failed host."""
    if not os.path.isdir(directory):
        raise InnodbError(f"There is no directory {directory}", remedy="Run the playbook assess first, or correct report_dir")
    paths = [path for path in sorted(Path(directory).glob("*.json")) if not path.name.startswith(".")]
    reports = Reports([], [], frozenset(path.stem for path in paths))
    for path in paths:
        if stems is not None and path.stem not in stems:
            continue
        report = read_report(path)
        if isinstance(report, HostReport):
            reports.hosts.append(report)
        else:
            reports.skipped.append({"file": visible(path.name), "reason": report})
    return reports


def read_report(path: Path) -> HostReport | str:
    """The report in a file, or in one sentence why it holds none."""
    try:
        content = json.loads(path.read_bytes())
    # RecursionError: brackets nested by the thousand.
    except (OSError, ValueError, RecursionError) as error:
        return HostReport(path.stem, {}, error=cleaned(f"The report {path.name} cannot be read: {error}. Assess this host again."))
    if not isinstance(content, dict) or not any(part in content for part in PARTS):
        return "It is not the report of an assessment."
    data = cleaned(content)
    return HostReport(path.stem, data, error=failure(visible(path.name), data))


def failure(name: str, data: dict[str, Any]) -> str:
    """Why there is no assessment; empty when there is one."""
    said = data.get("error")
    if said:
        return said if isinstance(said, str) else text(data, "error", "msg") or "The assessment failed without a message."
    if not mapping(data, "decision"):
        return f"The report {name} holds no decision. Assess this host again."
    return ""


def page_names(hosts: list[HostReport], taken: Collection[str] = ()) -> dict[str, str]:
    """The page of each report by its stem; that of a host called index must not be taken for the index of the fleet.

    taken: stems of other reports of the directory.
    """
    names = {}
    for report in hosts:
        stem = report.stem
        while stem == INDEX or (stem != report.stem and stem in taken):
            stem += "-host"
        names[report.stem] = f"{stem}.html"
    return names


def benchmark_page_name(stem: str) -> str:
    """The page of a benchmark by the name of its file; that of a host called index must not be taken for the index."""
    return f"{stem}-host.html" if stem == INDEX else f"{stem}.html"


def is_current(path: str, content: bytes) -> bool:
    """Whether the file has this content and the mode of a page."""
    try:
        with open(path, "rb") as file:
            return file.read() == content and stat.S_IMODE(os.fstat(file.fileno()).st_mode) == PAGE_MODE
    except FileNotFoundError:
        return False


def write_page(path: str, content: bytes) -> None:
    """Write a page whole or not at all, also when two runs write it at once.

    There is no fsync: what a power cut takes, the next run writes again.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=".page-", dir=os.path.dirname(path))
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), PAGE_MODE)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise

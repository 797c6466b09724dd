# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Writes the pages of an assessment on the controller, without a connection to the host."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report import files, pages
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report.host import BLOCKED, CHANGE, FAILED, STAY, HostReport

OPTIONS = {
    "report_dir": {"type": "path", "required": True},
    "hosts": {"type": "list", "elements": "str"},
    "index": {"type": "bool", "default": True},
    "plots": {"type": "bool", "default": True},
}


def chosen(hosts: list[HostReport], names: list[str] | None) -> list[HostReport]:
    """The reports whose pages are asked for; InnodbError when one of them is not there."""
    missing = sorted(set(names or []) - {report.stem for report in hosts})
    if missing:
        raise InnodbError(f"There is no report of {', '.join(missing)}", remedy="Assess these hosts first, or correct the option hosts")
    return [report for report in hosts if names is None or report.stem in names]


def contents(reports: files.Reports, names: dict[str, str], options: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The name and the content of each page that is asked for."""
    for report in chosen(reports.hosts, options["hosts"]):
        yield names[report.stem], pages.host_page(report, options["plots"])
    if options["index"]:
        yield f"{files.INDEX}.html", pages.fleet_page(reports.hosts, names, reports.skipped)


def write_pages(options: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    """Bring the pages of a directory up to date, or in check mode tell which are not. options: as OPTIONS names them."""
    directory = options["report_dir"]
    # The index needs all reports; a host that has its own page written must not read those of a whole fleet.
    reports = files.read_reports(directory, None if options["index"] else options["hosts"])
    names = files.page_names(reports.hosts, reports.stems)
    written = []
    for name, content in contents(reports, names, options):
        path = os.path.join(directory, name)
        if files.is_current(path, content):
            continue
        if not check_mode:
            files.write_page(path, content)
        written.append(path)
    groups: dict[str, list[str]] = {outcome: [] for outcome in (CHANGE, STAY, BLOCKED, FAILED)}
    for report in reports.hosts:
        groups[report.outcome].append(report.stem)
    result = {
        "changed": bool(written),
        "pages": {stem: os.path.join(directory, name) for stem, name in names.items()},
        "written": written,
        "groups": groups,
        "other_files": reports.skipped,
    }
    return {**result, "index": os.path.join(directory, f"{files.INDEX}.html")} if options["index"] else result


class ActionModule(ActionBase):
    """The pages of all reports in a directory."""

    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(argument_spec=OPTIONS)
        try:
            result.update(write_pages(options, self._task.check_mode))
        except InnodbError as error:
            raise AnsibleActionFail(str(error)) from error
        except OSError as error:
            problem = InnodbError(
                f"The pages in {options['report_dir']} cannot be written: {error}",
                state="Each page there is whole, either as it was or new.",
                remedy="Give this user the directory, or make room, and run it again",
            )
            raise AnsibleActionFail(str(problem)) from error
        return result

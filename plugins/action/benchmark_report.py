# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Writes the pages of benchmarks on the controller, without a connection to the host."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.report import benchmark_pages, files

OPTIONS = {
    "report_dir": {"type": "path", "required": True},
    "hosts": {"type": "list", "elements": "str"},
    "index": {"type": "bool", "default": True},
    "plots": {"type": "bool", "default": True},
    "compare": {"type": "path"},
}


def write_pages(options: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    """Bring the pages of a directory up to date, or in check mode tell which are not. options: as OPTIONS names them."""
    directory, names = options["report_dir"], options["hosts"]
    results = benchmark_pages.read_results(directory)
    missing = sorted(set(names or []) - {result.stem for result in results})
    if missing:
        raise InnodbError(f"There is no benchmark of {', '.join(missing)}", remedy="Measure these hosts first, or correct the option hosts")
    before = benchmark_pages.read_result(Path(options["compare"])).data if options["compare"] else None
    pages = {
        files.benchmark_page_name(result.stem): benchmark_pages.result_page(result, options["plots"], before)
        for result in results
        if names is None or result.stem in names
    }
    if options["index"]:
        pages[f"{files.INDEX}.html"] = benchmark_pages.index_page(results)
    written = []
    for name, content in pages.items():
        path = os.path.join(directory, name)
        if not files.is_current(path, content):
            if not check_mode:
                files.write_page(path, content)
            written.append(path)
    return {"changed": bool(written), "written": written}


class ActionModule(ActionBase):
    """The pages of all benchmarks in a directory."""

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

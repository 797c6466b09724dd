# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs the module page_size_benchmark with the collection's own scripts for sysbench, which it carries to the host as an argument."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

MODULE = "pagesmith.innodb.page_size_benchmark"
SCRIPTS = Path(__file__).resolve().parents[2] / "roles" / "benchmark" / "files"


def own_scripts() -> dict[str, str]:
    """The scripts by the names of their files."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(SCRIPTS.glob("*.lua"))}


class ActionModule(ActionBase):
    """The module's own result."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        arguments["scripts"] = {**own_scripts(), **(arguments.get("scripts") or {})}
        result.update(self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars))
        return result

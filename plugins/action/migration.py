# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs the module migration in the background on the host, so that a lost connection does not end it, and prints its progress."""

from __future__ import annotations

import base64
import json
import time
import uuid
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.pagesmith.innodb.plugins.module_utils.progress import line

MODULE = "pagesmith.innodb.migration"
LIMIT_SECONDS = 30 * 24 * 3600
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 10.0
UNREACHABLE_POLLS = 30
VANISHED_POLLS = 3

display = Display()


class ActionModule(ActionBase):
    """The module's own result, with lines of progress before it."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        task_vars = task_vars or {}
        arguments = dict(self._task.args)
        if self._task.check_mode:
            result.update(self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars))
            return result
        progress_file = f"/run/pagesmith-progress-{uuid.uuid4().hex}.json"
        arguments["progress_file"] = progress_file
        job = self._start(arguments, task_vars)
        if "ansible_job_id" not in job:
            result.update(job)
            return result
        result.update(self._wait(job["ansible_job_id"], progress_file, task_vars))
        return result

    def _start(self, arguments: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        self._task.async_val = LIMIT_SECONDS
        try:
            return self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars, wrap_async=True)
        finally:
            # The executor would wait for the job a second time.
            self._task.async_val = 0

    def _job(self, job_id: str, mode: str, task_vars: dict[str, Any]) -> dict[str, Any]:
        arguments = {"jid": job_id, "mode": mode, "_async_dir": self.get_shell_option("async_dir", default="~/.ansible_async")}
        return self._execute_module(module_name="ansible.legacy.async_status", module_args=arguments, task_vars=task_vars)

    def _wait(self, job_id: str, progress_file: str, task_vars: dict[str, Any]) -> dict[str, Any]:
        """Poll until the job has ended; a host that does not answer is asked again for some minutes."""
        shown: dict[int, str] = {}
        pause = FIRST_PAUSE_SECONDS
        lost = vanished = 0
        while True:
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)
            status = self._job(job_id, "status", task_vars)
            if status.get("unreachable"):
                lost += 1
                if lost > UNREACHABLE_POLLS:
                    raise AnsibleActionFail(
                        f"The host does not answer any more. The migration (job {job_id}) goes on there by itself."
                        " Run the same playbook again later: it tells what came of it, or goes on."
                    )
                continue
            lost = 0
            if status.get("finished"):
                self._show(status.get("progress", []), shown, task_vars)
                self._job(job_id, "cleanup", task_vars)
                for key in ("ansible_job_id", "started", "finished", "results_file", "stdout", "stderr", "stdout_lines", "stderr_lines"):
                    status.pop(key, None)
                return status
            states = self._read(progress_file, task_vars)
            # The file goes with the module's end; without a result it went with the host.
            vanished = vanished + 1 if shown and not states else 0
            if vanished > VANISHED_POLLS:
                raise AnsibleActionFail(
                    "The migration on the host has ended without a result, as after a restart of the host. All data is there,"
                    " the server may be down. Run the same playbook again: it goes on. Or run the playbook rollback."
                )
            self._show(states, shown, task_vars)

    def _read(self, path: str, task_vars: dict[str, Any]) -> list[dict[str, Any]]:
        """The states in the progress file; none while it is not there."""
        answer = self._execute_module(module_name="ansible.legacy.slurp", module_args={"src": path}, task_vars=task_vars)
        if "content" not in answer:
            return []
        return json.loads(base64.b64decode(answer["content"]))

    def _show(self, states: list[dict[str, Any]], shown: dict[int, str], task_vars: dict[str, Any]) -> None:
        """Print the lines that are new."""
        for index, state in enumerate(states):
            text = line(state)
            if shown.get(index) != text:
                shown[index] = text
                display.display(f"[{task_vars.get('inventory_hostname', 'host')}] {text}")

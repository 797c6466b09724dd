# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Puts servers in the order in which they are migrated, on the controller; topology.py has the rules."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.pagesmith.innodb.plugins.module_utils import page_size
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.topology import line, plan_rollout

OPTIONS: dict[str, dict[str, Any]] = {
    "facts": {"type": "dict", "required": True},
    "page_size": {"type": "str", "required": True},
    "serial": {"type": "int", "default": 1},
}


class ActionModule(ActionBase):
    """The plan of a rollout as the result of a task."""

    _supports_check_mode = True
    _supports_async = False
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(argument_spec=OPTIONS)
        try:
            target = page_size.parse(arguments["page_size"])
        except InnodbError as error:
            raise AnsibleActionFail(str(error)) from error
        if arguments["serial"] < 1:
            raise AnsibleActionFail(f"{arguments['serial']} hosts at a time are none. Set innodb_serial to 1 or more.")
        plan = plan_rollout(arguments["facts"], target, arguments["serial"])
        lines = [line(number, entry) for number, entry in enumerate(plan["order"], 1)]
        result.update(changed=False, sizes=[len(batch) for batch in plan["batches"]], lines=lines, **plan)
        if plan["blockers"]:
            texts = " ".join(f"({number}) {each['message']}. {each['remedy']}." for number, each in enumerate(plan["blockers"], 1))
            result.update(failed=True, outcome="refused", msg=f"The rollout is refused. No host was changed. {texts}")
        return result

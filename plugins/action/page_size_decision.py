# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decides on the controller which page size a server should have; the host is not asked anything."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.decision import decide
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.policy import load_policy

SHIPPED_POLICY = Path(__file__).resolve().parents[2] / "roles" / "assess" / "files" / "policy.yml"
OPTIONS: dict[str, dict[str, Any]] = {
    "facts": {"type": "dict", "required": True},
    "rehearsal": {"type": "dict"},
    "benchmark": {"type": "dict"},
    "policy": {"type": "raw"},
    "site_policies": {"type": "list", "elements": "raw", "default": []},
}


def plain(value: Any) -> Any:
    """The value in the types of JSON: Ansible's own kinds of text and number are strange to JMESPath."""
    return json.loads(json.dumps(value, default=str))


class ActionModule(ActionBase):
    """The decision as the result of a task."""

    _supports_check_mode = True
    _supports_async = False
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(argument_spec=OPTIONS)
        try:
            policy = load_policy(
                self._policy(arguments["policy"] or str(SHIPPED_POLICY)),
                [self._policy(each) for each in arguments["site_policies"] or []],
            )
        except InnodbError as error:
            raise AnsibleActionFail(str(error)) from error
        given = {key: plain(arguments[key]) for key in ("facts", "rehearsal", "benchmark")}
        result.update(changed=False, **decide(policy=policy, today=datetime.datetime.now(datetime.timezone.utc).date(), **given))
        return result

    def _policy(self, given: Any) -> Any:
        """A mapping as it is; a path where Ansible finds files of roles and playbooks."""
        given = plain(given)
        return self._find_needle("files", given) if isinstance(given, str) else given

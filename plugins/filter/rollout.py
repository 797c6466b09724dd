# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Views of a rollout for the playbook migrate."""

from __future__ import annotations

from typing import Any

from ansible_collections.pagesmith.innodb.plugins.plugin_utils.topology import not_following, standing, unsettled


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Any]:
        return {"rollout_standing": standing, "rollout_unsettled": unsettled, "not_following": not_following}

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The options of a server's drop-in, for templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.pagesmith.innodb.plugins.module_utils import page_size as page_sizes
from ansible_collections.pagesmith.innodb.plugins.module_utils.engines import parse_banner
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.server_options import choose


def facts_of(info: Mapping[str, Any], page_size: str | int) -> dict[str, Any]:
    """What choose() looks at, from what instance_info says. Lines of our own drop-in are not set elsewhere."""
    datadir = (info.get("storage") or {}).get("datadir") or {}
    return {
        "page_size": page_sizes.parse(page_size),
        "memory_bytes": info.get("memory_bytes"),
        "rotational": datadir.get("rotational"),
        "datadir_is_mount_point": (info.get("layout") or {}).get("mount_point", False),
        "set_elsewhere": {entry["name"]: entry["value"] for entry in info.get("settings") or () if entry["file"] != info.get("drop_in")},
    }


def server_options(info: Mapping[str, Any], page_size: str | int, wishes: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The options to write for a server, in order, each with name, value, reason and its line of the option file."""
    try:
        choices = choose(parse_banner(info["banner"]), facts_of(info, page_size), wishes or {})
    except InnodbError as error:
        raise AnsibleFilterError(str(error)) from error
    return [{**choice._asdict(), "line": choice.line} for choice in choices]


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {"server_options": server_options}

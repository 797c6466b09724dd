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
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_question import FLASH, ROTATING
from ansible_collections.pagesmith.innodb.plugins.module_utils.server_options import Plan, plan_options

#: What the kind of a device means for the choice. Others say nothing: a virtual disk lies on something unknown.
STORAGE_OF_KIND = {"nvme": FLASH, "ssd": FLASH, "hdd": ROTATING}


def storage_of(datadir: Mapping[str, Any]) -> str | None:
    """Flash, rotating, or none when it is not certain. Virtual disks say that they rotate, so that alone decides nothing."""
    found = STORAGE_OF_KIND.get(datadir.get("kind"))
    return FLASH if found is None and datadir.get("rotational") is False else found


def facts_of(info: Mapping[str, Any], page_size: str | int) -> dict[str, Any]:
    """What plan_options() looks at, from what instance_info says. Lines of our own drop-in are not set elsewhere."""
    datadir = (info.get("storage") or {}).get("datadir") or {}
    return {
        "page_size": page_sizes.parse(page_size),
        "memory_bytes": info.get("memory_bytes"),
        "storage": storage_of(datadir),
        "physical_sector_bytes": datadir.get("physical_sector_bytes"),
        "atomic_write_unit_bytes": datadir.get("atomic_write_unit_bytes"),
        "total_bytes": datadir.get("total_bytes"),
        "numa_nodes": info.get("numa_nodes"),
        "datadir_is_mount_point": (info.get("layout") or {}).get("mount_point", False),
        "set_elsewhere": {entry["name"]: entry for entry in info.get("settings") or () if entry["file"] != info.get("drop_in")},
    }


def _plan(info: Mapping[str, Any], page_size: str | int, wishes: Mapping[str, Any] | None) -> Plan:
    try:
        return plan_options(parse_banner(info["banner"]), facts_of(info, page_size), wishes or {})
    except InnodbError as error:
        raise AnsibleFilterError(str(error)) from error


def server_options(info: Mapping[str, Any], page_size: str | int, wishes: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The options to write for a server, in order, each with name, value, reason and its line of the option file."""
    return [{**choice._asdict(), "line": choice.line} for choice in _plan(info, page_size, wishes).choices]


def option_conflicts(info: Mapping[str, Any], page_size: str | int, wishes: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """Where another option file sets one of these options to something else, each with a sentence about it."""
    return [{**conflict._asdict(), "message": str(conflict)} for conflict in _plan(info, page_size, wishes).conflicts]


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {"server_options": server_options, "option_conflicts": option_conflicts}

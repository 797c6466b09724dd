#!/usr/bin/python
# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Facts of a database server, also when it is down."""

from __future__ import annotations

DOCUMENTATION = r"""
module: instance_info
short_description: Facts of a MariaDB, MySQL or Percona Server instance
version_added: 0.1.0
description:
  - Tells which server a host runs, its InnoDB page size, where it keeps what, how large it is, and what migrations have left.
  - With the server down, the page size is read from the first page of the system tablespace.
options:
  gather_subset:
    description:
      - What to tell besides the server and its page size.
      - V(schema) needs a session; with the server down it is left out, and RV(omitted) says so.
    type: list
    elements: str
    choices: [layout, storage, settings, schema, migration]
    default: [layout, storage, settings, schema, migration]
  work_dir:
    description: Where migrations keep their journal on the host.
    type: path
    default: /var/lib/pagesmith-innodb
extends_documentation_fragment:
  - pagesmith.innodb.attributes
  - pagesmith.innodb.attributes.info_module
  - pagesmith.innodb.attributes.actiongroup_innodb
  - pagesmith.innodb.instance
  - pagesmith.innodb.login
author:
  - Pagesmith (@pagesmith)
seealso:
  - module: pagesmith.innodb.migration
"""

EXAMPLES = r"""
- name: Look at the standard server of the host
  pagesmith.innodb.instance_info:
  register: innodb

- name: Look at the second of two servers
  pagesmith.innodb.instance_info:
    instance:
      service: mariadb@second
    gather_subset: [layout]
"""

RETURN = r"""
engine:
  description: C(mariadb), C(mysql) or C(percona).
  type: str
  returned: success
version:
  description: Version of the server program.
  type: str
  returned: success
  sample: 10.11.19
banner:
  description: What the server program says of itself.
  type: str
  returned: success
running:
  description: Whether the server runs.
  type: bool
  returned: success
name:
  description: The name under which the work directory knows the instance.
  type: str
  returned: success
manager:
  description: C(systemd) or C(process).
  type: str
  returned: success
service:
  description: The systemd unit, if there is one.
  type: str
  returned: success
page_size:
  description: Page size in bytes, of the running server, else of its files; none when it is not known.
  type: int
  returned: success
page_size_files:
  description: Page size in bytes as the first page of the system tablespace has it.
  type: int
  returned: success
page_size_server:
  description: Page size in bytes as the running server says.
  type: int
  returned: success
page_size_option:
  description: Page size in bytes that the option files ask for.
  type: int
  returned: success
page_sizes_supported:
  description: Page sizes in bytes that this engine and version can have.
  type: list
  elements: int
  returned: success
datadir:
  description: The data directory.
  type: str
  returned: success
socket:
  description: The Unix socket.
  type: str
  returned: success
error_log:
  description: The error log, if it is a file.
  type: str
  returned: success
group_suffix:
  description: The suffix of the option groups that belong to this instance alone.
  type: str
  returned: success
memory_bytes:
  description: Memory of the host, or of the control group it runs in.
  type: int
  returned: success
drop_in:
  description: Where an option file of this collection belongs; none when the option files include no directory.
  type: str
  returned: success
layout:
  description: Every path the server writes.
  type: dict
  returned: O(gather_subset) has V(layout)
storage:
  description: For each path its free bytes and what is known of the device.
  type: dict
  returned: O(gather_subset) has V(storage)
settings:
  description: Every line of an option file that sets an option of this server, in the order in which they are read.
  type: list
  elements: dict
  returned: O(gather_subset) has V(settings)
schema:
  description: Number and bytes of tables, in all and by storage engine, the largest ones, and how many other objects there are.
  type: dict
  returned: O(gather_subset) has V(schema) and the server runs
migration:
  description: Runs of the journal, what they keep and since when.
  type: dict
  returned: O(gather_subset) has V(migration)
omitted:
  description: Subsets that were asked for and could not be told, each with its reason.
  type: dict
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.pagesmith.innodb.plugins.module_utils import ansible_adapter, page_size
from ansible_collections.pagesmith.innodb.plugins.module_utils.block_device import memory_bytes
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.facts import Facts, read_facts
from ansible_collections.pagesmith.innodb.plugins.module_utils.instance import find_instance
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_file import drop_in_path
from ansible_collections.pagesmith.innodb.plugins.module_utils.session import connect
from ansible_collections.pagesmith.innodb.plugins.module_utils.work_directory import WorkDirectory

SUBSETS = ["layout", "storage", "settings", "schema", "migration"]
LARGEST_SHOWN = 20
#: Beginnings of the names of options that are told. Others may hold secrets, such as wsrep_sst_auth.
TOLD_SETTINGS = ("innodb_", "aria_", "datadir", "socket", "port", "tmpdir", "log_bin", "server_id", "ignore_db_dirs", "user")


def server_facts(facts: Facts, asked_size: str | None) -> dict:
    """Facts that need no subset. asked_size: innodb_page_size as the option files have it."""
    instance = facts.instance
    return {
        "engine": instance.engine.name,
        "version": instance.engine.version_text,
        "banner": instance.engine.banner,
        "running": facts.running,
        "name": instance.name,
        "manager": instance.service.kind,
        "service": getattr(instance.service, "unit", None),
        "page_size_files": facts.page_size,
        "page_size_option": page_size.parse(asked_size) if asked_size else None,
        "page_sizes_supported": list(instance.engine.trait("page_sizes")),
        "datadir": instance.datadir,
        "socket": instance.socket,
        "error_log": instance.error_log,
        "group_suffix": instance.group_suffix or "",
        "memory_bytes": memory_bytes(),
        "drop_in": drop_in_path(instance.options, instance.group_suffix),
    }


def schema_facts(facts: Facts) -> dict:
    """Sizes by the server's own estimate, in bytes."""
    tables = facts.server.tables
    by_engine: dict = {}
    for table in tables:
        entry = by_engine.setdefault(table.engine, {"tables": 0, "bytes": 0})
        entry["tables"] += 1
        entry["bytes"] += table.size_bytes
    largest = sorted(tables, key=lambda table: -table.size_bytes)[:LARGEST_SHOWN]
    return {
        "schemas": facts.server.schemas,
        "objects": facts.server.objects,
        "tables": len(tables),
        "bytes": sum(table.size_bytes for table in tables),
        "by_engine": by_engine,
        "largest": [{"table": table.title, "bytes": table.size_bytes, "engine": table.engine} for table in largest],
    }


def migration_facts(work: WorkDirectory) -> dict:
    """What the journal says."""
    runs = work.journal.runs()
    return {
        "work_dir": work.path,
        "unfinished": [run.id for run in runs if run.status == "unfinished"],
        "runs": [
            {
                "id": run.id,
                "status": run.status,
                "page_size_before": run.facts.get("before"),
                "page_size_after": run.facts.get("target"),
                "kept": run.kept(),
                "ended": run.times.get("finish"),
            }
            for run in runs
        ],
    }


def gather(module: AnsibleModule) -> dict:
    """All facts that were asked for."""
    subsets = module.params["gather_subset"]
    instance = find_instance(ansible_adapter.runner(module), ansible_adapter.instance_spec(module.params))
    facts = read_facts(instance, ansible_adapter.login(module.params) if "schema" in subsets else None)
    asked = instance.options.where("innodb_page_size")
    result = server_facts(facts, asked[-1].value if asked else None)
    result["omitted"] = {}
    result["page_size_server"] = None
    if facts.server:
        result["page_size_server"] = int(facts.server.variables["innodb_page_size"])
    elif facts.running:
        with connect(instance.login(ansible_adapter.login(module.params))) as session:
            result["page_size_server"] = int(session.variables("innodb_page_size")["innodb_page_size"])
    result["page_size"] = result["page_size_server"] or facts.page_size
    if "layout" in subsets:
        result["layout"] = facts.layout.as_dict()
    if "storage" in subsets:
        result["storage"] = facts.storage
    if "settings" in subsets:
        result["settings"] = [setting._asdict() for setting in instance.options.settings if setting.name.startswith(TOLD_SETTINGS)]
    if "migration" in subsets:
        result["migration"] = migration_facts(WorkDirectory(module.params["work_dir"], instance.name))
    if "schema" in subsets and facts.server:
        result["schema"] = schema_facts(facts)
    elif "schema" in subsets:
        result["omitted"]["schema"] = "the server is not running"
    return result


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "gather_subset": {"type": "list", "elements": "str", "choices": SUBSETS, "default": SUBSETS},
            "work_dir": {"type": "path", "default": "/var/lib/pagesmith-innodb"},
            **ansible_adapter.INSTANCE_OPTIONS,
            **ansible_adapter.LOGIN_OPTIONS,
        },
        supports_check_mode=True,
    )
    try:
        result = gather(module)
    except InnodbError as error:
        ansible_adapter.fail(module, error)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()

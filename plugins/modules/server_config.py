#!/usr/bin/python
# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One option file of ours for a database server, tried before it is used and read back afterwards."""

from __future__ import annotations

DOCUMENTATION = r"""
module: server_config
short_description: An option file for a database server, tried by the server before it is used
version_added: 0.1.0
description:
  - Writes one option file into the directory that the server reads last, and proves that the server takes it.
  - Before the file is written, the server's own program is started with it on a scratch data directory, privately and with little memory.
    What it refuses, ignores or adjusts is a failure, and nothing is changed.
  - Afterwards every value is read back from the running server. A value that is not what the file asks for is a failure,
    unless the server has not been restarted since the file was written.
  - The page size of a server that has data is not changed here; that is what M(pagesmith.innodb.migration) is for.
options:
  content:
    description:
      - The content of the option file. Other option files can't be included from it.
      - An option that a later line of another option file, or the command line of the server, sets to something else is refused.
    type: str
    required: true
  restart:
    description:
      - Whether to restart a running server that was started before the file was written. A server that is down stays down.
      - When it does not start with the new file, the old one is put back, the server is started with that, and the module fails.
    type: bool
    default: false
  add_include:
    description:
      - Whether the server's option file may be given a line C(!includedir) for a directory of its own name with C(.d) behind it,
        when it includes no directory, as on cPanel or with a defaults file of one's own.
      - Without that the module refuses, and says which line to add where.
    type: bool
    default: false
  work_dir:
    description:
      - Where migrations keep their journal on the host.
      - While a migration of the instance runs, or is unfinished, the module refuses to work.
    type: path
    default: /var/lib/pagesmith-innodb
  stop_timeout:
    description: How many seconds the server may take to stop.
    type: int
    default: 600
  start_timeout:
    description: How many seconds the server may take to start.
    type: int
    default: 900
extends_documentation_fragment:
  - pagesmith.innodb.attributes
  - pagesmith.innodb.attributes.actiongroup_innodb
  - pagesmith.innodb.instance
  - pagesmith.innodb.login
attributes:
  check_mode:
    support: full
    details:
      - The trial on a scratch data directory is made in check mode too; nothing of it stays on the host.
  diff_mode:
    support: full
  idempotent:
    support: full
author:
  - Pagesmith (@pagesmith)
seealso:
  - module: pagesmith.innodb.instance_info
  - module: pagesmith.innodb.migration
"""

EXAMPLES = r"""
- name: Give the server a larger buffer pool, now
  pagesmith.innodb.server_config:
    content: |
      [mysqld]
      innodb_page_size=16k
      innodb_buffer_pool_size=12G
    restart: true

- name: See what would change, and whether the server would take it
  pagesmith.innodb.server_config:
    content: "{{ nvme_config_content }}"
  check_mode: true
  diff: true
"""

RETURN = r"""
path:
  description: The option file.
  type: str
  returned: success
  sample: /etc/mysql/mariadb.conf.d/zz-pagesmith.cnf
running:
  description: Whether the server runs.
  type: bool
  returned: success
restarted:
  description: Whether the server was restarted, or would be in check mode.
  type: bool
  returned: success
restart_pending:
  description: Whether the running server was started before the file was written, so that its values do not count yet.
  type: bool
  returned: success
sockets:
  description: Active socket units of systemd that listen in the server's place, of which the module also warns.
  type: list
  elements: str
  returned: success
rounded:
  description: What the running server rounded, as sentences.
  type: list
  elements: str
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.pagesmith.innodb.plugins.module_utils import ansible_adapter, config_file, operations, server_config
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import UNCHANGED, InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.instance import Instance, find_instance
from ansible_collections.pagesmith.innodb.plugins.module_utils.journal import lock_held, locked
from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import plan_paths, read_layout
from ansible_collections.pagesmith.innodb.plugins.module_utils.session import require_driver
from ansible_collections.pagesmith.innodb.plugins.module_utils.work_directory import WorkDirectory


def require_accepted(module: AnsibleModule, instance: Instance, change: config_file.Change) -> None:
    """InnodbError with everything that the real server program finds wrong with the file."""
    paths = plan_paths(read_layout(instance), "trial")
    with operations.scratch_directory() as directory:
        run = ansible_adapter.runner(module)
        problems = server_config.candidate_problems(run, instance, paths, change.after, directory, change.size)
    if problems:
        raise InnodbError(f"the server would not take {change.path}: {'; '.join(problems)}", remedy="Correct the content and run again")


def carry_out(module: AnsibleModule, instance: Instance, work: WorkDirectory, change: config_file.Change, restart: bool) -> Instance:
    """Write the file and restart the server, under the lock of the instance."""
    spec = ansible_adapter.instance_spec(module.params)
    restarter = config_file.Restart(ansible_adapter.runner(module), spec, module.params["stop_timeout"], module.params["start_timeout"])
    work.create(instance.owner()[1])
    with locked(work.path):
        config_file.put(change.edits)
        return restarter.into(instance, change) if restart else instance


def configure(module: AnsibleModule) -> dict:
    """All of it, up to the point where check mode stops."""
    require_driver()
    instance = find_instance(ansible_adapter.runner(module), ansible_adapter.instance_spec(module.params))
    work = WorkDirectory(module.params["work_dir"], instance.name)
    config_file.require_no_migration(work, lock_held(work.path))
    change = config_file.plan(instance, module.params["content"], module.params["add_include"])
    if change.changes:
        require_accepted(module, instance, change)
    sockets = instance.service.sockets()
    warning = config_file.socket_warning(sockets)
    if warning:
        module.warn(warning)
    running = instance.running()
    pending = running and (change.changes or config_file.restart_pending(instance, change.path))
    restart = pending and module.params["restart"]
    changed = change.changes or restart
    if changed and not module.check_mode:
        instance = carry_out(module, instance, work, change, restart)
    pending = pending and not restart
    rounded = []
    if running and not pending and not (changed and module.check_mode):
        state = "The file was written and the server restarted with it." if changed else UNCHANGED
        rounded = config_file.read_back_values(instance, ansible_adapter.login(module.params), change.after, state)
    return {
        "changed": changed,
        "path": change.path,
        "running": running,
        "restarted": restart,
        "restart_pending": pending,
        "sockets": sockets,
        "rounded": [str(mismatch) for mismatch in rounded],
        "diff": change.diff(),
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "content": {"type": "str", "required": True},
            "restart": {"type": "bool", "default": False},
            "add_include": {"type": "bool", "default": False},
            "work_dir": {"type": "path", "default": operations.DEFAULT_WORK_DIR},
            "stop_timeout": {"type": "int", "default": 600},
            "start_timeout": {"type": "int", "default": 900},
            **ansible_adapter.INSTANCE_OPTIONS,
            **ansible_adapter.LOGIN_OPTIONS,
        },
        supports_check_mode=True,
    )
    ansible_adapter.end_orderly()
    try:
        result = configure(module)
    except InnodbError as error:
        ansible_adapter.fail(module, error)
    module.exit_json(**result)


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Migrate an instance to another InnoDB page size, undo that, or delete what it kept."""

from __future__ import annotations

DOCUMENTATION = r"""
module: migration
short_description: Change the InnoDB page size of an instance
version_added: 0.1.0
description:
  - Brings an instance to another page size by O(strategy), proves that nothing was lost, and keeps the old data directory.
  - All steps run in one process on the host, under a lock, with a journal. When a step fails, the module rolls back by itself.
    When the process is killed, the next run goes on, or O(state=rolled_back) undoes it.
  - With V(dump_restore) the server is stopped cleanly and its data served on a private socket, so no client can write behind its back.
  - The new data directory is built beside the old one, which stays in its place until both are proven equal.
options:
  state:
    description:
      - V(migrated) brings the instance to O(page_size).
      - V(rolled_back) undoes the last migration, finished or not, as long as its old directory is kept.
      - V(retired) deletes what the migration named by O(retire_confirm) kept.
    type: str
    choices: [migrated, rolled_back, retired]
    default: migrated
  page_size:
    description: The page size, as V(4k), V(8k), V(16k), V(32k), V(64k), or in bytes. Required for O(state=migrated).
    type: str
  config:
    description:
      - Content of the option file that is put in place with the new data directory. It must set C(innodb_page_size).
      - Required for O(state=migrated).
    type: str
  work_dir:
    description: Directory for dump and journal on the host.
    type: path
    default: /var/lib/pagesmith-innodb
  strategy:
    description:
      - V(dump_restore) stops the server, dumps it through a private socket, and restores into the new data directory.
      - V(live) copies the running server, lets the copy follow it by its binary log, and exchanges both in a moment.
      - V(auto) takes V(dump_restore).
    type: str
    choices: [auto, dump_restore, side_by_side, live]
    default: auto
  live:
    description: What a server can bear that is copied while it runs, and how long it may stand still.
    type: dict
    default: {}
    suboptions:
      outage_seconds:
        description: Seconds that writes may stand still before the old server is opened again.
        type: float
        default: 20
      lock_seconds:
        description: Seconds that a lock which clients feel may be waited for. It is taken for a moment at the beginning of the copy,
          for the comparison and at the end.
        type: int
        default: 3
      compare_seconds:
        description: Seconds for comparing once more, while writes stand still, tables that changed since they were compared.
        type: float
        default: 0.3
      attempts:
        description: How often the cut-over is tried when something that passes stands against it.
        type: int
        default: 5
      max_load:
        description: Counters of C(SHOW GLOBAL STATUS), and the values above which copying waits before the next table.
        type: dict
        default: {}
      lag_bytes:
        description: How many bytes of the binary log may be left to apply when the cut-over begins.
        type: int
        default: 1048576
      follow_seconds:
        description: Seconds that the copy may take to catch up.
        type: float
        default: 86400
  allow_differences:
    description:
      - Ids of differences, as the plan or a failure names them, that are allowed to come.
      - Nothing else that differs is let through.
    type: list
    elements: str
    default: []
  workers:
    description:
      - How many tables are loaded and compared at once; V(0) takes as many as there are processors, at least two.
      - With the strategy V(dump_restore) one more is dumped at once. One more of less than 4 MiB is loaded.
      - Servers that wait for the disk would leave processors idle otherwise.
    type: int
    default: 0
  digest:
    description:
      - How the content of tables is compared.
      - V(checksum) is C(CHECKSUM TABLE), 32 bits over the stored bytes of all rows, besides the row count.
      - V(md5) is the sum of 64 bits of the MD5 of each row, and takes about nine times the CPU time.
    type: str
    choices: [checksum, md5]
    default: checksum
  dump_keep:
    description: Whether the dump stays after the migration.
    type: bool
    default: false
  stop_timeout:
    description: How many seconds the server may take for its shutdown.
    type: int
    default: 600
  start_timeout:
    description: How many seconds the server may take to start.
    type: int
    default: 900
  catch_up_timeout:
    description: How many seconds a replica may take, once it is open again, to catch up with its sources.
    type: int
    default: 3600
  discard_writes:
    description: Whether a rollback may give up what clients wrote since the migration.
    type: bool
    default: false
  keep_writes:
    description:
      - Whether a rollback keeps what clients wrote since the migration. A copy of the retained directory then follows the running server by
        its binary log, is compared with it, and takes its place as with O(strategy=live).
      - It needs the binary log since the migration, and what O(strategy=live) asks for.
    type: bool
    default: false
  retention_days:
    description: How many days what a migration kept must have been kept before it is deleted.
    type: float
    default: 7
  retire_confirm:
    description: The path of the retained directory, typed out, to confirm that it is to be deleted.
    type: path
  progress_file:
    description: A file in which the progress is kept for the action plugin to read. It is removed at the end.
    type: path
attributes:
  check_mode:
    support: full
    details:
      - In check mode the plan is made, with all that stands against it, and nothing on the host is changed.
      - The rehearsal uses a private server in C(/var/tmp), which is removed again.
  diff_mode:
    support: full
    details:
      - Shows the change of the option file.
  idempotent:
    support: full
  platform:
    support: full
    platforms: linux
extends_documentation_fragment:
  - pagesmith.innodb.attributes
  - pagesmith.innodb.attributes.actiongroup_innodb
  - pagesmith.innodb.instance
  - pagesmith.innodb.login
author:
  - Pagesmith (@pagesmith)
notes:
  - On the controller this module has an action plugin that runs it in the background and prints its progress.
seealso:
  - module: pagesmith.innodb.instance_info
"""

EXAMPLES = r"""
- name: Change the page size
  pagesmith.innodb.migration:
    page_size: 8k
    config: |
      [mysqld]
      innodb_page_size = 8192

- name: Undo it
  pagesmith.innodb.migration:
    state: rolled_back

- name: Delete the old data directory after two weeks
  pagesmith.innodb.migration:
    state: retired
    retention_days: 14
    retire_confirm: /var/lib/mysql.pagesmith-16k-20261130T160000Z
"""

RETURN = r"""
outcome:
  description:
    - C(migrated), C(already), C(refused), C(rolled_back), C(retired), C(failed); in check mode C(planned).
  type: str
  returned: always
page_size_before:
  description: Page size in bytes before.
  type: int
  returned: when known
page_size_after:
  description: Page size in bytes after.
  type: int
  returned: when known
strategy:
  description: How it was done.
  type: str
  returned: O(state=migrated)
steps:
  description: The steps that were begun, each with name, seconds and outcome.
  type: list
  elements: dict
  returned: O(state=migrated)
write_outage_seconds:
  description: Seconds during which clients could not write.
  type: float
  returned: O(state=migrated)
read_outage_seconds:
  description: Seconds during which clients could not read.
  type: float
  returned: O(state=migrated)
outage_parts:
  description: The parts of the write outage of O(strategy=live) in seconds, by name.
  type: dict
  returned: O(state=migrated)
compared_at_fence:
  description: Tables that were compared once more while writes stood still, with O(strategy=live).
  type: list
  elements: str
  returned: O(state=migrated)
changed_since_comparison:
  description: Tables that clients changed between the comparison of all tables and the moment in which writes stood still.
  type: list
  elements: str
  returned: O(state=migrated)
bytes_moved:
  description: Bytes of the dump.
  type: int
  returned: O(state=migrated)
tables:
  description: Number of tables.
  type: int
  returned: O(state=migrated)
blockers:
  description: What stands against the migration, each with id, object, message and remedy.
  type: list
  elements: dict
  returned: O(state=migrated)
census_differences:
  description: Objects that differed, each with id, object, aspect, before and after.
  type: list
  elements: dict
  returned: O(state=migrated)
digest_differences:
  description: Tables and files whose content differed.
  type: list
  elements: dict
  returned: O(state=migrated)
retained_directory:
  description: Where the old data directory is kept.
  type: str
  returned: O(state=migrated)
plan:
  description: The steps, what is carried and what stays, as sentences.
  type: list
  elements: str
  returned: O(state=migrated)
allowed_differences:
  description: Ids of the differences that came and were allowed.
  type: list
  elements: str
  returned: O(state=migrated)
run:
  description: Id of the run in the journal.
  type: str
  returned: when something was done
progress:
  description: The lines of the progress as they stood at the end.
  type: list
  elements: dict
  returned: O(state=migrated) and something was done
removed:
  description: What was deleted.
  type: list
  elements: str
  returned: O(state=retired)
lost_writes:
  description: Objects that clients had changed since the migration and that a rollback gave up.
  type: list
  elements: str
  returned: O(state=rolled_back)
set_aside:
  description: Where the new directory is kept after a rollback.
  type: list
  elements: str
  returned: O(state=rolled_back)
freed_bytes:
  description: Bytes that retiring freed.
  type: int
  returned: O(state=retired)
"""

from dataclasses import replace

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.pagesmith.innodb.plugins.module_utils import ansible_adapter, operations, page_size
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.live_options import LiveOptions
from ansible_collections.pagesmith.innodb.plugins.module_utils.session import require_driver

LIVE_OPTIONS = {
    "outage_seconds": {"type": "float", "default": 20.0},
    "lock_seconds": {"type": "int", "default": 3},
    "compare_seconds": {"type": "float", "default": 0.3},
    "attempts": {"type": "int", "default": 5},
    "max_load": {"type": "dict", "default": {}},
    "lag_bytes": {"type": "int", "default": 1048576},
    "follow_seconds": {"type": "float", "default": 86400.0},
}


def argument_spec() -> dict:
    return {
        "state": {"type": "str", "choices": ["migrated", "rolled_back", "retired"], "default": "migrated"},
        "page_size": {"type": "str"},
        "config": {"type": "str"},
        "work_dir": {"type": "path", "default": operations.DEFAULT_WORK_DIR},
        "strategy": {"type": "str", "choices": ["auto", "dump_restore", "side_by_side", "live"], "default": "auto"},
        "live": {"type": "dict", "default": {}, "options": LIVE_OPTIONS},
        "allow_differences": {"type": "list", "elements": "str", "default": []},
        "workers": {"type": "int", "default": 0},
        "digest": {"type": "str", "choices": ["checksum", "md5"], "default": "checksum"},
        "dump_keep": {"type": "bool", "default": False},
        "stop_timeout": {"type": "int", "default": 600},
        "start_timeout": {"type": "int", "default": 900},
        "catch_up_timeout": {"type": "int", "default": 3600},
        "discard_writes": {"type": "bool", "default": False},
        "keep_writes": {"type": "bool", "default": False},
        "retention_days": {"type": "float", "default": 7.0},
        "retire_confirm": {"type": "path"},
        "progress_file": {"type": "path"},
        **ansible_adapter.INSTANCE_OPTIONS,
        **ansible_adapter.LOGIN_OPTIONS,
    }


def read_options(params: dict) -> operations.Options:
    return operations.Options(
        spec=ansible_adapter.instance_spec(params),
        login=ansible_adapter.login(params),
        target=page_size.parse(params["page_size"]) if params["state"] == "migrated" else 0,
        config=params["config"] or "",
        work_dir=params["work_dir"],
        allowed=frozenset(params["allow_differences"]),
        workers=params["workers"],
        digest_method=params["digest"],
        dump_keep=params["dump_keep"],
        stop_timeout=params["stop_timeout"],
        start_timeout=params["start_timeout"],
        catch_up_timeout=params["catch_up_timeout"],
        progress_file=params["progress_file"],
        strategy=params["strategy"],
        live=read_live_options(params["live"]),
    )


def read_live_options(given: dict) -> LiveOptions:
    """The options of the strategy live; limits of the load must be numbers."""
    try:
        limits = {name: float(limit) for name, limit in given.get("max_load", {}).items()}
    except (TypeError, ValueError) as error:
        raise InnodbError(f"live.max_load has a limit that is no number: {error}", refusal=True) from error
    return LiveOptions(**{**given, "max_load": limits})


def migrate(module: AnsibleModule, options: operations.Options) -> None:
    """Plan, and carry the plan out unless in check mode; leaves the module."""
    run = ansible_adapter.runner(module)
    situation = operations.read_situation(run, options)
    plan = operations.plan(run, options, situation)
    if module.check_mode or plan.outcome in ("already", "refused"):
        leave_with_plan(module, options, situation, plan)
    diff = operations.config_diff(options, situation)
    with operations.work_locked(situation):
        situation = replace(operations.read_situation(run, options), moment=situation.moment)
        operations.require_unchanged(options, situation)
        result = operations.migrate(run, options, situation, plan.lines + plan.notes)
    module.exit_json(changed=True, plan=plan.lines + plan.notes, diff=diff, **result)


def leave_with_plan(module: AnsibleModule, options: operations.Options, situation: operations.Situation, plan: object) -> None:
    result = operations.describe_plan(plan, options, situation)
    if plan.outcome == "refused":
        count = len(plan.blockers)
        texts = " ".join(f"({number}) {blocker.message}. {blocker.remedy}." for number, blocker in enumerate(plan.blockers, 1))
        module.fail_json(msg=f"The migration is refused for {count} reason{'s' * (count > 1)}. Nothing was changed. {texts}", **result)
    if plan.outcome == "already":
        module.exit_json(changed=False, **result)
    module.exit_json(changed=True, diff=operations.config_diff(options, situation), **result)


def roll_back(module: AnsibleModule, options: operations.Options) -> None:
    """Undo the last run; without effect when there is none."""
    if module.params["keep_writes"] and module.params["discard_writes"]:
        raise InnodbError("a rollback can't both keep and discard what was written since", remedy="Choose one of them", refusal=True)
    run = ansible_adapter.runner(module)
    situation = operations.read_situation(run, options)
    if operations.last_run_to_undo(situation) is None:
        module.exit_json(changed=False, outcome="already", msg="There is no migration whose old directory is kept.")
    if module.check_mode:
        module.exit_json(changed=True, outcome="planned")
    with operations.work_locked(situation):
        situation = operations.read_situation(run, options)
        if module.params["keep_writes"]:
            result = operations.roll_back_keeping_writes(run, options, situation)
        else:
            result = operations.roll_back(run, options, situation, module.params["discard_writes"])
    module.exit_json(changed=True, **result)


def retire(module: AnsibleModule, options: operations.Options) -> None:
    """Delete what a run kept; without effect when nothing is kept."""
    situation = operations.read_situation(ansible_adapter.runner(module), options)
    kept = [run.kept()[0] for run in situation.work.journal.runs() if run.kept()]
    if not kept:
        module.exit_json(changed=False, outcome="already", msg="Nothing is kept.")
    if not module.params["retire_confirm"]:
        raise InnodbError("no path was confirmed", remedy=f"Set innodb_retire_confirm to one of: {', '.join(kept)}")
    if module.check_mode:
        module.exit_json(changed=True, outcome="planned", kept=kept)
    with operations.work_locked(situation):
        situation = operations.read_situation(ansible_adapter.runner(module), options)
        result = operations.retire(situation, module.params["retire_confirm"], module.params["retention_days"])
    module.exit_json(changed=True, **result)


def main() -> None:
    module = AnsibleModule(
        argument_spec=argument_spec(),
        required_if=[("state", "migrated", ("page_size", "config"))],
        supports_check_mode=True,
    )
    actions = {"migrated": migrate, "rolled_back": roll_back, "retired": retire}
    ansible_adapter.end_orderly()
    try:
        require_driver()
        if module.params["progress_file"]:
            module.add_cleanup_file(module.params["progress_file"])
        actions[module.params["state"]](module, read_options(module.params))
    except operations.Failed as error:
        ansible_adapter.fail(module, error, **error.result)
    except InnodbError as error:
        ansible_adapter.fail(module, error, outcome="refused" if error.refusal else "failed")


if __name__ == "__main__":
    main()

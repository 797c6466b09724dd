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
  - Tells which server a host runs, its InnoDB page size, how it is set up, what is in it, what it does and what it runs on.
  - It reads counters, dictionaries, statistics and the sizes of files. No table is scanned, and only few are opened, so that it can be
    used on a busy server with very many tables.
  - With the server down, it tells what the files and the option files tell, and RV(omitted) names the rest.
options:
  gather_subset:
    description:
      - What to tell besides the server and its page size.
      - V(server) tells the build, the InnoDB settings and where each is set, and whether all agree on the page size.
      - V(layout) tells the paths, V(storage) what is under them, V(settings) the lines of the option files.
      - V(schema) tells the tables and how near they come to limits of each page size.
      - V(workload) looks at the counters twice, O(sample_seconds) apart, so it is not among the defaults.
      - V(replication) tells whom the server copies from, who copies from it, and what cluster it is in.
      - V(migration) tells what migrations have left.
      - V(all) is all of them.
    type: list
    elements: str
    choices: [all, server, layout, storage, settings, schema, workload, replication, migration]
    default: [server, layout, storage, settings, schema, replication, migration]
  sample_seconds:
    description:
      - Seconds between the two looks at the counters of the subset V(workload). With V(0) there is one look, and only what was counted
        since the start of the server is told.
    type: float
    default: 5
  subset_timeout:
    description:
      - Seconds that each subset may keep the server busy. What would take longer is left out, and RV(omitted) says so.
      - MySQL before 5.7.8 can't end a statement by itself; there, no further one is begun after this time.
    type: float
    default: 30
  table_list_limit:
    description: How many tables the subset V(schema) tells one by one, the largest first.
    type: int
    default: 200
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
notes:
  - Rows and bytes of InnoDB tables are those of its persistent statistics; no statistics are made anew.
  - An account without the privilege PROCESS does not see InnoDB's dictionary, so most of the subset V(schema) is left out.
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

- name: Is the server held up by its storage? Look at half a minute of its work
  pagesmith.innodb.instance_info:
    gather_subset: [workload]
    sample_seconds: 30
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
addresses:
  description: Addresses of the host.
  type: list
  elements: str
  returned: success
memory_bytes:
  description: Memory of the host, or of the control group it runs in.
  type: int
  returned: success
numa_nodes:
  description: How many nodes the memory of the host has; none where that is not told.
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
server:
  description: Build and settings of the server.
  type: dict
  returned: O(gather_subset) has V(server)
  contains:
    vendor_build:
      description: Version and build as the running server has them; none when it is down.
      type: str
      sample: 10.11.19-MariaDB-0+deb12u1 (Debian 12)
    uptime_seconds:
      description: Seconds since the start of the server; none when it is down.
      type: int
    variables:
      description:
        - The variables whose names begin with C(innodb_), and their values as text.
        - With the server down, those that a start would use.
      type: dict
    origins:
      description:
        - For each of these variables its C(value) and where it comes from.
        - Either C(file) and C(line); or C(default), true; or C(place), when it comes from the command line or was set while the
          server runs. C(line) is none when the file does not have the option any more.
      type: dict
      sample:
        innodb_page_size: {value: "8192", file: /etc/mysql/mariadb.conf.d/zz-pagesmith.cnf, line: 4}
        innodb_io_capacity: {value: "200", default: true}
    page_size_agrees:
      description: Whether option files, server and files have the same page size; with the server down option files and files.
      type: bool
    page_size_notes:
      description: What does not agree, one sentence each.
      type: list
      elements: str
storage:
  description:
    - What is under each directory that the server writes, by its path. The data directory is there a second time as C(datadir).
    - Sizes are in bytes. What is not known is none.
  type: dict
  returned: O(gather_subset) has V(storage)
  contains:
    datadir:
      description: The storage under the data directory. Every other key is a path, and has the same.
      type: dict
      contains:
        path:
          description: The directory.
          type: str
        free_bytes:
          description: Free bytes for users without privileges.
          type: int
        total_bytes:
          description: Size of the file system.
          type: int
        free_inodes:
          description: Free inodes for users without privileges; none where the file system has no limit.
          type: int
        total_inodes:
          description: Inodes of the file system.
          type: int
        file_system:
          description: Type of the file system.
          type: str
          sample: ext4
        mount_point:
          description: Where it is mounted.
          type: str
        mount_options:
          description: Options with which it is mounted.
          type: list
          elements: str
        device:
          description: What the kernel calls the device the file system lies on; for a partition its disk.
          type: str
        kind:
          description: C(nvme), C(ssd), C(hdd), C(virtual) or C(unknown); of several disks the slowest.
          type: str
        virtual:
          description: Whether a device is one of a virtual machine or another that stands for something else.
          type: bool
        stack:
          description: The devices from the file system down to the disks, each with C(name), C(type) and what is known of it.
          type: list
          elements: dict
        model:
          description: Models of the disks.
          type: str
        rotational:
          description: Whether the device says that it rotates. Virtual disks often say so though they don't.
          type: bool
        logical_sector_bytes:
          description: The smallest unit that can be read and written.
          type: int
        physical_sector_bytes:
          description: The unit in which the device works.
          type: int
        optimal_io_bytes:
          description: The size of I/O that the device prefers; none when it has no preference.
          type: int
        atomic_write_unit_bytes:
          description: The largest write that is done wholly or not at all.
          type: int
        lba_formats:
          description: Sector sizes that an NVMe device can be formatted with, C(bytes), C(in_use) and C(relative_performance) (0 is best).
          type: list
          elements: dict
        lba_formats_complete:
          description: Whether these are all formats. Without nvme-cli only the one in use is known.
          type: bool
        power_loss_protection:
          description: Whether written data survives a loss of power without a flush; none where that can't be told.
          type: bool
        scheduler:
          description: The I/O scheduler.
          type: str
        notes:
          description: What could not be found out, and why.
          type: list
          elements: str
settings:
  description:
    - Every line of an option file that sets an option of this server, in the order in which they are read.
    - Then the variables that C(SET PERSIST) keeps in MySQL's data directory, which win over all of them; their C(line) is V(0).
  type: list
  elements: dict
  returned: O(gather_subset) has V(settings)
schema:
  description:
    - Tables and other objects, without what belongs to the server itself (the schemas mysql, sys, information_schema and
      performance_schema). Partitions of a table are taken together. Sizes are in bytes.
    - With the server down, what the files tell; then names with accented letters stay as they are in file names, C(bytes) are those
      of the files, and what only the server knows is none.
  type: dict
  returned: O(gather_subset) has V(schema)
  contains:
    schemas:
      description: Names of the schemas.
      type: list
      elements: str
    objects:
      description: Number of C(views), C(triggers), C(routines), C(events) and C(accounts).
      type: dict
    tables:
      description: Number of tables.
      type: int
    bytes:
      description: Data and indexes together.
      type: int
    data_bytes:
      description: Rows, with the clustered index.
      type: int
    index_bytes:
      description: All other indexes.
      type: int
    file_bytes:
      description: What the files of the tables take on the disk, without tables in the system tablespace.
      type: int
    rows:
      description: Rows of InnoDB tables, by estimate.
      type: int
    by_engine:
      description: Number and bytes of tables by storage engine.
      type: dict
      sample: {InnoDB: {tables: 120, bytes: 5368709120}}
    by_row_format:
      description: The same of InnoDB tables by row format.
      type: dict
      sample: {Dynamic: {tables: 118, bytes: 5368500000}}
    small_tables:
      description: InnoDB tables of less than 512 KiB, whose space depends on the page size more than on their rows.
      type: dict
      contains:
        tables:
          description: Their number.
          type: int
        share:
          description: Their share of all InnoDB tables, 0 to 1.
          type: float
    large_objects:
      description: InnoDB tables with columns of the types TEXT, BLOB, JSON or GEOMETRY.
      type: dict
      contains:
        tables:
          description: Their number.
          type: int
        bytes:
          description: The data of these tables.
          type: int
        share:
          description: Its share of the data of all InnoDB tables, 0 to 1.
          type: float
    compressed:
      description: Compressed InnoDB tables.
      type: dict
      contains:
        tables:
          description: Number of tables with ROW_FORMAT=COMPRESSED or PAGE_COMPRESSED.
          type: int
        key_block_sizes:
          description: Number of tables by KEY_BLOCK_SIZE in bytes.
          type: dict
          sample: {"8192": 3}
    encrypted:
      description: Number of encrypted InnoDB tables, as C(tables).
      type: dict
    near_limits:
      description:
        - InnoDB tables whose declared rows or keys reach 90 % of a limit, or pass it, for each page size, those farthest past it first.
        - An early warning that costs nothing. What the server takes at another page size, only a rehearsal tells.
      type: list
      elements: dict
      contains:
        table:
          description: The table.
          type: str
        page_size:
          description: The page size in bytes.
          type: int
        kind:
          description: C(row) or C(key).
          type: str
        declared_bytes:
          description: The largest row or key that the declaration allows; of a row what stays in the record.
          type: int
        limit_bytes:
          description: The largest that the page size allows.
          type: int
    near_limits_omitted:
      description: How many more there are than the 1000 that are told.
      type: int
    largest:
      description: The 20 largest tables with C(table), C(bytes) and C(engine).
      type: list
      elements: dict
    table_list:
      description: Tables, the largest first, at most O(table_list_limit).
      type: list
      elements: dict
      contains:
        table:
          description: Schema and name.
          type: str
        engine:
          description: Storage engine.
          type: str
        row_format:
          description: Row format.
          type: str
        key_block_size:
          description: KEY_BLOCK_SIZE in bytes.
          type: int
        compressed:
          description: Whether rows or pages are compressed.
          type: bool
        encrypted:
          description: Whether it is encrypted.
          type: bool
        rows:
          description: Rows, by estimate; of InnoDB tables only.
          type: int
        data_bytes:
          description: Rows, with the clustered index.
          type: int
        index_bytes:
          description: All other indexes.
          type: int
        free_bytes:
          description: The part of its files that no index has taken.
          type: int
        file_bytes:
          description: What its files take on the disk.
          type: int
        average_row_bytes:
          description: C(data_bytes) for each row.
          type: int
        widest_key_bytes:
          description: Bytes of the largest value of its widest key.
          type: int
        declared_row_bytes:
          description: Bytes of the largest record that its declaration allows.
          type: int
        large_objects:
          description: Whether it has columns of the types TEXT, BLOB, JSON or GEOMETRY.
          type: bool
    table_list_omitted:
      description: How many more tables there are.
      type: int
workload:
  description: What the server does, by its own counters.
  type: dict
  returned: O(gather_subset) has V(workload) and the server runs
  contains:
    uptime_seconds:
      description: Seconds since the start of the server.
      type: int
    sample_seconds:
      description: Seconds between the two looks; 0 when there was one.
      type: float
    since_start:
      description: The mean since the start of the server.
      type: dict
      contains: &rates
        reads:
          description: SELECT statements per second.
          type: float
        writes:
          description: Statements per second that change rows.
          type: float
        rows_read_per_page_read:
          description: Rows read for each page that was read from storage.
          type: float
        buffer_pool_hit_ratio:
          description: Share of the requests for pages that needed no storage, 0 to 1.
          type: float
        pages_read:
          description: Pages read per second.
          type: float
        pages_written:
          description: Pages written per second.
          type: float
        bytes_read:
          description: Bytes per second that InnoDB read.
          type: float
        bytes_written:
          description: Bytes per second that InnoDB wrote, as it counts them.
          type: float
        log_writes:
          description: Writes to the redo log per second.
          type: float
        log_bytes:
          description: Bytes per second written to the redo log.
          type: float
        doublewrite_share:
          description: Share of the written bytes that went to the doublewrite buffer, 0 to 1.
          type: float
    sampled:
      description: The same between the two looks; none when there was one.
      type: dict
      contains: *rates
    buffer_pool:
      description: The buffer pool.
      type: dict
      contains:
        size_bytes:
          description: Its size.
          type: int
        data_bytes:
          description: Pages of data in it.
          type: int
        dirty_bytes:
          description: Those that are not written yet.
          type: int
        free_bytes:
          description: Free pages.
          type: int
        instances:
          description: Number of its instances.
          type: int
    working_set_bytes:
      description: Bytes of pages in use, where the counters tell, that is when the pool did not fill within a day.
      type: int
    io_bound:
      description: Whether the storage holds the server up.
      type: dict
      contains:
        verdict:
          description: C(yes), C(no) or C(unknown).
          type: str
        confidence:
          description: C(high), C(medium) or C(low).
          type: str
        reasons:
          description: What speaks for it, one sentence each.
          type: list
          elements: str
replication:
  description: Whom the server copies from and who copies from it.
  type: dict
  returned: O(gather_subset) has V(replication) and the server runs
  contains:
    role:
      description:
        - C(standalone), C(replica), C(primary), C(intermediate), C(galera) or C(group_replication); none when it could not be found out.
        - A primary has replicas that are registered or connected now.
      type: str
    upstream:
      description:
        - Channels, each with C(channel), C(running), C(lag_seconds), C(gtid) and C(error); of the source C(host), C(port), C(addresses)
          of that host as this one resolves its name, C(server_id) and C(server_uuid).
      type: list
      elements: dict
    downstream:
      description: Replicas, each with C(host), C(port) and C(server_id), as far as they are known.
      type: list
      elements: dict
    identity:
      description: By what other servers know this one, C(server_id), C(server_uuid) (of MySQL) and C(port).
      type: dict
    log_bin:
      description: Whether the binary log is written.
      type: bool
    binlog_format:
      description: Its format.
      type: str
    gtid:
      description:
        - C(mode), of MariaDB C(gtid_strict_mode), of MySQL C(gtid_mode); and C(position), of MariaDB C(gtid_current_pos),
          of MySQL C(gtid_executed).
      type: dict
    galera:
      description: State of a node of a Galera cluster; none when the server is none.
      type: dict
    group_replication:
      description: Whether the server is a member of a replication group of MySQL.
      type: bool
migration:
  description: Runs of the journal, what they keep and since when.
  type: dict
  returned: O(gather_subset) has V(migration)
omitted:
  description:
    - What was asked for and could not be told, each with its reason. The keys are subsets, or parts of them such as
      C(schema.statistics).
  type: dict
  returned: success
  sample:
    workload: the server is not running
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, Callable

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.pagesmith.innodb.plugins.module_utils import ansible_adapter
from ansible_collections.pagesmith.innodb.plugins.module_utils.addresses import local_addresses
from ansible_collections.pagesmith.innodb.plugins.module_utils.block_device import memory_bytes, numa_nodes, storage_of
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.facts import LOCK_WAIT, Limited, Omitted, require_own
from ansible_collections.pagesmith.innodb.plugins.module_utils.instance import Instance, find_instance
from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import Layout, read_layout
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_file import drop_in_path
from ansible_collections.pagesmith.innodb.plugins.module_utils.replication_facts import replication_facts
from ansible_collections.pagesmith.innodb.plugins.module_utils.schema_facts import schema_facts, schema_of_files, stored_bytes
from ansible_collections.pagesmith.innodb.plugins.module_utils.server_facts import asked_page_size, server_facts
from ansible_collections.pagesmith.innodb.plugins.module_utils.session import Session, connect
from ansible_collections.pagesmith.innodb.plugins.module_utils.work_directory import WorkDirectory
from ansible_collections.pagesmith.innodb.plugins.module_utils.workload_facts import workload_facts

ALL = "all"
SERVER_DOWN = "the server is not running"
#: Beginnings of the names of options that are told. Others may hold secrets, such as wsrep_sst_auth.
TOLD_SETTINGS = ("innodb_", "aria_", "datadir", "socket", "port", "tmpdir", "log_bin", "server_id", "ignore_db_dirs", "user", "large_pages")


@dataclass
class Look:
    """What the readers of the subsets are given. session and variables are there when the server runs."""

    params: dict[str, Any]
    run: Callable[..., Any]
    instance: Instance
    session: Session | None
    variables: dict[str, str]
    page_size_files: int | None
    omitted: Omitted

    def limited(self) -> Limited | None:
        """The session for one subset, with its time."""
        return Limited(self.session, self.instance.engine, self.params["subset_timeout"]) if self.session else None

    @property
    def page_size_server(self) -> int | None:
        return int(self.variables["innodb_page_size"]) if self.session else None


def basic_facts(look: Look) -> dict:
    """Facts that need no subset."""
    instance = look.instance
    return {
        "engine": instance.engine.name,
        "version": instance.engine.version_text,
        "banner": instance.engine.banner,
        "running": look.session is not None,
        "name": instance.name,
        "manager": instance.service.kind,
        "service": getattr(instance.service, "unit", None),
        "page_size": look.page_size_server or look.page_size_files,
        "page_size_server": look.page_size_server,
        "page_size_files": look.page_size_files,
        "page_size_option": asked_page_size(instance.options) if instance.options.where("innodb_page_size") else None,
        "page_sizes_supported": list(instance.engine.trait("page_sizes")),
        "datadir": instance.datadir,
        "socket": instance.socket,
        "error_log": instance.error_log,
        "group_suffix": instance.group_suffix or "",
        "addresses": local_addresses(),
        "memory_bytes": memory_bytes(),
        "numa_nodes": numa_nodes(),
        "drop_in": drop_in_path(instance.options, instance.group_suffix),
    }


def read_server(look: Look) -> dict:
    return server_facts(look.limited(), look.omitted, look.variables, look.instance.options, look.page_size_files)


def read_storage(look: Look) -> dict:
    layout = read_layout(look.instance)
    found = storage_of(directories(layout), look.run)
    return {**found, "datadir": found[layout.real_datadir]}


def directories(layout: Layout) -> list[str]:
    """Every directory in which the server writes, each once."""
    paths = [layout.real_datadir, *layout.outside.values(), *layout.mounts_inside]
    paths += [os.path.dirname(path) for path in layout.external]
    paths += [link if os.path.isdir(link) else os.path.dirname(link) for link in map(os.path.realpath, layout.symbolic_links)]
    if layout.binlog:
        paths.append(os.path.realpath(os.path.dirname(layout.binlog)))
    return list(dict.fromkeys(paths))


def read_settings(look: Look) -> list:
    return [setting._asdict() for setting in look.instance.options.settings if setting.name.startswith(TOLD_SETTINGS)]


def read_schema(look: Look) -> dict:
    limit, datadir = max(0, look.params["table_list_limit"]), os.path.realpath(look.instance.datadir)
    limited = look.limited()
    if limited:
        return schema_facts(limited, look.omitted, datadir, look.page_size_server, limit)
    return schema_of_files(datadir, monotonic() + look.params["subset_timeout"], look.omitted, limit)


def read_workload(look: Look) -> dict:
    limited, datadir = look.limited(), os.path.realpath(look.instance.datadir)
    stored = None
    with look.omitted.part("workload.stored_bytes"):
        stored = stored_bytes(limited, look.page_size_server)
    device = storage_of([datadir])[datadir]["kind"]
    return workload_facts(limited, look.variables, look.params["sample_seconds"], device, stored)


def read_replication(look: Look) -> dict:
    return replication_facts(look.limited(), look.omitted, look.variables)


def read_migration(look: Look) -> dict:
    """What the journal says."""
    work = WorkDirectory(look.params["work_dir"], look.instance.name)
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
                "channels": run.facts.get("replication", {}).get("channels", []),
                "ended": run.times.get("finish"),
            }
            for run in runs
        ],
    }


#: How each subset is read.
SUBSETS: dict[str, Callable[[Look], Any]] = {
    "server": read_server,
    "layout": lambda look: read_layout(look.instance).as_dict(),
    "storage": read_storage,
    "settings": read_settings,
    "schema": read_schema,
    "workload": read_workload,
    "replication": read_replication,
    "migration": read_migration,
}
NEEDS_SERVER = ("workload", "replication")
DEFAULT_SUBSETS = [name for name in SUBSETS if name != "workload"]


@contextmanager
def looking(module: AnsibleModule) -> Iterator[Look]:
    """The instance, and a session with its server when that runs."""
    run = ansible_adapter.runner(module)
    instance = find_instance(run, ansible_adapter.instance_spec(module.params))
    omitted = Omitted(module.params["subset_timeout"])
    look = Look(module.params, run, instance, None, {}, instance.page_size_of_files(), omitted)
    if not instance.running():
        yield look
        return
    with connect(instance.login(ansible_adapter.login(module.params))) as session:
        session.execute(LOCK_WAIT)
        look.session = session
        look.variables = {row["variable_name"].lower(): row["value"] for row in session.rows("SHOW GLOBAL VARIABLES")}
        require_own(look.variables, instance)
        yield look


def gather(module: AnsibleModule) -> dict:
    """All facts that were asked for."""
    asked = module.params["gather_subset"]
    with looking(module) as look:
        result = basic_facts(look)
        for name, read in SUBSETS.items():
            if name not in asked and ALL not in asked:
                continue
            if name in NEEDS_SERVER and look.session is None:
                look.omitted[name] = SERVER_DOWN
                continue
            with look.omitted.part(name):
                result[name] = read(look)
        result["omitted"] = dict(look.omitted)
    return result


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "gather_subset": {"type": "list", "elements": "str", "choices": [ALL, *SUBSETS], "default": DEFAULT_SUBSETS},
            "sample_seconds": {"type": "float", "default": 5},
            "subset_timeout": {"type": "float", "default": 30},
            "table_list_limit": {"type": "int", "default": 200},
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

#!/usr/bin/python
# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The real server's verdict on a schema and a sample of its rows at other page sizes, without touching the running server."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rehearsal
short_description: Ask the real server whether a schema fits other InnoDB page sizes, and how large it will be
version_added: 0.1.0
description:
  - For each page size, a private throw-away server of the same program is started in a directory of its own, with a Unix socket only and
    little memory. The whole schema of the running server is loaded into it, as a migration would.
  - Every object that the server refuses, or that comes out different, is reported with the server's own error. Changes of the table that
    may help are tried on the throw-away server, and the one that it takes is reported as the remedy.
  - Then a sample of rows of the largest and of the widest tables is loaded. Rows that fit no page are found, and the size of every table is
    predicted from the pages that the sample takes.
  - A table that is accepted does not promise that all its rows fit. RV(not_checked) says what was not looked at.
  - The running server is read by one session, in short ranges of primary keys, with a limit to the time of every statement and a rest after
    each. Rows do not pass through Ansible; the server writes them to files in a closed directory, which is removed. Rows of encrypted
    tables are not sampled.
  - The throw-away server and its directory are removed in the end. Should the module be killed, its server ends by itself, and the next
    rehearsal in the same directory removes what is left.
options:
  page_sizes:
    description: The page sizes to try, as V(8k) or in bytes.
    type: list
    elements: str
    required: true
  sample_bytes:
    description:
      - How many bytes of rows are sampled at most, over all tables.
      - A number of bytes, with a suffix V(K), V(M) or V(G) if wanted. With V(0) the schema alone is rehearsed.
    type: str
    default: 64M
  directory:
    description:
      - Where a directory for the throw-away servers is made. It must exist.
      - By default it is made beside the data directory, on the same file system, or in C(/var/tmp) where the data directory is a
        mount point.
      - The running server must be able to write there, or no rows are sampled. Where C(secure_file_priv) names the only directory
        to which it writes, as on MySQL, the samples lie in a directory there meanwhile.
    type: path
extends_documentation_fragment:
  - pagesmith.innodb.attributes
  - pagesmith.innodb.attributes.actiongroup_innodb
  - pagesmith.innodb.instance
  - pagesmith.innodb.login
attributes:
  check_mode:
    support: full
    details:
      - In check mode no server is started and nothing is written. RV(plan) says what would be done.
  diff_mode:
    support: N/A
    details:
      - Nothing of the host is changed.
  idempotent:
    support: full
    details:
      - Nothing of the host is changed.
author:
  - Pagesmith (@pagesmith)
seealso:
  - module: pagesmith.innodb.instance_info
  - module: pagesmith.innodb.migration
"""

EXAMPLES = r"""
- name: Does the schema fit smaller pages, and what would it take?
  pagesmith.innodb.rehearsal:
    page_sizes: [4k, 8k]
  register: rehearsal

- name: The verdict on the schema alone, within seconds
  pagesmith.innodb.rehearsal:
    page_sizes: [8k]
    sample_bytes: 0

- name: A closer look at the sizes, where the server may write
  pagesmith.innodb.rehearsal:
    page_sizes: [4k, 8k, 32k, 64k]
    sample_bytes: 512M
    directory: /srv/scratch
"""

RETURN = r"""
page_sizes:
  description: The verdict on each page size, which is a string of bytes. Empty in check mode.
  type: dict
  returned: success
  contains:
    fits:
      description: Whether there are no problems.
      type: bool
    problems:
      description: The objects that are refused, that come out different, or whose rows fit no page.
      type: list
      elements: dict
      contains:
        id:
          description: The object and the aspect, as O(pagesmith.innodb.migration#module:allow_differences) wants it.
          type: str
        object:
          description: The object.
          type: str
        aspect:
          description: V(creation), V(rows), V(server), V(existence), or the aspect of the object that is different.
          type: str
        before:
          description: The aspect on the running server.
          type: str
        after:
          description: The aspect with this page size, or the server's error.
          type: str
        message:
          description: The problem as a sentence.
          type: str
        remedy:
          description: What to do.
          type: str
        remedy_tried:
          description: Whether the throw-away server took the remedy, with the sample of rows if there is one.
          type: bool
    tables:
      description: How many tables were loaded.
      type: int
    rows_sampled:
      description: How many rows this server took.
      type: int
    bytes_sampled:
      description: The bytes of these rows, as written to a file.
      type: int
    predicted_bytes:
      description: Bytes of the files of all tables after a migration; none when it is not known.
      type: int
    predicted_error_bytes:
      description:
        - The truth lies that close to RV(page_sizes.predicted_bytes) in 19 of 20 cases, if the rows that were sampled are like
          the others.
      type: int
    seconds:
      description: How long this page size took.
      type: float
    per_table:
      description: The thousand largest tables, by name.
      type: dict
      contains:
        bytes_now:
          description: Bytes of the table's files now.
          type: int
        predicted_bytes:
          description: Bytes of its files after a migration; none when it is not known.
          type: int
        error_bytes:
          description: The truth lies that close to it in 19 of 20 cases.
          type: int
        rows_sampled:
          description: How many rows were sampled.
          type: int
    tables_omitted:
      description: How many tables RV(page_sizes.per_table) leaves out.
      type: int
checked:
  description: What was checked, as sentences.
  type: list
  elements: str
  returned: success
not_checked:
  description: What was not checked, and why.
  type: list
  elements: str
  returned: success
plan:
  description: What would be done, as sentences.
  type: list
  elements: str
  returned: in check mode
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.pagesmith.innodb.plugins.module_utils import ansible_adapter, candidates, page_size, scratch
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import UNCHANGED, InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.instance import Instance, find_instance
from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import Layout, plan_paths, read_layout
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_values import parse_bytes
from ansible_collections.pagesmith.innodb.plugins.module_utils.session import require_driver

FALLBACK_DIRECTORY = "/var/tmp"
NICENESS = 10


def read_sizes(texts: list, instance: Instance) -> list:
    """The page sizes in bytes, each once; InnodbError for one that the engine does not have."""
    sizes = list(dict.fromkeys(page_size.parse(text) for text in texts))
    known = instance.engine.trait("page_sizes")
    unknown = [page_size.label(size) for size in sizes if size not in known]
    if unknown or not sizes:
        names = ", ".join(page_size.label(size) for size in known)
        raise InnodbError(f"{instance.engine.title} has no pages of {', '.join(unknown) or 'no size'}", remedy=f"Choose from {names}")
    return sizes


def read_bytes(text: str) -> int:
    size = parse_bytes(text)
    if size is None or size < 0:
        raise InnodbError(f"sample_bytes: '{text}' is no number of bytes", remedy="Give it as 64M, or 0 for the schema alone")
    return size


def parent_directory(layout: Layout, given: str) -> str:
    """Where the scratch directory is made. Inside a data directory the running server would take it for a schema."""
    if given:
        return given
    parent = os.path.dirname(layout.real_datadir)
    same = os.stat(parent).st_dev == os.stat(layout.real_datadir).st_dev
    return parent if same and not layout.mount_point else FALLBACK_DIRECTORY


def describe(sizes: list, sample_bytes: int, parent: str) -> list:
    """What would be done, for check mode."""
    names = ", ".join(page_size.label(size) for size in sizes)
    rows = f"sample up to {sample_bytes} bytes of rows and load them" if sample_bytes else "sample no rows"
    return [
        f"make a directory in {parent} and remove it in the end",
        f"start a private throw-away server with pages of {names}, one after the other, and load the schema into each",
        rows,
    ]


def rehearse(module: AnsibleModule) -> dict:
    """All of it, up to the point where check mode stops."""
    run = ansible_adapter.runner(module)
    instance = find_instance(run, ansible_adapter.instance_spec(module.params))
    sizes = read_sizes(module.params["page_sizes"], instance)
    sample_bytes = read_bytes(module.params["sample_bytes"])
    if not instance.running():
        raise InnodbError(f"no server runs in {instance.datadir}, and its schema can't be read without", remedy="Start it and run again")
    layout = read_layout(instance)
    parent = parent_directory(layout, module.params["directory"])
    if not os.path.isdir(parent):
        raise InnodbError(f"the directory {parent} does not exist", remedy="Make it, or name another one")
    if module.check_mode:
        plan = describe(sizes, sample_bytes, parent)
        return {"page_sizes": {}, "checked": [], "not_checked": ["anything: check mode starts no server"], "plan": plan}
    os.nice(NICENESS)
    login = ansible_adapter.login(module.params)
    with scratch.scratch_directory(parent) as directory:
        paths = plan_paths(layout, "rehearsal")
        return candidates.rehearse_candidates(run, instance, login, paths, sizes, sample_bytes, directory)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "page_sizes": {"type": "list", "elements": "str", "required": True},
            "sample_bytes": {"type": "str", "default": "64M"},
            "directory": {"type": "path"},
            **ansible_adapter.INSTANCE_OPTIONS,
            **ansible_adapter.LOGIN_OPTIONS,
        },
        supports_check_mode=True,
    )
    ansible_adapter.end_orderly(UNCHANGED)
    try:
        require_driver()
        result = rehearse(module)
    except InnodbError as error:
        ansible_adapter.fail(module, error)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()

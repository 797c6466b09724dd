#!/usr/bin/python
# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action assess_report, which runs on the controller alone."""

from __future__ import annotations

DOCUMENTATION = r"""
module: assess_report
short_description: Write the pages of an assessment
version_added: 0.1.0
description:
  - Reads every report of an assessment in a directory on the controller, C(<host>.json), and writes C(<host>.html) beside each,
    and C(index.html) with all hosts, grouped by what is recommended.
  - A page needs no network and no script to be read. The index has a small script that sorts and narrows its tables.
  - A report that cannot be read, or that holds an error, has a page too, which says so.
  - Other JSON files in the directory are left alone; RV(other_files) names them.
  - The same reports give the same pages, byte by byte.
  - A page with its plots takes about half a second of a processor. For hundreds of hosts it is quicker to let each host have its own
    page written, so that the forks share the work, and the index at the end.
options:
  report_dir:
    description: The directory on the controller with the reports. The pages are written there.
    type: path
    required: true
  hosts:
    description:
      - The hosts whose pages are written, by the names of their files without C(.json). Without it, those of all reports.
      - The index has all hosts in any case. With O(index=false) the reports of other hosts are not read, and the results do not name them.
    type: list
    elements: str
  index:
    description: Whether the index is written.
    type: bool
    default: true
  plots:
    description:
      - Whether the pages have plots. They are drawn by matplotlib, which must be installed for the Python that runs Ansible.
      - Without plots the pages have the same numbers as tables.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
  platform:
    platforms: posix
  action:
    description: Runs on the controller, and needs no connection to the host.
    support: full
extends_documentation_fragment:
  - pagesmith.innodb.attributes
requirements:
  - matplotlib on the controller, for O(plots=true)
author:
  - Pagesmith (@pagesmith)
seealso:
  - module: pagesmith.innodb.instance_info
  - module: pagesmith.innodb.page_size_decision
"""

EXAMPLES = r"""
- name: Write the pages of all hosts and the index, once for the run
  pagesmith.innodb.assess_report:
    report_dir: "{{ playbook_dir }}/innodb-reports"
  run_once: true

- name: Write the page of each host, as many at once as there are forks
  pagesmith.innodb.assess_report:
    report_dir: innodb-reports
    hosts: ["{{ inventory_hostname }}"]
    index: false

- name: Write the index alone
  pagesmith.innodb.assess_report:
    report_dir: innodb-reports
    hosts: []
  run_once: true

- name: Write pages on a controller without matplotlib
  pagesmith.innodb.assess_report:
    report_dir: innodb-reports
    plots: false
  run_once: true
"""

RETURN = r"""
index:
  description: The path of the index, when it was asked for.
  type: str
  returned: O(index=true)
pages:
  description: The path of each host's page by the name of the host's file.
  type: dict
  returned: success
  sample: {"db1": "innodb-reports/db1.html"}
written:
  description: The paths of the pages whose content or mode had to be changed; in check mode, would have to be.
  type: list
  elements: str
  returned: success
groups:
  description: The hosts by what is recommended, under V(change), V(stay), V(blocked) and V(failed).
  type: dict
  returned: success
  sample: {"change": ["db1"], "stay": ["db2", "db3"], "blocked": [], "failed": []}
other_files:
  description: JSON files of the directory that are no report of an assessment, each with the reason.
  type: list
  elements: dict
  returned: success
"""

#!/usr/bin/python
# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rollout_plan
short_description: Put servers in the order in which they are migrated
version_added: 0.1.0
description:
  - Finds out who replicates from whom, by what the servers say of themselves, and puts replicas before their primaries, the deepest first.
  - Servers that replication connects are one group, of which one at a time is worked on.
  - It fails, before any host is touched, where the order would not be safe; the remedy is in the message.
  - It runs on the controller. The hosts are not asked anything.
options:
  facts:
    description: Results of M(pagesmith.innodb.instance_info) by host, with the subsets V(settings), V(replication) and V(migration).
    type: dict
    required: true
  page_size:
    description: The page size to reach, as V(8k) or in bytes.
    type: str
    required: true
  serial:
    description: How many hosts are worked on at the same time at most.
    type: int
    default: 1
extends_documentation_fragment:
  - pagesmith.innodb.attributes
  - pagesmith.innodb.attributes.info_module
author:
  - Pagesmith (@pagesmith)
seealso:
  - module: pagesmith.innodb.instance_info
  - module: pagesmith.innodb.migration
"""

EXAMPLES = r"""
- name: Look at the servers
  pagesmith.innodb.instance_info:
    gather_subset: [settings, replication, migration]
  register: innodb

- name: Find the order
  pagesmith.innodb.rollout_plan:
    facts: "{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, 'innodb'))) }}"
    page_size: 8k
  run_once: true
  register: plan
"""

RETURN = r"""
order:
  description:
    - The servers in their order, each with C(host), C(role), C(depth) (how many servers are above it), C(group), C(page_size) in bytes,
      C(state) (C(migrate), C(already) or C(resume)), C(sources) and C(replicas) among the hosts, and C(outside), its other sources.
  type: list
  elements: dict
  returned: always
batches:
  description: The hosts that are worked on at the same time.
  type: list
  elements: list
  returned: always
sizes:
  description: How many they are.
  type: list
  elements: int
  returned: always
lines:
  description: The order, as sentences.
  type: list
  elements: str
  returned: always
blockers:
  description: What stands against the rollout, each with id, object (the host), message and remedy.
  type: list
  elements: dict
  returned: always
outcome:
  description: C(refused).
  type: str
  returned: there are blockers
"""

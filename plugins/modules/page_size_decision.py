#!/usr/bin/python
# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: page_size_decision
short_description: Recommend an InnoDB page size, with reasons
version_added: 0.1.0
description:
  - Weighs what is known of a server and recommends a page size, or to stay.
  - The rules are data; a site can read them, add its own and replace them. They are explained in C(docs/decision.md) of the collection.
  - What was measured on the server outweighs published figures. Without evidence that the server waits for its storage the answer is
    to stay, or to benchmark.
  - It runs on the controller and needs JMESPath there. The host is not asked anything.
options:
  facts:
    description: The result of M(pagesmith.innodb.instance_info). Whatever is missing in it is taken as not known.
    type: dict
    required: true
  rehearsal:
    description:
      - The result of a rehearsal of the schema at one or more page sizes, by page size in bytes under C(page_sizes).
      - What the server refused there stands against the page size; sizes predicted there take the place of published ratios.
    type: dict
  benchmark:
    description:
      - Results of benchmarks on this host, by page size in bytes under C(page_sizes), each with C(transactions_per_second) and C(spread),
        both in transactions per second.
      - The result of M(pagesmith.innodb.page_size_benchmark) can be given as it is. Of its sizes of the data that one counts which is most
        like the server's, in parts of the buffer pool; where none is alike, none counts.
      - C(kind) is C(own workload) or C(sysbench), and gives the results their rank. C(date) is an ISO 8601 date.
    type: dict
  policy:
    description: Path of a policy on the controller, or the policy itself. The default is the policy that the collection ships.
    type: raw
  site_policies:
    description:
      - Policies, each as a path or as itself, that extend O(policy) in their order.
      - A rule takes the place of the one with its id.
    type: list
    elements: raw
    default: []
extends_documentation_fragment:
  - pagesmith.innodb.attributes
  - pagesmith.innodb.attributes.info_module
requirements:
  - jmespath on the controller
author:
  - Pagesmith (@pagesmith)
seealso:
  - module: pagesmith.innodb.instance_info
"""

EXAMPLES = r"""
- name: Look at the server
  pagesmith.innodb.instance_info:
  register: innodb

- name: Decide which page size it should have
  pagesmith.innodb.page_size_decision:
    facts: "{{ innodb }}"
  register: decision

- name: Decide with a measurement and with rules of the site
  pagesmith.innodb.page_size_decision:
    facts: "{{ innodb }}"
    benchmark:
      kind: own workload
      date: "2026-11-30"
      page_sizes:
        "8192": {transactions_per_second: 9420, spread: 120}
        "16384": {transactions_per_second: 6850, spread: 90}
    site_policies:
      - files/innodb-site-policy.yml
"""

RETURN = r"""
page_size:
  description: The page size now, in bytes; none when it is not known.
  type: int
  returned: success
recommended:
  description: The recommended page size in bytes, which is the one now when nothing speaks for a change; none when that is not known.
  type: int
  returned: success
  sample: 8192
stay:
  description: Whether the recommendation is to change nothing.
  type: bool
  returned: success
without_blockers:
  description: The page size in bytes that would be recommended if nothing stood against any.
  type: int
  returned: success
headline:
  description: The decision in one sentence.
  type: str
  returned: success
confidence:
  description: C(high), C(medium) or C(low).
  type: str
  returned: success
evidence:
  description: The best rank of evidence among the reasons, C(none) without any.
  type: str
  returned: success
  sample: counters
candidates:
  description: What is known of each page size, by its bytes.
  type: dict
  returned: success
  contains:
    allowed:
      description: Whether nothing stands against it.
      type: bool
      returned: always
    blockers:
      description: What stands against it, each with C(id), C(object), C(message) and C(remedy).
      type: list
      elements: dict
      returned: always
    warnings:
      description: What to know before.
      type: list
      elements: str
      returned: always
    predicted_bytes:
      description: Bytes of all tables and indexes, from the rehearsal, else from published ratios.
      type: int
      returned: always
    predicted_error_bytes:
      description: By how many bytes the prediction may be wrong.
      type: int
      returned: always
    needed_bytes:
      description: Bytes that a migration needs beside the old data directory, for the new one and the dump.
      type: int
      returned: always
    read_amplification:
      description: Bytes read from storage for the same rows, in parts of those at the page size now.
      type: float
      returned: always
    pages_in_pool:
      description: Pages that the buffer pool holds.
      type: int
      returned: always
    rehearsed:
      description: Whether the rehearsal tried it.
      type: bool
      returned: always
    score:
      description: A number whose order is that of the page sizes by the evidence, 0 for the one now.
      type: int
      returned: always
    score_by_rank:
      description: Strength of the reasons for it, less those against it and those for the size now, by rank of evidence.
      type: dict
      returned: always
reasons:
  description:
    - Every reason that applies, the best evidence first, with C(id), C(text), the page sizes in bytes that it C(favours) and is C(against),
      its C(rank) and C(rank_title), its C(strength) from 1 to 5, and its C(source).
  type: list
  elements: dict
  returned: success
measured:
  description:
    - The benchmark that was taken into account, with C(date), C(age_days), C(kind), C(largest_gain), and C(data_to_pool), the size of
      its data in parts of its buffer pool, which is none when no size was like the server's. None without a benchmark.
  type: dict
  returned: success
rule_errors:
  description: Rules that could not be applied to these facts, with C(rule) and C(error). The others were applied.
  type: list
  elements: dict
  returned: success
not_known:
  description: Figures of the server that are missing, without which much of the evidence is.
  type: list
  elements: str
  returned: success
"""

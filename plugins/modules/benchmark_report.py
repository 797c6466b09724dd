#!/usr/bin/python
# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action benchmark_report, which runs on the controller alone."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_report
short_description: Write the pages of benchmarks
version_added: 0.1.0
description:
  - Reads every result of M(pagesmith.innodb.page_size_benchmark) in a directory on the controller, C(<host>.json), and writes
    C(<host>.html) beside each, and C(index.html) with all of them.
  - A page needs no network and no script to be read. It holds the conclusion, the figures with their spread, and what it takes to repeat
    the benchmark.
  - The same results give the same pages, byte by byte.
options:
  report_dir:
    description: The directory on the controller with the results. The pages are written there.
    type: path
    required: true
  hosts:
    description: The hosts whose pages are written, by the names of their files without C(.json). Without it, those of all results.
    type: list
    elements: str
  index:
    description: Whether the index is written.
    type: bool
    default: true
  plots:
    description: Whether the pages have plots, which needs matplotlib. Without plots the pages have the same numbers as tables.
    type: bool
    default: true
  compare:
    description:
      - The result of another run, a file on the controller, with which the results are compared on their pages.
      - The page says for each load, size of the data, number of threads and page size whether the runs differ by more than their
        spreads, and what was different beside the time.
    type: path
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
  - module: pagesmith.innodb.page_size_benchmark
"""

EXAMPLES = r"""
- name: Write the pages of all benchmarks
  pagesmith.innodb.benchmark_report:
    report_dir: innodb-reports/benchmark
  run_once: true

- name: Compare a host with what was measured before the new disks
  pagesmith.innodb.benchmark_report:
    report_dir: innodb-reports/benchmark
    hosts: [db1]
    compare: innodb-reports/before/db1.json
"""

RETURN = r"""
written:
  description: The paths of the pages whose content or mode had to be changed; in check mode, would have to be.
  type: list
  elements: str
  returned: success
"""

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Attributes that the modules of the collection share."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying the host.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second run does not report a change.
  platform:
    description: Platforms on which the module works.
    support: full
    platforms: linux
"""

    INFO_MODULE = r"""
attributes:
  check_mode:
    support: full
    details:
      - This module changes nothing.
  diff_mode:
    support: N/A
    details:
      - This module changes nothing.
  idempotent:
    support: full
    details:
      - This module changes nothing.
"""

    ACTIONGROUP_INNODB = r"""
attributes:
  action_group:
    description: Use C(group/pagesmith.innodb.innodb) in C(module_defaults) to set the login and the instance once.
    support: full
    membership:
      - pagesmith.innodb.innodb
"""

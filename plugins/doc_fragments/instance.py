# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The option that says which server of a host is meant."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  instance:
    description:
      - Which server of the host is meant. On a standard host it is found by itself.
    type: dict
    default: {}
    suboptions:
      defaults_file:
        description: The option file with which the server is started (C(--defaults-file)).
        type: path
      group_suffix:
        description: The suffix of the groups that the server reads besides the usual ones (C(--defaults-group-suffix)).
        type: str
      service:
        description: The systemd unit of the server.
        type: str
      manager:
        description:
          - Who starts and stops the server. By default systemd where it knows a unit of a database server,
            else the module itself, as a process without a service.
        type: str
        choices: [systemd, process]
      socket:
        description: The Unix socket of the server, where it is not the one of the option files.
        type: path
      program:
        description: The server program, where it is not the one of the unit or the first one found.
        type: path
"""

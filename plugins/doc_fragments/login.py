# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Login options, named as in community.mysql."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  login_user:
    description:
      - The account. By default V(root), or what O(config_file) says.
      - It needs all privileges, and must be able to log in through the server's Unix socket.
    type: str
  login_password:
    description: The account's password. It is never written to a command line, a log or the journal.
    type: str
  login_host:
    description: The host to connect to. By default the Unix socket of the instance is used.
    type: str
  login_port:
    description: The port to connect to.
    type: int
  login_unix_socket:
    description: The Unix socket to connect to. By default the one of the instance.
    type: path
  config_file:
    description: An option file from whose C([client]) group the account and its password are read.
    type: path
  ca_cert:
    description: Certificate of the authority that signed the server's certificate.
    type: path
    aliases: [ssl_ca]
  client_cert:
    description: Certificate of the client.
    type: path
    aliases: [ssl_cert]
  client_key:
    description: Private key of the client.
    type: path
    aliases: [ssl_key]
  check_hostname:
    description: Whether the server's certificate must name the host.
    type: bool
  connect_timeout:
    description: How many seconds to wait for a connection.
    type: int
    default: 30
requirements:
  - PyMySQL on the host
"""

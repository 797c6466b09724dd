# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether a server takes connections on its socket yet."""

from __future__ import annotations

import socket

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import processes

SOCKETS = """Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 100 /run/a.sock
0000000000000000: 00000003 00000000 00000000 0001 03 101 /run/a.sock
0000000000000000: 00000002 00000000 00000000 0001 01 102 /run/b c.sock
0000000000000000: 00000003 00000000 00000000 0001 03 103
""".splitlines(keepends=True)


@pytest.mark.parametrize(
    ("path", "states"), [("/run/a.sock", [True, False]), ("/run/b c.sock", [False]), ("/run/none", [])], ids=["listens", "bound", "unknown"]
)
def test_states_of_sockets(path, states):
    assert processes.states_of_sockets(SOCKETS, path) == states


def test_a_socket_listens_only_after_it_was_made(tmp_path):
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        assert not processes.listening(path)
        server.listen()
        assert processes.listening(path)

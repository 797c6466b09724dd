# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A way for a replica to the Unix socket of its source: a port of the loopback interface that serves one user alone.

A replica connects to its source by TCP only. Through the socket the source sees the account that we use ourselves, so that nothing
has to be granted, and it works with skip_networking as well.
"""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
from collections.abc import Iterable

LOOPBACK = "127.0.0.1"
BLOCK_BYTES = 1 << 16


def uid_of_connection(table: Iterable[str], client_port: int, server_port: int) -> int | None:
    """The user who opened a connection from one port of the loopback interface to another, by the kernel's table of TCP sockets."""
    local = struct.unpack("=I", socket.inet_aton(LOOPBACK))[0]
    wanted = (f"{local:08X}:{client_port:04X}", f"{local:08X}:{server_port:04X}")
    for line in table:
        fields = line.split()
        if len(fields) > 7 and re.fullmatch(r"\d+:", fields[0]) and tuple(fields[1:3]) == wanted:
            return int(fields[7])
    return None


class SocketRelay:
    """Passes bytes between a port and a Unix socket while it is open; connections of other users than uid are closed at once."""

    def __init__(self, unix_socket: str, uid: int) -> None:
        self.unix_socket = unix_socket
        self.uid = uid
        self.listener = socket.create_server((LOOPBACK, 0))
        self.port = self.listener.getsockname()[1]
        self.open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, address = self.listener.accept()
            except OSError:
                return
            with open("/proc/net/tcp", encoding="ascii") as table:
                uid = uid_of_connection(table, address[1], self.port)
            if uid != self.uid:
                client.close()
                continue
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.unix_socket)
            except OSError:
                # The source is down: its replica will knock again.
                client.close()
                server.close()
                continue
            self.open |= {client, server}
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while True:
                block = source.recv(BLOCK_BYTES)
                if not block:
                    break
                target.sendall(block)
        except OSError:
            # One end is gone; the other is told below.
            pass
        for end in (source, target):
            _close(end)
            self.open.discard(end)

    def close(self) -> None:
        """End all connections and listen no more."""
        _close(self.listener)
        for end in list(self.open):
            _close(end)


def _close(end: socket.socket) -> None:
    # Closing alone does not wake another thread that reads.
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The successor: the new server while it is built, filled and kept up to date beside the running one, reachable by us alone."""

from __future__ import annotations

import os
import random
from typing import Any

from .binary_log import Changes, Position
from .errors import InnodbError
from .following import Follower
from .option_values import MIB
from .private_server import PrivateServer
from .session import Login, Session
from .socket_relay import SocketRelay
from .steps import Context

MEMORY_FILE = "/proc/meminfo"
#: Part of the memory that is free, or can be, which the successor's buffer pool may take beside the running server.
MEMORY_SHARE = 0.5
SERVER_IDS = (1 << 31, (1 << 32) - 2)


def pool_bytes(configured: int, available: int, least: int) -> int:
    """Size of the successor's buffer pool: as configured, if the memory allows it, and never less than the pages need."""
    return max(least, min(configured, int(available * MEMORY_SHARE)))


def available_memory() -> int:
    """Bytes that the kernel thinks can be had without swapping."""
    with open(MEMORY_FILE, encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:"))


class Successor:
    """What is open of it: the private server, the way to its source, the session that steers it. close() ends all of that."""

    def __init__(self, context: Context, pool: int, source_id: int) -> None:
        self.context = context
        self.pool = pool
        keeps = context.instance.engine.trait("follower_keeps_server_id")
        self.server_id = source_id if keeps else random.randint(*SERVER_IDS)
        self.relay: SocketRelay | None = None
        self.server: PrivateServer | None = None
        self.steering: Session | None = None
        self.follower: Follower | None = None
        self.gtid_slave_pos = ""
        #: What the binary log has got since the copy began.
        self.changes: Changes | None = None
        #: A session that holds the running server still, and the clock that runs since.
        self.lock: Session | None = None
        self.parts: Any = None
        #: What was copied (manifest.Manifest), and where the binary log ended then, when the server stood still meanwhile.
        self.manifest: Any = None
        self.position: Position | None = None
        #: What was found equal on both servers (live_steps.Proof), once it was.
        self.proof: Any = None

    def way_to_source(self) -> SocketRelay:
        """The port through which it reaches the running server, the same until close()."""
        if self.relay is None:
            self.relay = SocketRelay(self.context.instance.socket, self.context.instance.owner()[0])
        return self.relay

    def options(self) -> list[str]:
        """Those of a server that follows. Its number is one that no option file has, unless it is told not to ignore its own."""
        return [
            *self.context.instance.engine.trait("follower_options"),
            f"--server-id={self.server_id}",
            *(option.format(build=self.context.paths.build) for option in self.context.instance.engine.trait("successor_files")),
            f"--innodb-buffer-pool-size={self.pool}",
        ]

    def start(self, options: list[str], login: Login) -> Follower:
        """Start the private server with its following switched off, and give what steers it."""
        self.server = self.context.new_server([*self.options(), *options], login)
        self.server.__enter__()
        self.steering = self.server.session()
        self.require_own(self.steering)
        self.follower = Follower(self.steering, self.context.instance.engine)
        return self.follower

    def require_own(self, session: Session) -> None:
        """InnodbError unless a session is one to the successor, so that nothing meant for it can reach another server."""
        found = session.variables("datadir", "innodb_page_size", "server_id")
        wanted = {"innodb_page_size": str(self.context.target), "server_id": str(self.server_id)}
        datadir = os.path.realpath((found.pop("datadir") or "").rstrip("/"))
        if found != wanted or datadir != os.path.realpath(self.context.paths.build):
            raise InnodbError(f"the server that answers on the successor's socket works in {datadir}, so it is not the successor", state="")

    def stop(self) -> None:
        """Clean shutdown."""
        if self.steering:
            self.steering.close()
            self.steering = None
        if self.server:
            self.server.stop()
            self.server = None

    def close(self) -> None:
        if self.relay:
            self.relay.close()
        if self.lock:
            self.lock.close()
        self.stop()


def open_successor(context: Context, source: Session) -> Successor:
    """The successor of this run, made after the running server of this session."""
    least = 2 * context.instance.engine.trait("minimum_pool_mib")[context.target] * MIB
    pool, number = (int(source.value(f"SELECT @@GLOBAL.{name}")) for name in ("innodb_buffer_pool_size", "server_id"))
    context.successor = Successor(context, pool_bytes(pool, available_memory(), least), number)
    if context.instance.engine.trait("gtid_slave_pos"):
        context.successor.gtid_slave_pos = source.value("SELECT @@GLOBAL.gtid_slave_pos")
    return context.successor

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A client outside the fleet that inserts rows until it is told to end, and notes on its own disk each one that was acknowledged.

Arguments: addresses of the servers, with commas, and a directory. It writes to the server that is not read-only, and looks for that again
after each error. It writes DIRECTORY/acknowledged, DIRECTORY/errors and DIRECTORY/servers, a line for each time it found the server to
write to. It ends when DIRECTORY/stop is there, and leaves the longest time without an acknowledgement, in seconds, in DIRECTORY/ended.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pymysql

PAUSE_SECONDS = 0.02
RETRY_SECONDS = 0.2


def connect(hosts: list[str]) -> pymysql.connections.Connection:
    """A session on the first server that takes writes; the last error when there is none."""
    problem: Exception = OSError("no server takes writes")
    for host in hosts:
        try:
            connection = pymysql.connect(
                host=host, user="writer", password="Wr1ter-of-the-bed", autocommit=True, connect_timeout=2, read_timeout=30
            )
            with connection.cursor() as cursor:
                cursor.execute("SELECT @@global.read_only")
                if cursor.fetchone() == (0,):
                    return connection
            connection.close()
        except (pymysql.Error, OSError) as error:
            problem = error
    raise problem


def write(hosts: list[str], directory: Path) -> None:
    number, connection = 0, None
    longest, last = 0.0, time.monotonic()
    notes = {name: (directory / name).open("w", buffering=1) for name in ("acknowledged", "errors", "servers")}
    while not (directory / "stop").exists():
        number += 1
        try:
            if connection is None:
                connection = connect(hosts)
                notes["servers"].write(f"{number} {connection.host}\n")
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO bed.written (id, what) VALUES (%s, REPEAT('x', 200))", (number,))
            notes["acknowledged"].write(f"{number}\n")
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        except (pymysql.Error, OSError) as error:
            notes["errors"].write(f"{time.time():.1f} {number} {error}\n")
            connection = None
            time.sleep(RETRY_SECONDS)
        time.sleep(PAUSE_SECONDS)
    for file in notes.values():
        file.close()
    (directory / "ended.new").write_text(f"{longest:.1f}\n")
    (directory / "ended.new").rename(directory / "ended")


if __name__ == "__main__":
    write(sys.argv[1].split(","), Path(sys.argv[2]))

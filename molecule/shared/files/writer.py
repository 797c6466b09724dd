# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A client outside the fleet that inserts rows until it is told to end, and notes on its own disk each one that was acknowledged.

Arguments: address of the primary, directory. It writes DIRECTORY/acknowledged and DIRECTORY/errors, ends when DIRECTORY/stop is there,
and then makes DIRECTORY/ended.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pymysql

PAUSE_SECONDS = 0.02


def connect(host: str) -> pymysql.connections.Connection:
    return pymysql.connect(host=host, user="writer", password="Wr1ter-of-the-bed", autocommit=True, connect_timeout=5, read_timeout=30)


def write(host: str, directory: Path) -> None:
    number, connection = 0, None
    with (directory / "acknowledged").open("w") as acknowledged, (directory / "errors").open("w") as errors:
        while not (directory / "stop").exists():
            number += 1
            try:
                connection = connection or connect(host)
                with connection.cursor() as cursor:
                    cursor.execute("INSERT INTO bed.written (id, what) VALUES (%s, REPEAT('x', 200))", (number,))
                acknowledged.write(f"{number}\n")
                acknowledged.flush()
            except (pymysql.Error, OSError) as error:
                errors.write(f"{number} {error}\n")
                errors.flush()
                connection = None
                time.sleep(0.2)
            time.sleep(PAUSE_SECONDS)
    (directory / "ended").touch()


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]))

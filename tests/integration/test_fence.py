# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Clients with all privileges write while the migration runs: whatever was acknowledged to them is there afterwards, once."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pymysql
from harness import Sandbox

WRITERS = 40
PAUSE = 0.02


class Writer(threading.Thread):
    """Inserts numbered rows, one transaction each, and notes those that the server acknowledged."""

    def __init__(self, server: Sandbox, number: int, end: threading.Event) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.number = number
        self.end = end
        self.acknowledged: list[int] = []
        self.refused = 0

    def run(self) -> None:
        row = 0
        while not self.end.is_set():
            try:
                with self.server.connect() as connection, connection.cursor() as cursor:
                    while not self.end.is_set():
                        row += 1
                        cursor.execute("INSERT INTO app.written VALUES (%s, %s)", (self.number, row))
                        self.acknowledged.append(row)
                        time.sleep(PAUSE)
            except (pymysql.Error, OSError):
                self.refused += 1
                time.sleep(PAUSE)


def test_nothing_acknowledged_is_lost(sandbox: Sandbox) -> None:
    # Without a unique key a row that was carried twice would be there twice.
    sandbox.sql("CREATE DATABASE app; CREATE TABLE app.written (writer INT NOT NULL, number INT NOT NULL, KEY (writer))")
    end = threading.Event()
    writers = [Writer(sandbox, number, end) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    try:
        result = sandbox.migrate("8k")
        until_now = [len(writer.acknowledged) for writer in writers]
        while any(len(writer.acknowledged) <= count for writer, count in zip(writers, until_now)):
            time.sleep(PAUSE)
    finally:
        end.set()
        for writer in writers:
            writer.join()
    assert result["outcome"] == "migrated" and sandbox.page_size() == 8192
    assert all(writer.refused for writer in writers), "the fence was closed for everybody"
    lines = sandbox.sql("SELECT writer, number FROM app.written").splitlines()
    found = Counter(tuple(map(int, line.split("\t"))) for line in lines)
    acknowledged = {(writer.number, row) for writer in writers for row in writer.acknowledged}
    assert acknowledged - found.keys() == set()
    assert [row for row, count in found.items() if count != 1] == []

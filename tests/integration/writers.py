# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Clients with all privileges that write all the time, each statement a transaction, and note what the server acknowledged."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pymysql
from harness import Sandbox

PAUSE = 0.02
ACCOUNTS = 20
BALANCE = 1000


class Writer(threading.Thread):
    """Inserts numbered rows, and reconnects at once when something fails."""

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


class Ledger(threading.Thread):
    """Moves money between accounts, in transactions of several statements; the sum stays as it is."""

    def __init__(self, server: Sandbox, end: threading.Event) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.end = end
        self.acknowledged: list[int] = []
        self.sums: set[int] = set()

    def run(self) -> None:
        number = 0
        while not self.end.is_set():
            try:
                with self.server.connect(autocommit=False) as connection, connection.cursor() as cursor:
                    while not self.end.is_set():
                        number += 1
                        amount, giver, taker = number % 7 + 1, number % ACCOUNTS, (number * 3 + 1) % ACCOUNTS
                        cursor.execute("UPDATE app.account SET balance=balance-%s WHERE id=%s", (amount, giver))
                        cursor.execute("UPDATE app.account SET balance=balance+%s WHERE id=%s", (amount, taker))
                        cursor.execute("INSERT INTO app.journal VALUES (%s, %s, %s, %s)", (number, giver, taker, amount))
                        connection.commit()
                        self.acknowledged.append(number)
                        cursor.execute("SELECT SUM(balance) FROM app.account")
                        self.sums.add(int(cursor.fetchone()[0]))
                        connection.commit()
                        time.sleep(PAUSE)
            except (pymysql.Error, OSError):
                time.sleep(PAUSE)


class Storm(threading.Thread):
    """Logs in and out without end, so that sessions come and go between any two looks at them."""

    def __init__(self, server: Sandbox, end: threading.Event) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.end = end
        self.acknowledged: list[int] = []

    def run(self) -> None:
        while not self.end.is_set():
            try:
                with self.server.connect():
                    self.acknowledged.append(0)
            except (pymysql.Error, OSError):
                time.sleep(PAUSE)


class Load:
    """Writers, a ledger and a storm of logins at work on a server."""

    def __init__(self, server: Sandbox, writers: int) -> None:
        server.sql(
            "CREATE DATABASE app; USE app; CREATE TABLE written (writer INT NOT NULL, number INT NOT NULL, KEY (writer));"
            "CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT NOT NULL);"
            "CREATE TABLE journal (number INT PRIMARY KEY, giver INT, taker INT, amount INT);"
            f"INSERT INTO account SELECT seq, {BALANCE} FROM seq_0_to_{ACCOUNTS - 1};"
        )
        self.server = server
        self.end = threading.Event()
        self.writers = [Writer(server, number, self.end) for number in range(writers)]
        self.ledger = Ledger(server, self.end)
        self.clients = [*self.writers, self.ledger, Storm(server, self.end)]

    def start(self) -> None:
        for client in self.clients:
            client.start()

    def wait_for_more(self) -> None:
        """Until every client has got an answer that it had not."""
        until_now = [len(client.acknowledged) for client in self.clients]
        deadline = time.monotonic() + 300
        while any(len(client.acknowledged) <= count for client, count in zip(self.clients, until_now)):
            assert time.monotonic() < deadline, "some client gets no answer any more"
            time.sleep(PAUSE)

    def stop(self) -> None:
        self.end.set()
        for client in self.clients:
            client.join()

    def check(self) -> None:
        """Everything acknowledged is there, once; the sum never was another; each balance is what the journal says."""
        lines = self.server.sql("SELECT writer, number FROM app.written").splitlines()
        found = Counter(tuple(map(int, line.split("\t"))) for line in lines)
        acknowledged = {(writer.number, row) for writer in self.writers for row in writer.acknowledged}
        assert acknowledged - found.keys() == set()
        assert [row for row, count in found.items() if count != 1] == []
        moves = {int(line) for line in self.server.sql("SELECT number FROM app.journal").splitlines()}
        assert set(self.ledger.acknowledged) - moves == set()
        assert self.ledger.sums == {ACCOUNTS * BALANCE}
        assert (
            self.server.sql(
                f"SELECT id FROM app.account WHERE balance<>{BALANCE}"
                " -(SELECT IFNULL(SUM(amount),0) FROM app.journal WHERE giver=id)"
                " +(SELECT IFNULL(SUM(amount),0) FROM app.journal WHERE taker=id)"
            )
            == ""
        )


@contextmanager
def load(server: Sandbox, writers: int) -> Iterator[Load]:
    """Clients that write while the block runs."""
    clients = Load(server, writers)
    clients.start()
    try:
        clients.wait_for_more()
        yield clients
    finally:
        clients.stop()

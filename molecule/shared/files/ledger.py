"""Clients with all privileges that never stop, and that note outside the server what it acknowledged.

ledger.py run WRITERS TRANSFERRERS   write until killed; a client that loses its connection makes a new one at once
ledger.py wait                       return as soon as something is acknowledged that was not begun before
ledger.py check                      as JSON: what was acknowledged, and the longest time without it; fails when anything is lost or wrong

Writers insert numbers, each a transaction of its own. Transferrers move amounts between accounts, whose sum stays the same at every
moment, and note each in the same transaction. What has no answer is not tried again: it may be there once, or not at all.
"""

import collections
import itertools
import json
import os
import sys
import threading
import time

import pymysql

DIRECTORY = "/root/bed/ledger"
SOCKET = "/run/mysqld/mysqld.sock"
ACCOUNTS, BALANCE = 20, 1000
# Seconds between the statements of one client, and before it logs in again.
WRITER_PAUSE, TRANSFER_PAUSE, READER_PAUSE, RECONNECT_PAUSE = 0.02, 0.02, 0.1, 0.005

SCHEMA = (
    "CREATE DATABASE bed",
    # No unique key, so that a row that is written twice is there twice.
    "CREATE TABLE bed.written (id BIGINT NOT NULL, KEY (id))",
    "CREATE TABLE bed.transfers (id BIGINT NOT NULL, payer INT NOT NULL, payee INT NOT NULL, amount INT NOT NULL, KEY (id))",
    "CREATE TABLE bed.accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL)",
)
SUM = "SELECT SUM(balance) FROM bed.accounts"


def connect():
    return pymysql.connect(unix_socket=SOCKET, user="root", autocommit=True)


def insert(cursor, number):
    cursor.execute("INSERT INTO bed.written VALUES (%s)", (number,))


def transfer(cursor, number):
    payer, payee, amount = number % ACCOUNTS, (number // 7 + 1) % ACCOUNTS, number % 9 + 1
    cursor.execute("BEGIN")
    # In one order, so that no two wait for each other.
    for account, change in sorted([(payer, -amount), (payee, amount)]):
        cursor.execute("UPDATE bed.accounts SET balance=balance+%s WHERE id=%s", (change, account))
    cursor.execute("INSERT INTO bed.transfers VALUES (%s,%s,%s,%s)", (number, payer, payee, amount))
    cursor.execute("COMMIT")


def read_sum(cursor, number):
    cursor.execute(SUM)
    found = int(cursor.fetchone()[0])
    if found != ACCOUNTS * BALANCE:
        with open(os.path.join(DIRECTORY, "wrong"), "a") as file:
            file.write(f"read {number} saw a sum of {found}\n")


def client(name, number, work, pause):
    """One client for ever."""
    numbers = itertools.count(number * 10**9)
    connection = None
    with open(os.path.join(DIRECTORY, f"{name}-{number}"), "a", buffering=1) as notes:
        while True:
            try:
                connection = connection or connect()
                cursor = connection.cursor()
            except (pymysql.Error, OSError):
                time.sleep(RECONNECT_PAUSE)
                continue
            this = next(numbers)
            notes.write(f"? {this} {time.time():.4f}\n")
            try:
                work(cursor, this)
            except (pymysql.Error, OSError):
                connection = None
                continue
            notes.write(f"+ {this} {time.time():.4f}\n")
            time.sleep(pause)


def run(writers, transferrers):
    os.makedirs(DIRECTORY, exist_ok=True)
    cursor = connect().cursor()
    for statement in SCHEMA:
        cursor.execute(statement)
    for account in range(ACCOUNTS):
        cursor.execute("INSERT INTO bed.accounts VALUES (%s,%s)", (account, BALANCE))
    clients = [("writer", number, insert, WRITER_PAUSE) for number in range(1, writers + 1)]
    clients += [("transferrer", number, transfer, TRANSFER_PAUSE) for number in range(writers + 1, writers + transferrers + 1)]
    clients.append(("reader", 0, read_sum, READER_PAUSE))
    for arguments in clients:
        threading.Thread(target=client, args=arguments).start()


def read_notes(kinds):
    """Moments at which numbers were sent and acknowledged."""
    sent, acknowledged = {}, {}
    for name in sorted(os.listdir(DIRECTORY)):
        if name.partition("-")[0] in kinds:
            with open(os.path.join(DIRECTORY, name)) as file:
                # The last line of a client that was killed may be half of one.
                for line in file.read().split("\n")[:-1]:
                    sign, number, moment = line.split()
                    (sent if sign == "?" else acknowledged)[int(number)] = float(moment)
    return sent, acknowledged


def longest_gap(moments):
    """The longest time between two moments, in ms."""
    ordered = sorted(moments)
    return max(round(1000 * (after - before)) for before, after in zip(ordered, ordered[1:]))


def wait():
    begun = time.time()
    while time.time() < begun + 30:
        sent, acknowledged = read_notes(["writer", "transferrer"]) if os.path.isdir(DIRECTORY) else ({}, {})
        if any(sent[number] > begun for number in acknowledged):
            return
        time.sleep(0.5)
    sys.exit("nothing is acknowledged")


def rows(cursor, statement):
    cursor.execute(statement)
    return cursor.fetchall()


def check():
    """What the server has of what it acknowledged."""
    cursor = connect().cursor()
    report, wrong = {}, []
    for kind, table in (("writer", "written"), ("transferrer", "transfers")):
        sent, acknowledged = read_notes([kind])
        wanted = set(acknowledged)
        found = collections.Counter(row[0] for row in rows(cursor, f"SELECT id FROM bed.{table}"))
        unknown = set(sent) - set(acknowledged)
        report[kind] = {
            "acknowledged": len(wanted),
            "lost": sorted(wanted - set(found))[:20],
            "doubled": [number for number, count in found.items() if count > 1][:20],
            "never_sent": sorted(set(found) - set(sent))[:20],
            "unknown": len(unknown),
            "unknown_there": len(unknown & set(found)),
        }
        wrong += [f"{table}: {name}" for name in ("lost", "doubled", "never_sent") if report[kind][name]]
        wrong += [] if wanted else [f"no {kind}"]
    balances = dict.fromkeys(range(ACCOUNTS), BALANCE)
    for payer, payee, amount in rows(cursor, "SELECT payer, payee, amount FROM bed.transfers"):
        balances[payer] -= amount
        balances[payee] += amount
    if balances != dict(rows(cursor, "SELECT id, balance FROM bed.accounts")):
        wrong.append("the accounts do not have what the transfers say")
    if os.path.exists(os.path.join(DIRECTORY, "wrong")):
        wrong.append("a reader saw another sum")
    report["no_writes_ms"] = longest_gap(read_notes(["writer", "transferrer"])[1].values())
    report["no_reads_ms"] = longest_gap(read_notes(["reader"])[1].values())
    report["wrong"] = wrong
    print(json.dumps(report))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1] == "wait":
        wait()
    else:
        check()

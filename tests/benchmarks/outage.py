# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Migrates servers of several sizes by the strategy live under the load of sysbench and a ledger, and tells what the clients saw.

The clients run in processes of their own. The outage is the longest time between two answers to one of the ledger's clients.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import generate
import pymysql
import servers
from measure import load_average, machine, tablespace_mib

BINARY_LOG = {"log_bin": "binlog", "server_id": "5", "binlog_format": "ROW", "sync_binlog": "1"}
WRITERS = 4
TABLES, ROWS = 4, 25000
BEFORE_SECONDS = 10
#: Between two attempts of a client to connect: a storm of them would measure itself.
RETRY_SECONDS = 0.01
ACCOUNTS = 100
BALANCE = 1000


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scales", default="0.1,1", help="sizes in parts of the 1.1 GB of the other benchmarks (default: %(default)s)")
    parser.add_argument("--target", default="8k", help="page size to go to (default: %(default)s)")
    parser.add_argument("--directory", default="/var/tmp", help="where the servers lie (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="a file for all figures")
    return parser.parse_args()


def ledger(socket: str, number: int, end: Any, answers: Any) -> None:
    """One client: transfers, each a transaction, as fast as they go; at the end the acknowledged ones with their times are told."""
    done: list[tuple[int, float]] = []
    transfer = 0
    while not end.is_set():
        try:
            with pymysql.connect(unix_socket=socket, user="root", autocommit=False) as connection, connection.cursor() as cursor:
                while not end.is_set():
                    transfer += 1
                    giver, taker = transfer % ACCOUNTS, (transfer * 7 + number) % ACCOUNTS
                    low, high = sorted((giver, taker))
                    for account in (low, high):
                        change = -1 if account == giver else 1
                        cursor.execute("UPDATE ledger.account SET balance=balance+%s WHERE id=%s", (change if low != high else 0, account))
                    cursor.execute("INSERT INTO ledger.journal VALUES (%s, %s)", (number, transfer))
                    connection.commit()
                    done.append((transfer, time.time()))
        except (pymysql.Error, OSError):
            time.sleep(RETRY_SECONDS)
    answers.put((number, done))


class Clients:
    """Sysbench and the ledger's clients."""

    def __init__(self, server: servers.Sandbox) -> None:
        server.sql(
            f"CREATE DATABASE ledger; USE ledger; CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT);"
            f"INSERT INTO account SELECT seq, {BALANCE} FROM seq_0_to_{ACCOUNTS - 1};"
            "CREATE TABLE journal (client INT, transfer INT, PRIMARY KEY (client, transfer)); CREATE DATABASE sbtest;"
        )
        self.server = server
        self.end = multiprocessing.Event()
        self.answers: Any = multiprocessing.Queue()
        self.options = [f"--mysql-socket={server.socket}", "--mysql-user=root", f"--tables={TABLES}", f"--table-size={ROWS}"]
        self.sysbench("prepare")

    def sysbench(self, command: str) -> None:
        done = subprocess.run(["sysbench", "oltp_read_write", *self.options, command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        command = [
            "sysbench",
            "oltp_read_write",
            *self.options,
            "--threads=2",
            "--time=0",
            "--report-interval=1",
            "--mysql-ignore-errors=all",
        ]
        self.mixed = subprocess.Popen([*command, "run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        sockets = (str(self.server.socket),)
        self.processes = [
            multiprocessing.Process(target=ledger, args=(*sockets, number, self.end, self.answers), daemon=True)
            for number in range(WRITERS)
        ]
        for process in self.processes:
            process.start()

    def stop(self) -> dict[int, list[tuple[int, float]]]:
        self.end.set()
        told = dict(self.answers.get() for _process in self.processes)
        for process in self.processes:
            process.join()
        self.mixed.terminate()
        self.mixed.wait()
        return told


def rate(told: dict[int, list[tuple[int, float]]], begin: float, end: float) -> float:
    """Acknowledged transfers per second between two times."""
    return sum(begin <= moment < end for done in told.values() for _transfer, moment in done) / (end - begin)


def longest_gap(told: dict[int, list[tuple[int, float]]]) -> float:
    """Seconds between two answers to the same client."""
    return max(after[1] - before[1] for done in told.values() for before, after in zip(done, done[1:]))


def lost_and_doubled(server: servers.Sandbox, told: dict[int, list[tuple[int, float]]]) -> tuple[int, bool]:
    """Acknowledged transfers that are not there, and whether the sum is right. The key forbids doubles."""
    found = {tuple(map(int, line.split())) for line in server.sql("SELECT client, transfer FROM ledger.journal").splitlines()}
    lost = sum((number, transfer) not in found for number, done in told.items() for transfer, _moment in done)
    return lost, server.sql("SELECT SUM(balance) FROM ledger.account").strip() == str(ACCOUNTS * BALANCE)


def one(base: Path, scale: float, target: str) -> dict[str, Any]:
    server = servers.make(base / f"live-{scale:g}", "16k")
    server.settings.update(BINARY_LOG)
    server.write_options()
    server.start()
    try:
        generate.generate(server.sql, scale)
        clients = Clients(server)
        clients.start()
        time.sleep(BEFORE_SECONDS)
        begun = time.time()
        result = server.migrate(target, strategy="live")
        ended = time.time()
        time.sleep(BEFORE_SECONDS)
        told = clients.stop()
        lost, balanced = lost_and_doubled(server, told)
        seconds = {step["name"]: step["seconds"] for step in result["steps"]}
        ready = seconds["build"] + seconds["seed"] + seconds["follow"]
        return {
            "scale": scale,
            "data_mib": tablespace_mib(server.datadir),
            "outage_seconds": result["write_outage_seconds"],
            "outage_seen_seconds": round(longest_gap(told), 3),
            "parts": result["outage_parts"],
            "ready_seconds": round(ready, 1),
            "rate_before": round(rate(told, begun - BEFORE_SECONDS, begun)),
            "rate_during": round(rate(told, begun, ended)),
            "lost": lost,
            "balanced": balanced,
            "load_average": load_average(),
        }
    finally:
        servers.remove(server)


def describe(result: dict[str, Any]) -> str:
    """One run as a paragraph."""
    share = result["rate_during"] / max(result["rate_before"], 1)
    return (
        f"{result['data_mib']} MiB of tablespaces, load average {result['load_average']}:\n"
        f"  writes stood still {result['outage_seconds'] * 1000:.0f} ms, clients saw {result['outage_seen_seconds'] * 1000:.0f} ms\n"
        f"  parts: {result['parts']}\n"
        f"  ready for it after {result['ready_seconds']} s; {result['rate_before']} transfers/s before, {result['rate_during']}"
        f" meanwhile ({share:.0%})\n"
        f"  {result['lost']} acknowledged transfers lost, the ledger {'balances' if result['balanced'] else 'DOES NOT BALANCE'}"
    )


def main() -> None:
    options = arguments()
    base = Path(tempfile.mkdtemp(prefix="pagesmith-live-", dir=options.directory))
    base.chmod(0o755)
    try:
        results = [one(base, float(scale), options.target) for scale in options.scales.split(",")]
    finally:
        shutil.rmtree(base)
    for result in results:
        print(describe(result))
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(options.directory), "results": results}, indent=2))


if __name__ == "__main__":
    main()

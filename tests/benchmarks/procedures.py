# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Three ways to move all data of a server into one of another page size, each timed: dump and load, no initialisation."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import servers
from measure import Timer

OURS = "pagesmith.innodb"
MARIADB_DUMP = "mariadb-dump"
MYDUMPER = "mydumper"
PATIENCE_SECONDS = 300

MYDUMPER_THREADS = 4
# Splitting the tables makes it faster; its own system schemas are no use to it, since myloader stumbles over them.
MYDUMPER_OPTIONS = ("--rows=100000", "--triggers", "--routines", "--events", r"--regex=^(?!(mysql|sys|test)\.)")
DUMP_OPTIONS = ("--all-databases", "--single-transaction", "--quick", "--routines", "--triggers", "--events")


def move(source: servers.Sandbox, target: str, workers: int) -> dict[str, Any]:
    """The steps dump and restore of the collection."""
    arguments = {"base": str(source.base), "settings": servers.settings(source.base), "target": target, "workers": workers}
    program = Path(__file__).with_name("our_move.py")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    # A session of its own, so that Ctrl-C does not hit it too.
    with subprocess.Popen([sys.executable, str(program)], start_new_session=True, **pipes) as child:
        try:
            output, _nothing = child.communicate(json.dumps(arguments))
        except BaseException:
            # It stops its servers and rolls back.
            child.terminate()
            child.wait(PATIENCE_SECONDS)
            raise
    if child.returncode != 0:
        raise RuntimeError("the collection's move failed, see above")
    return json.loads(output)


def mariadb_dump(source: servers.Sandbox, target: str) -> dict[str, Any]:
    """What the manuals say: everything into one file, and that file into the new server."""
    file = source.base.parent / "all.sql"

    def dump() -> None:
        with file.open("wb") as output:
            subprocess.run([*client("mariadb-dump", source), *DUMP_OPTIONS], stdout=output, check=True)

    def load(new: servers.Sandbox) -> None:
        with file.open("rb") as content:
            subprocess.run(client("mariadb", new), stdin=content, check=True)

    try:
        return dump_and_load(source, target, dump, load)
    finally:
        file.unlink(missing_ok=True)


def mydumper(source: servers.Sandbox, target: str) -> dict[str, Any]:
    """The distribution's parallel dump and load."""
    directory = source.base.parent / "mydumper"
    threads = f"--threads={MYDUMPER_THREADS}"

    def dump() -> None:
        command = ["mydumper", "--user=root", f"--socket={source.socket}", threads, f"--outputdir={directory}", *MYDUMPER_OPTIONS]
        subprocess.run(command, check=True)

    def load(new: servers.Sandbox) -> None:
        subprocess.run(["myloader", "--user=root", f"--socket={new.socket}", threads, f"--directory={directory}"], check=True)

    try:
        return dump_and_load(source, target, dump, load)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def client(program: str, server: servers.Sandbox) -> list[str]:
    return [servers.harness.program(program), "--no-defaults", f"--socket={server.socket}", "--user=root"]


def dump_and_load(source: servers.Sandbox, target: str, dump: Any, load: Any) -> dict[str, Any]:
    new = servers.make(source.base.parent / "target", target)
    try:
        new.start()
        with Timer(source.servers()) as dumped:
            dump()
        with Timer([*source.servers(), *new.servers()]) as loaded:
            load(new)
        found = servers.checksums(str(new.socket))
        with Timer() as stopped:
            new.stop()
    finally:
        servers.remove(new)
    return {
        "phases": {"dump": dumped.as_dict(), "restore": loaded.as_dict()},
        "untimed": {"clean shutdown of the new server": {"wall": round(stopped.wall, 2)}},
        "checksums": found,
    }

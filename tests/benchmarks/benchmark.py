# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Moves the same data with the collection and with two usual procedures, in turns, and prints what each took."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import measure
import procedures
import servers
from generate import generate
from procedures import MARIADB_DUMP, MYDUMPER, OURS

PROGRAMS = ("mariadbd", "mariadb-dump", "mariadb", "mydumper")
NO_MYDUMPER = "mydumper is not installed and left out; on Debian and Ubuntu: apt install mydumper"
HEADINGS = ("", "dump s", "load s", "sum s", "ratio", "CPU s", "CPU ratio", "tables that differ")
LINE = "{:34}{:>8}{:>8}{:>8}{:>7}{:>8}{:>11}  {}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="move", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="amount of data, 1 is about 1.1 GB of tablespaces (default: 1)")
    parser.add_argument("--rounds", type=int, default=2, help="how often each procedure runs (default: 2)")
    parser.add_argument("--target", default="8k", help="page size to move to (default: 8k)")
    parser.add_argument("--workers", type=int, default=0, help="sessions of the collection (default: the collection's own choice)")
    parser.add_argument("--without", action="append", default=[], choices=(MARIADB_DUMP, MYDUMPER), help="leave a procedure out")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    base = servers.harness.make_base()
    try:
        result = run(options, base)
    except KeyboardInterrupt:
        raise SystemExit("Interrupted; everything is removed.") from None
    finally:
        clean_up(base)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


def clean_up(base: Path) -> None:
    """Nothing may stop this half-way."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    servers.Sandbox(base=base).kill()
    shutil.rmtree(base)


def run(options: argparse.Namespace, base: Path) -> dict[str, Any]:
    names = [name for name in (OURS, MARIADB_DUMP, MYDUMPER) if name not in options.without]
    versions = {program: measure.version(program) for program in PROGRAMS}
    if MYDUMPER in names and not versions["mydumper"]:
        print(NO_MYDUMPER)
        names.remove(MYDUMPER)
    result: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": measure.machine(str(base)),
        "versions": versions,
        "settings": {**servers.USER_SETTINGS, "page size": f"16k to {options.target}"},
    }
    source = servers.make(base / "source", "16k")
    source.start()
    generate(source.sql, options.scale, os.cpu_count() or 1)
    wanted = servers.checksums(str(source.socket))
    result["data"] = {"scale": options.scale, "tables": len(wanted), "tablespaces_mib": measure.tablespace_mib(source.datadir)}
    print_setting(result)
    result["rounds"] = []
    for number in range(options.rounds):
        # Each procedure comes first once, so that none always has the best or the worst place.
        turn = number % len(names)
        found = {name: one(name, source, options, wanted) for name in names[turn:] + names[:turn]}
        add_ratios(found)
        result["rounds"].append(found)
        print_round(number + 1, found)
    return result


def one(name: str, source: servers.Sandbox, options: argparse.Namespace, wanted: dict[str, str | None]) -> dict[str, Any]:
    """One procedure, from a source that has all its data in memory and a disk that is done with what came before."""
    if servers.checksums(str(source.socket)) != wanted:
        raise RuntimeError("the source is not as it was")
    os.sync()
    load = measure.load_average()
    if name == OURS:
        found = procedures.move(source, options.target, options.workers)
    elif name == MARIADB_DUMP:
        found = procedures.mariadb_dump(source, options.target)
    else:
        found = procedures.mydumper(source, options.target)
    phases = found["phases"].values()
    found["wall"], found["cpu"] = (round(sum(phase[unit] for phase in phases), 2) for unit in ("wall", "cpu"))
    after = found.pop("checksums")
    found["differing"] = sorted(table for table, value in wanted.items() if after.get(table) != value)
    found["load_average_before"] = load
    return found


def add_ratios(found: dict[str, dict[str, Any]]) -> None:
    ours = found[OURS]
    inside = sum(phase["start_and_stop"] for phase in ours["phases"].values())
    ours["wall_bare"] = round(ours["wall"] - inside - ours["checksum_seconds"], 2)
    for name, other in found.items():
        if name != OURS:
            other["ratio"] = round(other["wall"] / ours["wall"], 2)
            other["ratio_bare"] = round(other["wall"] / ours["wall_bare"], 2)
            other["cpu_ratio"] = round(other["cpu"] / ours["cpu"], 2)


def print_setting(result: dict[str, Any]) -> None:
    for title in ("machine", "versions", "settings", "data"):
        print(f"{title}: {', '.join(f'{name} {value}' for name, value in result[title].items() if value is not None)}")


def print_round(number: int, found: dict[str, dict[str, Any]]) -> None:
    print(f"\nround {number}\n{LINE.format(*HEADINGS)}")
    for name in (OURS, MARIADB_DUMP, MYDUMPER):
        if name not in found:
            continue
        one = found[name]
        dump, load = one["phases"]["dump"], one["phases"]["restore"]
        ratios = (one.get("ratio", 1), f"{one['cpu']:.1f}", one.get("cpu_ratio", 1))
        print(LINE.format(name, f"{dump['wall']:.1f}", f"{load['wall']:.1f}", f"{one['wall']:.1f}", *ratios, len(one["differing"])))
    print_ours(found)


def print_ours(found: dict[str, dict[str, Any]]) -> None:
    """What is in our first line and not in the others: starts and clean shutdowns of servers, and the source's checksums."""
    ours = found[OURS]
    dump, load = (phase["wall"] - phase["start_and_stop"] for phase in ours["phases"].values())
    sums = (f"{dump - ours['checksum_seconds']:.1f}", f"{load:.1f}", f"{ours['wall_bare']:.1f}")
    ratios = ", ".join(f"{one['ratio_bare']} to {name}" for name, one in found.items() if name != OURS)
    print(LINE.format("  without start, stop, checksums", *sums, "", "", "", f"(ratio {ratios})" if ratios else "").rstrip())
    print(f"  {ours['workers']} workers, peak memory of its process {ours['peak_memory_mib']} MiB", end="; ")
    loads = ", ".join(f"{one['load_average_before']} {name}" for name, one in found.items())
    print(f"load average before: {loads}", flush=True)


if __name__ == "__main__":
    main()

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""sysbench: its command lines, what it prints, and a run of it that is watched."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any, Callable, NamedTuple

from .durable import LIBC
from .errors import InnodbError
from .processes import PR_SET_PDEATHSIG, Run

PROGRAM = "sysbench"
SCHEMA = "pagesmith_benchmark"
PERCENTILE = 95
POLL_SECONDS = 0.2
OUTPUT_SHOWN = 300
#: Where it conflicts with the host's server, apt would remove the server otherwise.
MISSING_REMEDY = "Install sysbench on the host (Debian: apt install --no-remove sysbench; where that fails see docs/benchmark.md)"


class Program(NamedTuple):
    path: str
    version: str


class Outcome(NamedTuple):
    """What sysbench says of a run. Latencies in milliseconds. extra: what a script of ours has printed, summed over its threads."""

    transactions: int
    queries: int
    seconds: float
    latency_average: float
    latency_p95: float
    latency_max: float
    ignored_errors: int
    reconnects: int
    extra: dict[str, int]


def find(run: Run) -> Program:
    """The program; InnodbError when it is missing or too old."""
    path = shutil.which(PROGRAM, path=f"{os.environ.get('PATH', '')}:/usr/bin:/usr/local/bin")
    if not path:
        raise InnodbError("sysbench is not installed on the host", remedy=MISSING_REMEDY)
    code, out, err = run([path, "--version"])
    match = re.search(r"sysbench (\d+)\.(\d+)\S*", out)
    if code != 0 or not match:
        raise InnodbError(f"'{path} --version' failed: {(err or out).strip()[:OUTPUT_SHOWN]}", remedy=MISSING_REMEDY)
    if int(match.group(1)) < 1:
        raise InnodbError(f"{match.group()} is too old: its scripts are not those of version 1", remedy="Install sysbench 1.0 or later")
    return Program(path, match.group())


def command(
    program: str, script: str, action: str, socket: str, threads: int, options: Mapping[str, Any], seconds: int | None = None
) -> list[str]:
    """The command line. seconds: how long a run takes; a run is ended by its time alone."""
    limits = [f"--time={seconds}", "--events=0", f"--percentile={PERCENTILE}", "--report-interval=0"] if seconds else []
    return [
        program,
        script,
        "--db-driver=mysql",
        f"--mysql-socket={socket}",
        "--mysql-user=root",
        f"--mysql-db={SCHEMA}",
        f"--threads={threads}",
        *limits,
        *(f"--{name}={value}" for name, value in options.items()),
        action,
    ]


def parse(output: str) -> Outcome:
    """What a run has printed. Pure; InnodbError when it is not the report of a run."""

    def find_number(pattern: str) -> float:
        match = re.search(pattern, output)
        if not match:
            raise InnodbError(f"the output of sysbench is not understood: {output.strip()[-OUTPUT_SHOWN:]}", state="")
        return float(match.group(1))

    extra: dict[str, int] = {}
    for name, value in re.findall(r"^pagesmith (\w+)=(\d+)$", output, re.MULTILINE):
        extra[name] = extra.get(name, 0) + int(value)
    return Outcome(
        transactions=int(find_number(r"transactions:\s+(\d+)")),
        queries=int(find_number(r"queries:\s+(\d+)")),
        seconds=find_number(r"total time:\s+([\d.]+)s"),
        latency_average=find_number(r"avg:\s+([\d.]+)"),
        latency_p95=find_number(rf"{PERCENTILE}th percentile:\s+([\d.]+)"),
        latency_max=find_number(r"max:\s+([\d.]+)"),
        ignored_errors=int(find_number(r"ignored errors:\s+(\d+)")),
        reconnects=int(find_number(r"reconnects:\s+(\d+)")),
        extra=extra,
    )


def _die_with_parent() -> None:
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_watched(line: Sequence[str], directory: str, log: str, watch: Callable[[], None]) -> str:
    """Run sysbench in directory, where it finds our scripts, and return what it prints.

    watch is called several times a second; the error that it raises ends the run. log: file for the output.
    """
    with open(log, "wb") as output:
        process = subprocess.Popen(
            list(line), cwd=directory, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, preexec_fn=_die_with_parent
        )
        try:
            while process.poll() is None:
                watch()
                time.sleep(POLL_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    with open(log, encoding="utf-8", errors="replace") as file:
        printed = file.read()
    if process.returncode != 0:
        watch()
        raise InnodbError(f"sysbench failed (exit status {process.returncode}): {_fatal(printed)}", state="")
    return printed


def _fatal(printed: str) -> str:
    """Its first words about what went wrong."""
    lines = [line.strip() for line in printed.splitlines() if re.search(r"FATAL|error|cannot|unknown", line, re.IGNORECASE)]
    return "; ".join(dict.fromkeys(lines[:2])) or printed.strip()[-OUTPUT_SHOWN:] or "it said nothing"

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a user says of a migration that keeps the server running: how long it may stand still, and what it can bear meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Callable

from .errors import InnodbError

PAUSE_FILE = "pause"
POLL_SECONDS = 1.0


@dataclass(frozen=True)
class LiveOptions:
    """outage_seconds: the longest write outage before the old server is opened again. lock_seconds: the longest wait for a lock that
    clients feel. compare_seconds: how long tables may be compared once more while writes stand still. attempts: how often the
    cut-over is tried. max_load: counters of SHOW GLOBAL STATUS above which copying waits. lag_bytes: how much of the binary log may
    be left to apply when the cut-over begins. follow_seconds: how long the successor may take to catch up.
    """

    outage_seconds: float = 20.0
    lock_seconds: int = 3
    compare_seconds: float = 0.3
    attempts: int = 5
    max_load: Mapping[str, int] = field(default_factory=dict)
    lag_bytes: int = 1 << 20
    follow_seconds: float = 24 * 3600.0


def over_limit(max_load: Mapping[str, int], counters: Mapping[str, str]) -> list[str]:
    """What is above its limit, as text; InnodbError for a counter that the server does not have."""
    found = []
    for name, limit in max_load.items():
        value = counters.get(name.lower())
        if value is None:
            raise InnodbError(f"the server has no status counter {name}", remedy="Correct innodb_live.max_load")
        if float(value) > limit:
            found.append(f"{name} is {value}, more than {limit}")
    return found


class Throttle:
    """Holds copying back while a pause file is there, or while the server has more to do than it should."""

    def __init__(self, work_path: str, max_load: Mapping[str, int], counters: Callable[[], Mapping[str, str]], say: Callable[[str], None]):
        self.pause_file = os.path.join(work_path, PAUSE_FILE)
        self.max_load = max_load
        self.counters = counters
        self.say = say

    def reasons(self) -> list[str]:
        found = [f"{self.pause_file} is there"] if os.path.exists(self.pause_file) else []
        return found + (over_limit(self.max_load, self.counters()) if self.max_load else [])

    def wait(self) -> None:
        """Return as soon as nothing stands against going on."""
        told = False
        while True:
            reasons = self.reasons()
            if not reasons:
                return
            if not told:
                self.say(f"paused: {'; '.join(reasons)}")
                told = True
            time.sleep(POLL_SECONDS)

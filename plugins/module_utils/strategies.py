# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The strategies: for each the steps in their order, and what it asks of a server."""

from __future__ import annotations

from typing import Any, Callable

from . import steps, still_steps, way_back
from .cut_over import fence as cut_over
from .journal import Run as JournalRun
from .live_steps import follow, seed

DUMP_RESTORE = "dump_restore"
SIDE_BY_SIDE = "side_by_side"
LIVE = "live"
#: Not to be chosen: a rollback that keeps what was written since the migration.
BACK = "back"
AUTO = "auto"

LIVE_STEPS: tuple[tuple[str, Callable[[steps.Context, JournalRun, dict[str, Any]], None], str], ...] = (
    ("build", steps.build, "initialise a new data directory beside the old one; the server runs on"),
    ("seed", seed, "copy one state of the running server into the successor; clients go on"),
    ("follow", follow, "let the successor catch up by replication, and compare every object and every table of both servers"),
    ("fence", cut_over, "hold the server still, apply the last change, stop both servers, compare with the end of the binary log"),
    ("swap", steps.exchange, "set the old directory aside, put the new one in its place, write the option file"),
    ("open", steps.open_quickly, "start the service"),
    ("finish", steps.finish, "remove what is not needed any more"),
)

STILL_STEPS: tuple[tuple[str, Callable[[steps.Context, JournalRun, dict[str, Any]], None], str], ...] = (
    LIVE_STEPS[0],
    ("seed", still_steps.seed, "hold writes still, while reads go on, and copy the running server into the successor"),
    ("compare", still_steps.compare, "compare every object, and the content of every table, of both servers"),
    ("fence", still_steps.fence, "stop the old server, and prove that nothing was written since"),
    *LIVE_STEPS[-3:],
)

BACK_STEPS: tuple[tuple[str, Callable[[steps.Context, JournalRun, dict[str, Any]], None], str], ...] = (
    ("build", way_back.copy_back, "copy the retained directory, and let the copy receive what was written since"),
    *LIVE_STEPS[2:-1],
    ("finish", way_back.finish, "remove what is not needed any more"),
)

STEPS = {DUMP_RESTORE: steps.STEPS, SIDE_BY_SIDE: STILL_STEPS, LIVE: LIVE_STEPS, BACK: BACK_STEPS}


def steps_of(strategy: str) -> tuple:
    """The steps of a strategy: name, function, what it does."""
    return STEPS[strategy]

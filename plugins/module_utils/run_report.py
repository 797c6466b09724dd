# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a report says of a run of the journal."""

from __future__ import annotations

from typing import Any

from .journal import MIGRATED
from .journal import Run as JournalRun
from .migration import strategy_of
from .steps import Context
from .strategies import steps_of

#: Parts of a cut-over during which clients can't read either.
NO_READING = ("stop_old", "compare_old", "carry_files", "last_changes", "stop_new", "swap", "start")


def figures_of(run: JournalRun | None) -> dict[str, Any]:
    """What the journal tells of a run for a report: steps, seconds, amounts."""
    if run is None:
        return {"steps": [], "write_outage_seconds": 0.0, "read_outage_seconds": 0.0, "bytes_moved": 0, "allowed_differences": []}
    steps = [
        {"name": name, "seconds": run.seconds.get(name, 0.0), "outcome": "done" if run.done(name) else "failed"}
        for name, _step, _text in steps_of(strategy_of(run))
        if run.begun(name)
    ]
    outage = reading = None
    if run.facts.get("cut_over"):
        parts = run.facts["cut_over"]
        outage, reading = (round(sum(parts[name] for name in names if name in parts), 3) for names in (parts, NO_READING))
    elif run.done("open") and "fence" in run.times:
        outage = reading = round(run.times["open"] - run.times["fence"] + run.seconds.get("fence", 0.0), 3)
    return {
        "run": run.id,
        "steps": steps,
        "write_outage_seconds": outage,
        "read_outage_seconds": reading,
        "outage_parts": run.facts.get("cut_over", {}),
        "compared_at_fence": run.facts.get("compared_at_fence", []),
        "changed_since_comparison": run.facts.get("changed_since_comparison", []),
        "bytes_moved": run.facts.get("bytes_moved", 0),
        "allowed_differences": run.facts.get("allowed_differences", []),
    }


def result_of(context: Context, run_id: str, outcome: str) -> dict[str, Any]:
    """What a report of a migration says."""
    run = context.work.journal.run(run_id)
    return {
        "outcome": outcome,
        "page_size_before": context.before,
        "page_size_after": context.target if outcome == MIGRATED else context.before,
        "strategy": context.strategy,
        **figures_of(run),
        "tables": run.facts.get("tables", 0),
        "blockers": [],
        "census_differences": context.result.get("census_differences", []),
        "digest_differences": context.result.get("digest_differences", []),
        "retained_directory": context.paths.retained if outcome == MIGRATED else None,
        "progress": context.progress.states,
    }

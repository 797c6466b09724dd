# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The fleet in groups: which hosts to change, which to leave, which are blocked, which could not be assessed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .host import BLOCKED, CHANGE, FAILED, STAY, HostReport
from .recommendation import BADGES, headline, predicted
from .units import bytes_markup, change_text, size_text
from .values import text

EXPLANATIONS = {
    CHANGE: "Another page size is recommended, and nothing stands in its way.",
    BLOCKED: "Another page size would be the better choice. The page of the host says what has to go first.",
    STAY: "The page size of today is the right one, or nothing is known that speaks for another.",
    FAILED: "Nothing can be said of these hosts until they are assessed again.",
}
CONFIDENCE_ORDER = {"high": 3, "medium": 2, "low": 1}


def fleet_view(hosts: list[HostReport], pages: dict[str, str], skipped: list[dict[str, str]]) -> dict[str, Any]:
    """The whole index for its template. pages: the address of each host's page by the stem of its report."""
    by_outcome: dict[str, list[HostReport]] = {outcome: [] for outcome in EXPLANATIONS}
    for report in hosts:
        by_outcome[report.outcome].append(report)
    groups = [
        {
            "outcome": outcome,
            "title": BADGES[outcome],
            "explanation": EXPLANATIONS[outcome],
            "moves": moves(members) if outcome == CHANGE else [],
            "rows": [row(report, pages[report.stem]) for report in sorted(members, key=lambda one: (one.host.lower(), one.stem))],
        }
        for outcome, members in by_outcome.items()
    ]
    dates = sorted(filter(None, (report.date for report in hosts)))
    return {"groups": groups, "total": len(hosts), "dates": sorted({*dates[:1], *dates[-1:]}), "skipped": skipped}


def moves(members: list[HostReport]) -> list[str]:
    """How many hosts go from which page size to which, most of them first."""
    found = Counter((report.now or 0, report.recommended or 0) for report in members)
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [f"{size_text(before)} to {size_text(after)}: {count}" for (before, after), count in ordered]


def row(report: HostReport, page: str) -> dict[str, Any]:
    """A host in its group; numbers by which the table is sorted stand beside their texts."""
    after = predicted(report)
    confidence = text(report.data, "decision", "confidence")
    return {
        "host": report.host,
        "page": page,
        "now": size_text(report.now),
        "now_order": report.now or 0,
        "recommended": size_text(report.recommended),
        "recommended_order": report.recommended or 0,
        "confidence": confidence or "not known",
        "confidence_order": CONFIDENCE_ORDER.get(confidence, 0),
        "data": bytes_markup(report.data_bytes),
        "data_order": report.data_bytes or 0,
        "change": change_text(report.data_bytes, after) if not report.stay else "",
        "blockers": blocker_count(report),
        "headline": headline(report),
    }


def blocker_count(report: HostReport) -> int:
    """Blockers at the recommended size, else the fewest at any other that is not allowed: what has to go first."""
    barred = [entry for size, entry in report.candidates.items() if size != report.now and entry.allowed is False]
    wanted = [entry for entry in barred if entry.size == report.recommended]
    return min((len(entry.blockers) for entry in wanted or barred), default=0)

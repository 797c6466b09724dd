# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which page size a server should have. Pure and total: facts, results and a policy in, a decision with its reasons out."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES

from .choice import Choice, Totals, add_up, choose, deciding, difference
from .evaluation import Evaluation, Finding, evaluate
from .headline import headline
from .measured import applicable, describe_benchmark
from .policy import CONFIDENCES, Policy, Rank
from .situation import describe_candidate, describe_now

#: What a rank is worth in the score that is shown: more than all reasons of the next rank together.
SCORE_BASE = 1000
SHOWN_OF_CANDIDATE = ("predicted_bytes", "predicted_error_bytes", "read_amplification", "pages_in_pool", "rehearsed")
#: What is told of a benchmark beside its reasons.
SHOWN_OF_BENCHMARK = ("date", "age_days", "kind", "data_to_pool", "largest_gain")
#: Figures of the server without which much of the evidence is missing.
WANTED_OF_NOW = ("page_size", "bytes", "pool_bytes", "hit_ratio", "rows_per_page_request", "storage")


def decide(facts: Any, policy: Policy, rehearsal: Any = None, benchmark: Any = None, today: datetime.date | None = None) -> dict[str, Any]:
    """The decision, with the keys that the module page_size_decision documents. Nothing here raises, whatever the facts are."""
    now = describe_now(facts)
    benchmark = applicable(benchmark, now)
    candidates = {size: describe_candidate(size, facts, rehearsal, benchmark, now, policy.space) for size in PAGE_SIZES}
    measured = describe_benchmark(benchmark, now["page_size"], today)
    scope = {"facts": facts, "rehearsal": rehearsal, "benchmark": measured, "now": now}
    found = evaluate(policy, scope, candidates)
    current = now["page_size"]
    totals = {size: add_up(size, found.reasons, policy.ranks) for size in PAGE_SIZES}
    blocked = {finding.size for finding in found.blockers}
    chosen = choose(current, totals, blocked, policy.ranks) if current else None
    wished = choose(current, totals, set(), policy.ranks) if current else None
    return {
        "page_size": current,
        "recommended": chosen.size if chosen else None,
        "stay": chosen is None or chosen.size == current,
        "without_blockers": wished.size if wished else None,
        "headline": headline(current, chosen, wished, found),
        "confidence": _confidence(chosen, candidates, found),
        "evidence": _best_rank(found.reasons, policy.ranks),
        "candidates": {str(size): _candidate(each, found, totals, current, policy.ranks) for size, each in candidates.items()},
        "reasons": _reasons(found.reasons, policy.ranks),
        "measured": {key: measured.get(key) for key in SHOWN_OF_BENCHMARK} if measured else None,
        "rule_errors": found.errors,
        "not_known": [key for key in WANTED_OF_NOW if now[key] is None],
    }


def _confidence(chosen: Choice | None, candidates: Mapping[int, dict], found: Evaluation) -> str:
    """That of the reasons that decided; one lower for a change that was not rehearsed, the lowest when a blocker could not be judged."""
    if chosen is None or chosen.rank is None or not chosen.rank.decides or found.erring_blockers:
        return CONFIDENCES[0]
    own = [each.rule.confidence or chosen.rank.confidence for each in deciding(chosen, found.reasons)]
    level = max(CONFIDENCES.index(each) for each in own)
    candidate = candidates[chosen.size]
    if not candidate["current"] and not candidate["rehearsed"]:
        level -= 1
    return CONFIDENCES[max(level, 0)]


def _best_rank(reasons: list[Finding], ranks: tuple[Rank, ...]) -> str:
    used = {each.rule.rank for each in reasons}
    return next((rank.id for rank in ranks if rank.id in used), "none")


def _candidate(each: dict, found: Evaluation, totals: Totals, current: int | None, ranks: tuple[Rank, ...]) -> dict[str, Any]:
    size = each["page_size"]
    blockers = [finding.as_blocker() for finding in found.blockers if finding.size == size]
    ahead = difference(totals[size], totals[current]) if current else totals[size]
    return {
        "allowed": not blockers,
        "blockers": blockers,
        "warnings": [finding.text for finding in found.warnings if finding.size == size],
        **{key: each[key] for key in SHOWN_OF_CANDIDATE},
        "needed_bytes": 0 if each["current"] else each["needed_bytes"],
        "score": sum(value * SCORE_BASE ** (len(ranks) - 1 - place) for place, value in enumerate(ahead)),
        "score_by_rank": {rank.id: value for rank, value in zip(ranks, ahead) if value},
    }


def _reasons(reasons: list[Finding], ranks: tuple[Rank, ...]) -> list[dict[str, Any]]:
    """The findings of a rule that have the same text as one reason; best rank and greatest strength first."""
    places = {rank.id: place for place, rank in enumerate(ranks)}
    groups: dict[tuple[str, str], list[Finding]] = {}
    for each in reasons:
        groups.setdefault((each.rule.id, each.text), []).append(each)
    found = [
        {
            "id": name,
            "text": text,
            "favours": sorted({each.size for each in group if each.weight > 0}),
            "against": sorted({each.size for each in group if each.weight < 0}),
            "rank": group[0].rule.rank,
            "rank_title": ranks[places[group[0].rule.rank]].title,
            "strength": group[0].rule.strength,
            "source": group[0].rule.source,
        }
        for (name, text), group in groups.items()
    ]
    return sorted(found, key=lambda entry: (places[entry["rank"]], -entry["strength"], entry["id"], entry["text"]))

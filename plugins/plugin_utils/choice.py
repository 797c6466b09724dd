# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The page size with the best evidence.

Ranks of evidence are compared one after the other, best first: what was measured here outweighs any number of published figures.
Within a rank the strengths of the reasons are added up, so their order does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES

from .evaluation import Finding
from .policy import Rank

Totals = Mapping[int, tuple]


@dataclass(frozen=True)
class Choice:
    """The page size that comes out, the size it was weighed against, and the rank at which it wins; None when it does so at none."""

    size: int
    rival: int | None
    rank: Rank | None


def add_up(size: int, reasons: list[Finding], ranks: tuple[Rank, ...]) -> tuple[int, ...]:
    """For each rank the strengths of the reasons for the size, less those against it."""
    return tuple(sum(each.weight for each in reasons if each.size == size and each.rule.rank == rank.id) for rank in ranks)


def difference(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """By how much one is ahead, rank by rank; compared as tuples are, this is the order of the sizes."""
    return tuple(left - right for left, right in zip(one, other))


def choose(current: int, totals: Totals, blocked: set[int], ranks: tuple[Rank, ...]) -> Choice:
    """The size with the best evidence. A change has to win at a rank that decides; of equals the one nearest to the size now is taken.

    Adding up and comparing rank by rank is monotonous: when evidence only moves towards larger pages, so does the choice.
    """
    ahead = {size: difference(totals[size], totals[current]) for size in PAGE_SIZES if size != current and size not in blocked}
    best = max(ahead, key=lambda size: (ahead[size], -abs(PAGE_SIZES.index(size) - PAGE_SIZES.index(current)), size), default=None)
    if best is None:
        return Choice(current, None, None)
    rank = next((rank for rank, value in zip(ranks, ahead[best]) if value), None)
    level = (0,) * len(ranks)
    if ahead[best] > level and rank.decides:
        return Choice(best, current, rank)
    return Choice(current, best, rank if ahead[best] < level else None)


def deciding(choice: Choice, reasons: list[Finding]) -> list[Finding]:
    """The reasons that made the choice, the strongest first: at its rank, for the one size or against the other."""
    found = [
        each
        for each in reasons
        if choice.rank
        and each.rule.rank == choice.rank.id
        and ((each.size == choice.size and each.weight > 0) or (each.size == choice.rival and each.weight < 0))
    ]
    return sorted(found, key=lambda each: (-each.rule.strength, each.rule.id, each.text))

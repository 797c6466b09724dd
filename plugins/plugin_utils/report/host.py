# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The report of one host, and what came of its assessment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .values import amount, by_page_size, flag, mapping, mappings, number, page_size, text, texts, visible

CHANGE = "change"
STAY = "stay"
BLOCKED = "blocked"
FAILED = "failed"


@dataclass(frozen=True)
class Candidate:
    """What the decision and the rehearsal say of one page size.

    read_amplification is 1.0 at the page size of today. needed_bytes: what a migration to it needs on the host.
    """

    size: int
    allowed: bool | None
    blockers: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    predicted_bytes: float | None = None
    error_bytes: float | None = None
    read_amplification: float | None = None
    pages_in_pool: float | None = None
    score: float | None = None
    rehearsed: bool = False
    needed_bytes: float | None = None


@dataclass(frozen=True)
class HostReport:
    """A host's report. stem is the name of its file without the ending; error says why there is no assessment."""

    stem: str
    data: dict[str, Any]
    error: str = ""

    @property
    def host(self) -> str:
        return text(self.data, "host") or visible(self.stem)

    @property
    def date(self) -> str:
        return text(self.data, "date")

    @property
    def now(self) -> int | None:
        """The page size of today in bytes."""
        return page_size(self.data, "facts", "page_size")

    @property
    def recommended(self) -> int | None:
        """The recommended page size in bytes; that of today when the recommendation is to stay."""
        return page_size(self.data, "decision", "recommended") or (self.now if flag(self.data, "decision", "stay") else None)

    @property
    def stay(self) -> bool:
        said = flag(self.data, "decision", "stay")
        return said if said is not None else self.recommended == self.now

    @property
    def headline(self) -> str:
        return self.error or text(self.data, "decision", "headline")

    @property
    def data_bytes(self) -> float | None:
        """Data and indexes of today, in bytes."""
        parts = [amount(self.data, "facts", "schema", key) for key in ("data_bytes", "index_bytes")]
        return sum(parts) if None not in parts else amount(self.data, "facts", "schema", "bytes")

    @property
    def pool_bytes(self) -> float | None:
        return amount(self.data, "facts", "workload", "buffer_pool", "size_bytes")

    @property
    def candidates(self) -> dict[int, Candidate]:
        """By page size in bytes, smallest first, those too that only the rehearsal knows."""
        decided = by_page_size(self.data, "decision", "candidates")
        rehearsed = by_page_size(self.data, "rehearsal", "page_sizes")
        return {size: candidate(size, decided.get(size, {}), rehearsed.get(size, {})) for size in sorted({*decided, *rehearsed})}

    @property
    def outcome(self) -> str:
        if self.error:
            return FAILED
        if not self.stay:
            aim = self.candidates.get(self.recommended)
            return BLOCKED if aim and aim.allowed is False else CHANGE
        return BLOCKED if self.held_back() else STAY

    def held_back(self) -> bool:
        """Whether the host stays only because blockers leave it no choice: by the decision's word, else by its scores."""
        if "without_blockers" in mapping(self.data, "decision"):
            return page_size(self.data, "decision", "without_blockers") not in (None, self.now)
        current = self.candidates.get(self.now)
        scores = [entry.score for entry in self.candidates.values() if entry.allowed is False and entry.score is not None]
        return bool(scores) and current is not None and current.score is not None and max(scores) > current.score


def candidate(size: int, decided: dict[str, Any], rehearsed: dict[str, Any]) -> Candidate:
    """The decision's word first; where it says nothing, that of the rehearsal."""

    def either(key: str) -> float | None:
        value = amount(decided, key)
        return amount(rehearsed, key) if value is None else value

    allowed = flag(decided, "allowed")
    return Candidate(
        size=size,
        allowed=flag(rehearsed, "fits") if allowed is None else allowed,
        blockers=merged_blockers(mappings(decided, "blockers"), mappings(rehearsed, "problems")),
        warnings=texts(decided, "warnings"),
        predicted_bytes=either("predicted_bytes"),
        error_bytes=either("predicted_error_bytes"),
        read_amplification=amount(decided, "read_amplification"),
        pages_in_pool=amount(decided, "pages_in_pool"),
        score=number(decided, "score"),
        rehearsed=bool(rehearsed),
        needed_bytes=amount(decided, "needed_bytes"),
    )


def merged_blockers(blockers: list[dict[str, Any]], problems: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each problem once: the rehearsal knows more of what the decision names by the same id and object."""

    def key(entry: dict[str, Any]) -> tuple[str, str]:
        return text(entry, "id"), text(entry, "object")

    known = {key(problem): problem for problem in problems}
    merged = [{**known.pop(key(blocker), {}), **blocker} for blocker in blockers]
    return merged + list(known.values())

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The decision in one sentence."""

from __future__ import annotations

from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import label

from .choice import Choice, deciding
from .evaluation import Evaluation

NO_SIZE = "The page size of the server is not known, so nothing can be recommended."
NO_EVIDENCE = "no measurable gain expected, because nothing measured here speaks for another size"


def headline(current: int | None, chosen: Choice | None, wished: Choice | None, found: Evaluation) -> str:
    """chosen and wished: the Choice with and without the blockers, None when the page size now is not known."""
    if current is None:
        return NO_SIZE
    if chosen.size != current:
        instead = f" ({_kept_from(wished.size, found)})" if wished.size != chosen.size else ""
        return f"Change from {label(current)} to {label(chosen.size)}: {_because(chosen, found)}{instead}."
    if wished.size != current:
        return f"Stay at {label(current)}: {_kept_from(wished.size, found)}."
    if chosen.rank and chosen.rank.decides:
        return f"Stay at {label(current)}: {_because(chosen, found)}."
    return f"Stay at {label(current)}, or benchmark: {NO_EVIDENCE}."


def _because(chosen: Choice, found: Evaluation) -> str:
    return _inside(deciding(chosen, found.reasons)[0].text)


def _kept_from(size: int, found: Evaluation) -> str:
    stands = [each for each in found.blockers if each.size == size]
    things = "one thing stands against it" if len(stands) == 1 else f"{len(stands)} things stand against it, first"
    return f"{label(size)} would be better by the evidence, but {things}: {_inside(stands[0].text)}"


def _inside(text: str) -> str:
    """A text as a part of a sentence."""
    text = " ".join(text.split()).rstrip(".")
    return text[0].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The rules of a policy applied to the facts of one server. A rule that errs is told among the errors; the others are applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .expressions import ExpressionError
from .policy import Policy, Rule


@dataclass(frozen=True)
class Finding:
    """A rule that applies to a page size. weight: its strength, negative when it speaks against the size."""

    rule: Rule
    size: int
    text: str
    weight: int = 0
    object: str = ""
    remedy: str = ""
    id: str = ""

    def as_blocker(self) -> dict[str, str]:
        return {"id": self.id or self.rule.id, "object": self.object, "message": self.text, "remedy": self.remedy}


@dataclass
class Evaluation:
    """What applies, sorted, so that the order of the rules shows nowhere. erring_blockers: ids of blockers that could not be judged."""

    blockers: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    reasons: list[Finding] = field(default_factory=list)
    errors: list[dict[str, str]] = field(default_factory=list)
    erring_blockers: set[str] = field(default_factory=set)


def evaluate(policy: Policy, scope: Mapping[str, Any], candidates: Mapping[int, dict[str, Any]]) -> Evaluation:
    """All rules, for all sizes they speak of."""
    found = Evaluation()
    errors: set[tuple[str, str]] = set()
    scope = {**scope, "terms": _terms(policy, scope, errors)}
    for rule in policy.rules.values():
        kept = {"blocker": found.blockers, "warning": found.warnings, "reason": found.reasons}[rule.kind]
        for size, weight in _sizes(rule, candidates):
            for result in _apply(rule, size, weight, {**scope, "candidate": candidates[size]}):
                if isinstance(result, Finding):
                    kept.append(result)
                    continue
                errors.add((rule.id, str(result)))
                if rule.kind == "blocker":
                    found.erring_blockers.add(rule.id)
                    found.warnings.append(Finding(rule, size, f"Whether '{rule.id}' stands against this could not be judged: {result}"))
    for findings in (found.blockers, found.warnings, found.reasons):
        findings.sort(key=lambda each: (each.rule.id, each.size, each.id, each.object, each.text, each.weight))
    found.errors = [{"rule": rule, "error": error} for rule, error in sorted(errors)]
    return found


def _terms(policy: Policy, scope: Mapping[str, Any], errors: set[tuple[str, str]]) -> dict[str, bool | None]:
    """The named conditions; one that errs is not known."""
    values: dict[str, bool | None] = {}
    for name, expression in policy.terms.items():
        try:
            value = expression.value(scope)
            if value is not None:
                expression.holds(scope)
            values[name] = value
        except ExpressionError as error:
            errors.add((f"term {name}", str(error)))
            values[name] = None
    return values


def _sizes(rule: Rule, candidates: Mapping[int, dict[str, Any]]) -> Iterator[tuple[int, int]]:
    """Each size that the rule speaks of, with the weight of what it says."""
    spoken = ((rule.favours, rule.strength), (rule.against, -rule.strength)) if rule.kind == "reason" else ((rule.sizes, 0),)
    for sizes, weight in spoken:
        for size, candidate in candidates.items():
            # Nothing can stand against staying.
            if any(_named(each, candidate) for each in sizes) and not (rule.kind == "blocker" and candidate["current"]):
                yield size, weight


def _named(word: int | str, candidate: Mapping[str, Any]) -> bool:
    if isinstance(word, int):
        return candidate["page_size"] == word
    return word == "all" or bool(not candidate["current"] if word == "others" else candidate[word])


def _apply(rule: Rule, size: int, weight: int, scope: Mapping[str, Any]) -> Iterator[Finding | ExpressionError]:
    """A finding when the condition holds, or the error; with 'each' for every entry of the list, so that one that errs hides no other."""
    try:
        items = rule.each.value(scope) if rule.each else [None]
        if items is not None and not isinstance(items, (list, tuple)):
            raise ExpressionError(f"'{rule.each.text}' gives no list")
    except ExpressionError as error:
        yield error
        return
    for item in items or []:
        try:
            finding = _finding(rule, size, weight, {**scope, "item": item})
        except ExpressionError as error:
            yield error
        else:
            if finding:
                yield finding


def _finding(rule: Rule, size: int, weight: int, scope: dict[str, Any]) -> Finding | None:
    if rule.when and not rule.when.holds(scope):
        return None
    scope.update({name: expression.value(scope) for name, expression in rule.values.items()})
    item = scope["item"]
    own_id = item.get("id") if rule.kind == "blocker" and isinstance(item, Mapping) else None
    return Finding(
        rule, size, rule.text.fill(scope), weight, rule.object.fill(scope), rule.remedy.fill(scope), f"{own_id}" if own_id else ""
    )

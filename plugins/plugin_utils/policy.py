# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The policy: rules of a decision as data. Reads, checks and joins policies; a fault is told with the rule's id and its line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES, parse

from .expressions import Expression, ExpressionError, Text, require_jmespath
from .policy_source import Source, read_source
from .situation import CANDIDATE_KEYS, FACT_KEYS, NOW_KEYS

KINDS = ("blocker", "warning", "reason")
CONFIDENCES = ("low", "medium", "high")
#: Words for page sizes, seen from the one the server has.
WORDS = ("all", "current", "others", "smaller", "larger")
ROOTS = ("facts", "rehearsal", "benchmark", "candidate", "now", "terms")
KNOWN_KEYS = {"facts": FACT_KEYS, "candidate": CANDIDATE_KEYS, "now": NOW_KEYS}
STRENGTHS = range(1, 6)

SECTIONS = frozenset(["ranks", "terms", "space", "rules", "without"])
COMMON_KEYS = frozenset(["id", "kind", "when", "text", "values", "source"])
KEYS_BY_KIND = {
    "blocker": COMMON_KEYS | {"sizes", "each", "object", "remedy"},
    "warning": COMMON_KEYS | {"sizes", "each"},
    "reason": COMMON_KEYS | {"favours", "against", "rank", "strength", "confidence"},
}
REQUIRED_BY_KIND = {
    "blocker": ("text", "remedy", "source"),
    "warning": ("text", "source"),
    "reason": ("text", "source", "rank", "strength"),
}
RANK_KEYS = frozenset(["id", "title", "decides", "confidence"])


@dataclass(frozen=True)
class Rank:
    """A kind of evidence. decides: whether a change may rest on it. confidence: how sure a decision that rests on it is."""

    id: str
    title: str
    decides: bool
    confidence: str


@dataclass(frozen=True)
class Rule:
    """One rule. sizes, favours and against are page sizes in bytes or one of WORDS."""

    id: str
    kind: str
    text: Text
    source: str
    when: Expression | None = None
    values: Mapping[str, Expression] = field(default_factory=dict)
    each: Expression | None = None
    object: Text = Text("")
    remedy: Text = Text("")
    sizes: tuple[int | str, ...] = ("others",)
    favours: tuple[int | str, ...] = ()
    against: tuple[int | str, ...] = ()
    rank: str = ""
    strength: int = 0
    confidence: str | None = None


@dataclass(frozen=True)
class Policy:
    """Ranks, best first; named conditions; what is known of space (see situation.py); rules by id."""

    ranks: tuple[Rank, ...] = ()
    terms: Mapping[str, Expression] = field(default_factory=dict)
    space: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, Rule] = field(default_factory=dict)


def load_policy(policy: str | Mapping[str, Any], site_policies: Sequence[str | Mapping[str, Any]] = ()) -> Policy:
    """The policy of a path or a value, and on top of it those of a site, in their order. InnodbError tells the first fault."""
    require_jmespath()
    joined = Policy()
    for number, given in enumerate([policy, *site_policies]):
        joined = extend(joined, read_source(given, f"site policy {number}" if number else "the policy"))
    return joined


def extend(policy: Policy, source: Source) -> Policy:
    """The policy with what the source says: rules and terms by their names, ranks and space as a whole."""
    for key in source.data:
        if key not in SECTIONS:
            _fault(source, (key,), f"'{key}' is none of {', '.join(sorted(SECTIONS))}")
    ranks = _ranks(source) or policy.ranks
    if not ranks:
        _fault(source, (), "'ranks' is missing; only what extends another policy can do without")
    terms = {**policy.terms, **_terms(source)}
    rules = dict(policy.rules)
    for name in _section(source, "without", list):
        if name not in rules:
            _fault(source, ("without",), f"there is no rule '{name}' to leave out")
        del rules[name]
    rules.update(_rules(source, {rank.id for rank in ranks}, terms))
    _check_ranks_in_use(source, rules.values(), ranks)
    return replace(policy, ranks=ranks, terms=terms, rules=rules, space={**policy.space, **_space(source)})


def _fault(source: Source, path: tuple, text: str, rule: Any = None) -> NoReturn:
    subject = f"rule '{rule}': " if rule is not None else ""
    raise InnodbError(f"{source.place(path)}: {subject}{text}", remedy="Correct the policy; see docs/decision.md of the collection")


def _section(source: Source, name: str, kind: type) -> Any:
    value = source.data.get(name)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        _fault(source, (name,), f"'{name}' has to be a {'list' if kind is list else 'mapping'}")
    return value


def _ranks(source: Source) -> tuple[Rank, ...]:
    found = []
    for index, entry in enumerate(_section(source, "ranks", list)):
        if not isinstance(entry, Mapping) or set(entry) != RANK_KEYS:
            _fault(source, ("ranks", index), f"a rank has the keys {', '.join(sorted(RANK_KEYS))}")
        if entry["confidence"] not in CONFIDENCES:
            _fault(source, ("ranks", index, "confidence"), f"confidence is one of {', '.join(CONFIDENCES)}")
        if not isinstance(entry["decides"], bool):
            _fault(source, ("ranks", index, "decides"), "decides is true or false")
        found.append(Rank(**entry))
    return tuple(found)


def _check_ranks_in_use(source: Source, rules: Iterable[Rule], ranks: tuple[Rank, ...]) -> None:
    known = {rank.id for rank in ranks}
    for rule in rules:
        if rule.kind == "reason" and rule.rank not in known:
            _fault(source, ("ranks",), f"the rank '{rule.rank}' is gone, and a rule still has it", rule.id)


def _terms(source: Source) -> dict[str, Expression]:
    return {
        name: _expression(source, ("terms", name), text, None, ROOTS[:-1], {}) for name, text in _section(source, "terms", dict).items()
    }


def _space(source: Source) -> Mapping[str, Any]:
    space = _section(source, "space", dict)
    for name, table in space.items():
        if not isinstance(table, Mapping):
            _fault(source, ("space", name), f"'{name}' has to be a mapping of page sizes")
        sizes = set(PAGE_SIZES)
        if {_bytes(source, ("space", name), size) for size in table if size != "source"} != sizes:
            _fault(source, ("space", name), "every page size from 4k to 64k needs its figures")
    return {
        name: {"source": table.get("source"), **{parse(size): value for size, value in table.items() if size != "source"}}
        for name, table in space.items()
    }


def _bytes(source: Source, path: tuple, size: Any, rule: Any = None) -> int:
    try:
        return parse(size)
    except InnodbError as error:
        _fault(source, path, f"{error.failed}. {error.remedy}", rule)


def _rules(source: Source, ranks: set[str], terms: Mapping[str, Expression]) -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for index, entry in enumerate(_section(source, "rules", list)):
        if not isinstance(entry, Mapping) or not re.fullmatch(r"[a-z0-9_]+", str(entry.get("id"))):
            _fault(source, ("rules", index), "a rule is a mapping with an id of small letters, digits and underscores")
        if entry["id"] in found:
            _fault(source, ("rules", index), "the id is there twice", entry["id"])
        found[entry["id"]] = _Reader(source, index, entry, terms).rule(ranks)
    return found


def _expression(source: Source, path: tuple, text: Any, rule: Any, roots: Iterable[str], terms: Mapping[str, Expression]) -> Expression:
    try:
        expression = Expression(str(text))
    except ExpressionError as error:
        _fault(source, path, f"'{path[-1]}': {error}", rule)
    _check_paths(source, path, expression, rule, roots, terms)
    return expression


def _check_paths(
    source: Source, path: tuple, expression: Expression, rule: Any, roots: Iterable[str], terms: Mapping[str, Expression]
) -> None:
    """A name that does not exist is never known, so its rule would never apply and nobody would notice."""
    for names in expression.paths():
        known = {**KNOWN_KEYS, "terms": tuple(terms)}.get(names[0])
        if names[0] not in roots:
            _fault(source, path, f"'{path[-1]}': there is no '{names[0]}' here, only {', '.join(roots)}", rule)
        if known is not None and len(names) > 1 and names[1] not in known:
            _fault(source, path, f"'{path[-1]}': there is no '{names[1]}' in '{names[0]}', only {', '.join(known)}", rule)


class _Reader:
    """One rule of a source, checked key by key."""

    def __init__(self, source: Source, index: int, entry: Mapping[str, Any], terms: Mapping[str, Expression]) -> None:
        self.source, self.index, self.entry, self.terms = source, index, entry, terms

    def fault(self, key: str | None, text: str) -> NoReturn:
        path = ("rules", self.index) if key is None else ("rules", self.index, key)
        _fault(self.source, path, text, self.entry["id"])

    def rule(self, ranks: set[str]) -> Rule:
        kind = self.entry.get("kind")
        if kind not in KINDS:
            self.fault("kind" if kind else None, f"kind is one of {', '.join(KINDS)}")
        self._check_keys(kind)
        values = self.values()
        inside = (*ROOTS, "item") if "each" in self.entry else ROOTS
        texts = {key: self.text(key, (*inside, *values)) for key in ("text", "object", "remedy") if key in self.entry}
        sizes = {key: self.sizes(key) for key in ("sizes", "favours", "against") if key in self.entry}
        rest = {key: self.entry[key] for key in ("rank", "strength", "confidence") if key in self.entry}
        if kind == "reason":
            self._check_reason(ranks)
        return Rule(
            id=self.entry["id"],
            kind=kind,
            source=str(self.entry["source"]),
            when=self.expression("when", inside),
            each=self.expression("each", ROOTS),
            values=values,
            **texts,
            **sizes,
            **rest,
        )

    def _check_keys(self, kind: str) -> None:
        for key in self.entry:
            if key not in KEYS_BY_KIND[kind]:
                self.fault(key, f"a {kind} has no '{key}', but {', '.join(sorted(KEYS_BY_KIND[kind]))}")
        for key in REQUIRED_BY_KIND[kind]:
            if self.entry.get(key) in (None, ""):
                self.fault(None, f"a {kind} needs '{key}'")

    def _check_reason(self, ranks: set[str]) -> None:
        if self.entry["rank"] not in ranks:
            self.fault("rank", f"rank is one of {', '.join(sorted(ranks))}")
        if isinstance(self.entry["strength"], bool) or self.entry["strength"] not in STRENGTHS:
            self.fault("strength", f"strength is a number from {STRENGTHS[0]} to {STRENGTHS[-1]}")
        if self.entry.get("confidence", CONFIDENCES[0]) not in CONFIDENCES:
            self.fault("confidence", f"confidence is one of {', '.join(CONFIDENCES)}")
        if not self.entry.get("favours") and not self.entry.get("against"):
            self.fault(None, "a reason needs 'favours' or 'against'")

    def expression(self, key: str, roots: Iterable[str]) -> Expression | None:
        if key not in self.entry:
            return None
        path = ("rules", self.index, key)
        return _expression(self.source, path, self.entry[key], self.entry["id"], roots, self.terms)

    def values(self) -> dict[str, Expression]:
        given = self.entry.get("values", {})
        if not isinstance(given, Mapping):
            self.fault("values", "values is a mapping of names and expressions")
        for name in given:
            if name in (*ROOTS, "item"):
                self.fault("values", f"'{name}' has a meaning already; choose another name")
        roots = (*ROOTS, "item") if "each" in self.entry else ROOTS
        path = ("rules", self.index, "values")
        return {name: _expression(self.source, path, text, self.entry["id"], roots, self.terms) for name, text in given.items()}

    def text(self, key: str, roots: Iterable[str]) -> Text:
        try:
            text = Text(str(self.entry[key]))
        except ExpressionError as error:
            self.fault(key, f"'{key}': {error}")
        for expression in text.fields.values():
            _check_paths(self.source, ("rules", self.index, key), expression, self.entry["id"], roots, self.terms)
        return text

    def sizes(self, key: str) -> tuple[int | str, ...]:
        given = self.entry[key] if isinstance(self.entry[key], list) else [self.entry[key]]
        path = ("rules", self.index, key)
        return tuple(size if size in WORDS else _bytes(self.source, path, size, self.entry["id"]) for size in given)

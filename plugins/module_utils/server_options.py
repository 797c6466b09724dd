# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which options a server is given beside its page size, with what value and why: a pure choice over the table of options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from .engines import Engine
from .errors import InnodbError
from .layout import BUILD_INSIDE, LOST_AND_FOUND, RETAINED_INSIDE
from .option_choices import RULES, Rule
from .option_file import normalise
from .option_question import Question
from .option_rows import CHOSEN, FATAL, IGNORED, USABLE, find_span
from .option_values import canonical, quoted


class Choice(NamedTuple):
    """An option to write. value None: the name alone stands on the line. reason: one sentence for the reader of the file."""

    name: str
    value: str | None
    reason: str

    @property
    def line(self) -> str:
        """The line of the option file."""
        return self.name if self.value is None else f"{self.name}={quoted(self.value)}"


class Conflict(NamedTuple):
    """Another option file sets an option to something else than is right here. kept: the other file's value stays.

    ours: the value that was asked for, or that would have been chosen; with the name of the option where that is another one.
    """

    name: str
    ours: str
    theirs: str
    file: str
    line: int
    kept: bool

    def __str__(self) -> str:
        place = f"{self.file}{f':{self.line}' if self.line else ''} sets {self.name}={self.theirs}"
        if self.kept:
            return f"{place}, which stays; without that line it would be {self.ours}"
        return f"{place}, which our {self.name}={self.ours} replaces"


class Plan(NamedTuple):
    """What is written, in order, and where other option files say otherwise."""

    choices: list[Choice]
    conflicts: list[Conflict]


def plan_options(engine: Engine, facts: Mapping[str, Any], wishes: Mapping[str, Any]) -> Plan:
    """The options to write and the conflicts with other option files; InnodbError when a wish can't be met.

    facts: page_size and memory_bytes in bytes, storage (flash, rotating, or none when it is not certain), physical_sector_bytes,
    atomic_write_unit_bytes and total_bytes of the data's storage, numa_nodes, datadir_is_mount_point, and set_elsewhere: the last line
    of each option in other option files, by name, with value, file and line. What is not known is none or left out.
    wishes: by the names of the role's variables without their prefix. What is not wished for is none, empty or left out. extra, further
    options by name, wins over everything here.
    """
    elsewhere = facts.get("set_elsewhere") or {}
    extra = extra_choices(engine, wishes.get("extra") or {})
    given = dict(normalise(choice.name, choice.value) for choice in extra)
    question = Question(engine, facts, {"page_size": facts["page_size"], **wishes}, given)
    chosen, conflicts = [], []
    for rule in RULES:
        asked = rule.wish is not None and question.wish(rule.wish) is not None
        if rule.name in given or not _possible(engine, rule, asked):
            continue
        decision = rule.decide(question)
        if not decision:
            conflicts += _conflicts_with_rivals(rule, question)
            continue
        value, reason = decision
        other = elsewhere.get(rule.name)
        kept = other is not None and not asked
        if other and canonical(str(other["value"])) != canonical(value):
            conflicts.append(Conflict(rule.name, value, str(other["value"]), other["file"], other["line"], kept))
        if not kept:
            chosen.append(Choice(rule.name, value, reason))
    conflicts += [_conflict_of(choice, elsewhere) for choice in extra if _differs(choice, elsewhere)]
    return Plan(chosen + ignored_directories(engine, facts) + extra, conflicts)


def _conflicts_with_rivals(rule: Rule, question: Question) -> list[Conflict]:
    """What another option file decides by another option, where the rule would decide otherwise without it."""
    elsewhere = question.facts.get("set_elsewhere") or {}
    conflicts = []
    for rival in sorted(rule.rivals.keys() & elsewhere.keys()):
        other = elsewhere[rival]
        without = {name: line for name, line in elsewhere.items() if name != rival}
        decision = rule.decide(question._replace(facts={**question.facts, "set_elsewhere": without}))
        theirs = str(other["value"])
        if decision and canonical(rule.rivals[rival](question, theirs)) != canonical(decision[0]):
            conflicts.append(Conflict(rival, f"{rule.name}={decision[0]}", theirs, other["file"], other["line"], kept=True))
    return conflicts


def choose(engine: Engine, facts: Mapping[str, Any], wishes: Mapping[str, Any]) -> list[Choice]:
    """The options to write, in order; see plan_options()."""
    return plan_options(engine, facts, wishes).choices


def _possible(engine: Engine, rule: Rule, asked: bool) -> bool:
    """Whether an option is to be decided here; InnodbError when it is asked for by name and would do nothing or harm.

    A wish that is served by several options, such as the size of the log, asks for the one that this server has.
    """
    span = find_span(rule.name, engine)
    if span.state in USABLE:
        return asked or span.use == CHOSEN
    if asked and not any(other.wish == rule.wish and find_span(other.name, engine).state in USABLE for other in RULES):
        raise InnodbError(
            f"{rule.wish} was asked for, but {impossible(engine, rule.name)}", remedy=f"Leave nvme_config_{rule.wish} empty on this host"
        )
    return False


def impossible(engine: Engine, name: str) -> str:
    """What happens to a server with an option that it does not have."""
    state = find_span(name, engine).state
    return f"{engine.title} {'does not start with' if state == FATAL else 'warns of, and ignores,'} {name}"


def _differs(choice: Choice, elsewhere: Mapping[str, Any]) -> bool:
    name, value = normalise(choice.name, choice.value)
    return name in elsewhere and canonical(str(elsewhere[name]["value"])) != canonical(value)


def _conflict_of(choice: Choice, elsewhere: Mapping[str, Any]) -> Conflict:
    name, value = normalise(choice.name, choice.value)
    other = elsewhere[name]
    return Conflict(name, value, str(other["value"]), other["file"], other["line"], kept=False)


def ignored_directories(engine: Engine, facts: Mapping[str, Any]) -> list[Choice]:
    """Directories in a data directory that is a mount point, which are no schemas though the server would take them for some."""
    option = engine.trait("ignore_directory_option")
    if not option or not facts.get("datadir_is_mount_point"):
        return []
    reasons = {
        RETAINED_INSIDE: "What a migration keeps inside this data directory, which is a mount point, is no schema.",
        BUILD_INSIDE: "Nor is what a migration builds there.",
        LOST_AND_FOUND: "Nor is the file system's own directory.",
    }
    return [Choice(option, name, reason) for name, reason in reasons.items()]


def extra_choices(engine: Engine, extra: Mapping[str, Any]) -> list[Choice]:
    """The user's own options as lines: a list becomes one line for each element, none the name alone.

    InnodbError for one that is known to do nothing or harm on this server; one that the table does not know is left to the trial.
    """
    choices = []
    for name, value in extra.items():
        name = str(name).strip()
        if not re.fullmatch(r"[A-Za-z][\w-]*", name):
            raise InnodbError(f"'{name}' is no name of an option")
        for item in value if isinstance(value, (list, tuple)) else [value]:
            choice = Choice(name.replace("-", "_"), _text(name, item), "As asked for.")
            own, _value = normalise(choice.name, choice.value)
            if own == "innodb_page_size":
                raise InnodbError("innodb_page_size is no further option", remedy="Set nvme_config_page_size instead")
            span = find_span(own, engine)
            if span and span.state in (FATAL, IGNORED):
                raise InnodbError(impossible(engine, own), remedy="Take it out of nvme_config_extra_options on this host")
            choices.append(choice)
    return choices


def _text(name: str, value: Any) -> str | None:
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    text = None if value is None else str(value)
    if text and re.search(r"[\x00-\x1f\x7f]", text):
        raise InnodbError(f"the value of {name} holds a control character")
    return text

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Policies: what is refused, where the fault is said to be, how one extends another, and how conditions treat what is not known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from decision_facts import POLICY, POLICY_FILE

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.plugin_utils import expressions
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.expressions import Expression, ExpressionError, Text, as_bytes
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.policy import extend, load_policy
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.policy_source import Source, parse_source
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.situation import CANDIDATE_KEYS, NOW_KEYS

ROOT = Path(__file__).resolve().parents[2]
WARNING = {"id": "own", "kind": "warning", "text": "t", "source": "s"}
REASON = {"id": "own", "kind": "reason", "text": "t", "source": "s", "rank": "counters", "strength": 1, "favours": "8k"}
BLOCKER = {"id": "own", "kind": "blocker", "text": "t", "source": "s", "remedy": "r"}


def extended(*rules: dict, **sections):
    return extend(POLICY, Source("site", {"rules": list(rules), **sections}))


def without(rule: dict, key: str) -> dict:
    return {name: value for name, value in rule.items() if name != key}


# The shipped policy


def test_the_shipped_policy_loads():
    assert [rank.id for rank in POLICY.ranks] == ["measured_workload", "measured_sysbench", "counters", "published", "rule_of_thumb"]
    assert {rule.kind for rule in POLICY.rules.values()} == {"blocker", "warning", "reason"}


def test_every_source_of_the_table_is_in_the_shipped_policy():
    texts = " ".join(rule.text.template + rule.source for rule in POLICY.rules.values())
    for figure in (
        "9,420",
        "WooCommerce",
        "ledgers",
        "warehouses",
        "10 million rows",
        "FusionIO",
        "5.5.23",
        "52 at 4k",
        "49,130",
        "1.3 to 3.3",
    ):
        assert figure in texts, figure


def test_only_what_was_measured_here_decides():
    assert [rank.decides for rank in POLICY.ranks] == [True, True, True, False, False]


# What is refused


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({**WARNING, "id": "No Id"}, "a rule is a mapping with an id"),
        ({**WARNING, "kind": "hint"}, "rule 'own': kind is one of blocker, warning, reason"),
        (without(WARNING, "kind"), "rule 'own': kind is one of"),
        ({**WARNING, "rank": "counters"}, "rule 'own': a warning has no 'rank'"),
        (without(WARNING, "source"), "rule 'own': a warning needs 'source'"),
        (without(BLOCKER, "remedy"), "rule 'own': a blocker needs 'remedy'"),
        (without(REASON, "rank"), "rule 'own': a reason needs 'rank'"),
        (without(REASON, "favours"), "rule 'own': a reason needs 'favours' or 'against'"),
        ({**REASON, "rank": "gossip"}, "rule 'own': rank is one of"),
        ({**REASON, "strength": 9}, "rule 'own': strength is a number from 1 to 5"),
        ({**REASON, "strength": True}, "rule 'own': strength is a number from 1 to 5"),
        ({**REASON, "strength": "2"}, "rule 'own': strength is a number from 1 to 5"),
        ({**REASON, "confidence": "sure"}, "rule 'own': confidence is one of"),
        ({**REASON, "favours": ["8k", "9k"]}, "rule 'own': '9k' is no InnoDB page size"),
        ({**WARNING, "sizes": "bigger"}, "rule 'own': 'bigger' is no InnoDB page size"),
        ({**WARNING, "when": "facts.running =="}, "rule 'own': 'when': 'facts.running ==' is no JMESPath"),
        ({**WARNING, "when": "facts.runing"}, "rule 'own': 'when': there is no 'runing' in 'facts'"),
        ({**WARNING, "when": "now.pool > `1`"}, "there is no 'pool' in 'now'"),
        ({**WARNING, "when": "terms.fast"}, "there is no 'fast' in 'terms'"),
        ({**WARNING, "when": "fact.running"}, "there is no 'fact' here"),
        ({**WARNING, "when": "item.x"}, "there is no 'item' here"),
        ({**WARNING, "when": "length(candidate.problem) > `1`"}, "there is no 'problem' in 'candidate'"),
        ({**WARNING, "when": "facts.storage.*.kind[] && now.x"}, "there is no 'x' in 'now'"),
        ({**WARNING, "when": "!facts.running"}, r"write '!\(a.b\)'"),
        ({**WARNING, "text": "{facts.page_sise}"}, "there is no 'page_sise' in 'facts'"),
        ({**WARNING, "text": "{now.bytes:litres}"}, "'litres' in .* is none of bytes"),
        ({**WARNING, "text": "{now.bytes"}, "a brace without its other half"),
        ({**WARNING, "values": ["x"]}, "values is a mapping"),
        ({**WARNING, "values": {"now": "facts.name"}}, "'now' has a meaning already"),
        ({**WARNING, "values": {"x": "facts.nam"}}, "there is no 'nam' in 'facts'"),
    ],
)
def test_a_faulty_rule_is_refused(rule, message):
    with pytest.raises(InnodbError, match=message):
        extended(rule)


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"rule": []}, "'rule' is none of ranks, rules, space, terms, without"),
        ({"rules": {"a": 1}}, "'rules' has to be a list"),
        ({"rules": ["x"]}, "a rule is a mapping"),
        ({"rules": [WARNING, WARNING]}, "rule 'own': the id is there twice"),
        ({"without": ["no_such_rule"]}, "there is no rule 'no_such_rule' to leave out"),
        ({"ranks": [{"id": "counters"}]}, "a rank has the keys confidence, decides, id, title"),
        ({"ranks": [{"id": "x", "title": "x", "decides": True, "confidence": "sure"}]}, "confidence is one of"),
        ({"ranks": [{"id": "x", "title": "x", "decides": "yes", "confidence": "low"}]}, "decides is true or false"),
        ({"ranks": [{"id": "x", "title": "x", "decides": True, "confidence": "low"}]}, "the rank '.*' is gone, and a rule still has it"),
        ({"terms": {"x": "now.nothing"}}, "there is no 'nothing' in 'now'"),
        ({"terms": {"x": "terms.flash"}}, "there is no 'terms' here"),
        ({"space": {"rows": {"4k": [1, 1, 1]}}}, "every page size from 4k to 64k"),
        ({"space": {"rows": [1]}}, "'rows' has to be a mapping"),
    ],
)
def test_a_faulty_section_is_refused(sections, message):
    with pytest.raises(InnodbError, match=message):
        extend(POLICY, Source("site", sections))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "rules:\n  - id: a\n    kind: warning\n    text: x\n    source: y\n    when: |\n      facts.nothing\n",
            "line 6: rule 'a': 'when'",
        ),
        ("rules:\n  - id: a\n    kind: warning\n    text: x\n", "line 2: rule 'a': a warning needs 'source'"),
        ("rules:\n  - id: a\n    when: x\n    when: y\n", "line 4: this is no YAML: 'when' is there twice"),
        ("rules: [\n", "line 2: this is no YAML"),
        ("- a\n", "is no mapping of sections"),
        ("", "is no mapping of sections"),
        ("terms:\n  a: now.page_size\n  b: x ==\n", "line 3: 'b'"),
    ],
)
def test_the_line_of_the_fault_is_told(tmp_path, text, message):
    path = tmp_path / "site.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InnodbError, match=f"{path}.*{message}") as caught:
        load_policy(POLICY_FILE, [str(path)])
    assert caught.value.remedy


@pytest.mark.parametrize("given", ["/nowhere/policy.yml", 3, ["a"]])
def test_what_is_no_policy(given):
    with pytest.raises(InnodbError, match="can't be read|neither a path nor a mapping"):
        load_policy(POLICY_FILE, [given])


def test_a_policy_of_its_own_needs_ranks():
    with pytest.raises(InnodbError, match="'ranks' is missing"):
        load_policy({"rules": []})


def test_jmespath_missing(monkeypatch):
    monkeypatch.setattr(expressions, "JMESPATH_MISSING", ImportError("No module named 'jmespath'"))
    with pytest.raises(InnodbError, match="pip install jmespath"):
        load_policy(POLICY_FILE)


# Extending


def test_a_rule_of_the_site_is_added():
    policy = extended(WARNING)
    assert set(policy.rules) == {*POLICY.rules, "own"}


def test_a_rule_of_the_site_takes_the_place_of_one_of_the_same_id():
    policy = extended({**WARNING, "id": "not_rehearsed", "text": "ours"})
    assert set(policy.rules) == set(POLICY.rules)
    assert policy.rules["not_rehearsed"].text.template == "ours"


def test_rules_are_left_out_and_terms_replaced():
    policy = extended(without=["matrix_ledger_4k"], terms={"small_rows": "now.row_bytes < `100`", "ours": "now.page_size == `4096`"})
    assert set(POLICY.rules) - set(policy.rules) == {"matrix_ledger_4k"}
    assert policy.terms["small_rows"].text == "now.row_bytes < `100`"
    assert set(policy.terms) == {*POLICY.terms, "ours"}


def test_the_shipped_policy_is_unchanged_by_an_extension():
    before = dict(POLICY.rules)
    extended(WARNING)
    assert POLICY.rules == before


def test_the_example_of_the_documentation(tmp_path):
    text = (ROOT / "docs" / "decision.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```yaml\n(---\n# files/innodb-site-policy.yml\n.*?)```", text, re.DOTALL)
    path = tmp_path / "site.yml"
    path.write_text(example, encoding="utf-8")
    policy = load_policy(POLICY_FILE, [str(path)])
    assert set(parse_source(example, "example").data) == {"terms", "without", "rules"}
    assert set(policy.rules) - set(POLICY.rules) == {"no_4k_in_the_vault", "billing_was_measured", "change_in_the_window"}


def test_the_documentation_names_everything_a_condition_can_use():
    text = (ROOT / "docs" / "decision.md").read_text(encoding="utf-8")
    assert [key for key in (*NOW_KEYS, *CANDIDATE_KEYS) if f"`{key}`" not in text] == []


# Conditions

SCOPE = {"a": 1, "b": 2, "yes": True, "no": False, "empty": [], "text": "x", "zero": 0, "list": [{"n": 1}, {"n": 3}, {}]}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("b > a", True),
        ("a > b", False),
        ("missing > a", False),
        ("missing < a", False),
        ("missing == a", False),
        ("missing != a", False),
        ("missing != 'x'", False),
        ("!missing", False),
        ("!(missing == a)", False),
        ("!(missing && yes)", False),
        ("!(missing || no)", False),
        ("!(no || missing)", False),
        ("missing || yes", True),
        ("yes && missing", False),
        ("!no", True),
        ("!empty", True),
        ("missing == `null`", True),
        ("a == `null`", False),
        ("a != `null`", True),
        ("length(missing) > `1`", False),
        ("length(missing) == `0`", False),
        ("length(not_null(missing, `[]`)) == `0`", True),
        ("length(list[?n > `2`]) == `1`", True),
        ("text == 'x'", True),
        ("contains(text, 'x')", True),
        ("missing.deeper.still == 'x'", False),
    ],
)
def test_what_is_not_known_makes_no_condition_true(condition, holds):
    assert Expression(condition).holds(SCOPE) is holds


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("zero", "gives 0, neither true nor false"),
        ("text", "gives 'x', neither true nor false"),
        ("text > a", "'x' and 1 have no order"),
        ("yes > no", "have no order"),
        ("length(a) > `1`", "invalid type"),
        ("sum(list) > `1`", "invalid type|TypeError"),
        ("nonsense(a)", "Unknown function"),
    ],
)
def test_what_makes_no_sense_is_an_error(condition, message):
    with pytest.raises(ExpressionError, match=message):
        Expression(condition).holds(SCOPE)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{a} of {b}", "1 of 2"),
        ("{missing}, {missing:bytes}", "unknown, unknown"),
        ("{size:size} {size:bytes} {share:percent} {a:times} {big:number}", "16k 16.0 KiB 12.5 % 1 1,234,567"),
    ],
)
def test_text(template, text):
    assert Text(template).fill({"a": 1, "b": 2, "size": 16384, "share": 0.125, "big": 1234567}) == text


def test_text_with_a_value_of_another_kind():
    with pytest.raises(ExpressionError, match="'x' in '{a:bytes}' is no number"):
        Text("{a:bytes}").fill({"a": "x"})


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (1 << 40, "1.0 TiB"), (1 << 70, "1048576 PiB")]
)
def test_as_bytes(number, text):
    assert as_bytes(number) == text

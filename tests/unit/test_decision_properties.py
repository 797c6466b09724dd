# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Properties of the decision that hold for any facts."""

from __future__ import annotations

import copy
import datetime
import random
from dataclasses import replace
from pathlib import Path

from decision_facts import FACTS, GIB, MIB, POLICY, server, sized, working
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.decision import decide
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.policy import extend
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.policy_source import Source

# Among the files that pytest leaves, not in a directory of its own in the work tree.
set_hypothesis_home_dir(Path(__file__).resolve().parents[2] / ".pytest_cache" / "hypothesis")
TODAY = datetime.date(2026, 11, 30)
KEYS = {"recommended", "stay", "headline", "confidence", "evidence", "candidates", "reasons", "rule_errors"}
PROPERTY = settings(max_examples=80, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
SIZES = st.sampled_from(PAGE_SIZES)
JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers(), max_size=2), st.just({})
)


VERDICTS = [("yes", "high"), ("yes", "high"), ("yes", "medium"), ("yes", "low"), ("no", "high"), ("no", "low"), ("unknown", "low")]


@st.composite
def servers(draw):
    """Facts of servers of all kinds; most wait for their storage and have some times as much data as buffer pool."""
    pool = draw(st.integers(8 * MIB, 500 * GIB))
    data = pool * draw(st.integers(2, 200)) // 10
    memory = pool * draw(st.integers(10, 40)) // 10
    workload = working(
        rows_per_statement=draw(st.sampled_from([1.1, 4.9, 25, 40_000])),
        rows_per_page_request=draw(st.sampled_from([0.1, 0.7, 1.9, 2, 45])),
        hit_ratio=draw(st.sampled_from([0.5, 0.95, 0.9999])),
        write_share=draw(st.sampled_from([0, 0.04, 0.3, 1])),
    )
    verdict, confidence = draw(st.sampled_from(VERDICTS))
    return server(
        {
            **sized(data, pool, memory, row_bytes=draw(st.integers(20, 8000))),
            **workload,
            "page_size": draw(SIZES),
            "workload.io_bound": {"verdict": verdict, "confidence": confidence, "reasons": []},
            "workload.working_set_bytes": draw(st.one_of(st.none(), st.integers(MIB, 500 * GIB))),
            "storage.datadir.kind": draw(st.sampled_from(["nvme", "ssd", "hdd", "virtual", "unknown"])),
            "storage.datadir.free_bytes": data * draw(st.integers(0, 6)),
            "schema.small_tables": {"tables": draw(st.integers(0, 20_000)), "share": draw(st.floats(0, 1))},
            "schema.large_objects": {"tables": 1, "bytes": 1, "share": draw(st.floats(0, 1))},
            "schema.compressed": {"tables": 1, "key_block_sizes": {str(draw(SIZES)): draw(st.integers(0, 3))}},
            "server.variables.innodb_log_block_size": draw(st.sampled_from([None, None, None, 512, 4096])),
            "engine": draw(st.sampled_from(["mariadb", "mysql", "percona"])),
        }
    )


@st.composite
def benchmarks(draw):
    kind = draw(st.sampled_from(["own workload", "sysbench", "other"]))
    sizes = draw(st.dictionaries(SIZES.map(str), st.floats(1, 1e5), max_size=5))
    return {
        "kind": kind,
        "page_sizes": {size: {"transactions_per_second": rate, "spread": draw(st.floats(0, 100))} for size, rate in sizes.items()},
    }


def with_pool(facts: dict, tenths: int) -> dict:
    """The same server with more memory and a larger buffer pool; the pool grows no more than the memory."""
    facts = copy.deepcopy(facts)
    pool = facts["workload"]["buffer_pool"]["size_bytes"] * tenths // 10
    facts["memory_bytes"] = facts["memory_bytes"] * tenths // 10
    facts["workload"]["buffer_pool"]["size_bytes"] = facts["server"]["variables"]["innodb_buffer_pool_size"] = pool
    return facts


@PROPERTY
@given(servers(), st.one_of(st.none(), benchmarks()), st.integers(10, 200))
def test_more_memory_never_makes_a_smaller_page_more_attractive(facts, benchmark, tenths):
    before = decide(facts, POLICY, benchmark=benchmark)
    after = decide(with_pool(facts, tenths), POLICY, benchmark=benchmark)
    assert after["recommended"] >= before["recommended"]
    scores = [[decision["candidates"][str(size)]["score"] for size in PAGE_SIZES] for decision in (before, after)]
    for small in range(len(PAGE_SIZES)):
        for large in range(small + 1, len(PAGE_SIZES)):
            lead_before, lead_after = (each[small] - each[large] for each in scores)
            assert lead_after <= lead_before


@PROPERTY
@given(servers(), st.integers(10, 200))
def test_more_memory_with_the_same_pool_neither(facts, tenths):
    more = {**facts, "memory_bytes": facts["memory_bytes"] * tenths // 10}
    assert decide(more, POLICY)["recommended"] >= decide(facts, POLICY)["recommended"]


@PROPERTY
@given(servers(), st.one_of(st.none(), benchmarks()), st.sets(SIZES))
def test_a_blocker_always_wins(facts, benchmark, blocked):
    rule = {"id": "ours", "kind": "blocker", "text": "t", "remedy": "r", "source": "s", "sizes": sorted(blocked)}
    loud = [
        {
            "id": f"loud{n}",
            "kind": "reason",
            "text": "t",
            "source": "s",
            "rank": "measured_workload",
            "strength": 5,
            "favours": sorted(blocked),
        }
        for n in range(3)
    ]
    rules = [rule, *loud] if blocked else []
    decision = decide(facts, extend(POLICY, Source("site", {"rules": rules})), benchmark=benchmark)
    recommended = decision["recommended"]
    assert decision["candidates"][str(recommended)]["allowed"]
    assert recommended == facts["page_size"] or recommended not in blocked


@PROPERTY
@given(servers(), st.one_of(st.none(), benchmarks()), st.randoms(use_true_random=False))
def test_the_order_of_rules_does_not_matter(facts, benchmark, chance: random.Random):
    rules = list(POLICY.rules.items())
    chance.shuffle(rules)
    assert decide(facts, replace(POLICY, rules=dict(rules)), benchmark=benchmark) == decide(facts, POLICY, benchmark=benchmark)


@PROPERTY
@given(servers())
def test_without_measurement_and_counters_it_stays(facts):
    del facts["workload"]
    assume(facts["schema"]["bytes"] > facts["server"]["variables"]["innodb_buffer_pool_size"])
    decision = decide(facts, POLICY)
    assert decision["stay"]
    assert decision["recommended"] == facts["page_size"]


def paths(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from paths(value[key], (*path, key))


PATHS = [path for path in paths(FACTS) if path]


def put(facts: dict, path: tuple, value) -> None:
    """Put the value in its place, or take away what is there when it is ...; nothing when there is no such place any more."""
    place = facts
    for key in path[:-1]:
        place = place.get(key) if isinstance(place, dict) else None
    if not isinstance(place, dict):
        return
    if value is ...:
        place.pop(path[-1], None)
    else:
        place[path[-1]] = value


@PROPERTY
@given(st.lists(st.sampled_from(PATHS), max_size=25), st.booleans())
def test_any_subset_of_facts_gives_a_decision_without_errors(missing, with_none):
    facts = copy.deepcopy(FACTS)
    for path in missing:
        put(facts, path, None if with_none else ...)
    decision = decide(facts, POLICY, today=TODAY)
    assert decision["rule_errors"] == []
    assert decision["stay"] == (decision["recommended"] in (None, facts.get("page_size")))


@PROPERTY
@given(st.lists(st.tuples(st.sampled_from(PATHS), JUNK), max_size=25), JUNK, JUNK)
def test_facts_of_any_kind_give_a_decision(changes, rehearsal, benchmark):
    facts = copy.deepcopy(FACTS)
    for path, value in changes:
        put(facts, path, value)
    decision = decide(facts, POLICY, rehearsal, benchmark, TODAY)
    assert set(decision) >= KEYS
    assert decide(rehearsal, POLICY, facts, {"page_sizes": facts}, TODAY)["stay"]

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The decision: every shipped rule at work, and properties that hold for any facts and any policy."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace

import pytest
from decision_facts import FACTS, GIB, MIB, POLICY, rehearsed, server, sized, working

from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.decision import decide
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.policy import extend
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.policy_source import Source
from ansible_collections.pagesmith.innodb.plugins.plugin_utils.situation import growth_of

TODAY = datetime.date(2026, 11, 30)
KEYS = {"recommended", "stay", "headline", "confidence", "evidence", "candidates", "reasons", "rule_errors"}
CANDIDATE = {"allowed", "blockers", "warnings", "predicted_bytes", "predicted_error_bytes", "read_amplification", "pages_in_pool", "score"}
REASON = {"id", "text", "favours", "against", "rank", "strength", "source"}
IN_MEMORY = sized(data=10 * GIB, pool=24 * GIB, memory=32 * GIB)
IDLE = {"workload.io_bound": {"verdict": "no", "confidence": "high", "reasons": []}}
SCAN = working(rows_per_statement=40_000, rows_per_page_request=45, hit_ratio=0.8)
POINT = working(rows_per_statement=1.1, rows_per_page_request=0.3, hit_ratio=0.9, write_share=0.01)
COMPRESSED = {
    "schema.compressed": {"tables": 3, "key_block_sizes": {"4096": 1, "8192": 2}},
    "schema.by_row_format": {"Compressed": {"tables": 3, "bytes": GIB}, "Dynamic": {"tables": 37, "bytes": 71 * GIB}},
}
NEAR = [
    {"table": "app.long_key", "page_size": 4096, "kind": "key", "declared_bytes": 1200, "limit_bytes": 1173},
    {"table": "app.wide", "page_size": 4096, "kind": "row", "declared_bytes": 2500, "limit_bytes": 1982},
    {"table": "app.near", "page_size": 8192, "kind": "row", "declared_bytes": 3900, "limit_bytes": 4030},
]
PROBLEM = {"id": "table app.t creation", "object": "app.t", "message": "Row size too large", "remedy": "Split the table"}


def measured(kind: str = "own workload", spread: float = 10, date: str = "2026-11-01", **rates: float) -> dict:
    sizes = {name[1:]: {"transactions_per_second": rate, "spread": spread} for name, rate in rates.items()}
    return {"kind": kind, "date": date, "circumstances": "64 threads", "page_sizes": sizes}


def decided(changes: dict | None = None, rehearsal: dict | None = None, benchmark: dict | None = None, policy=POLICY) -> dict:
    return decide(server(changes), policy, rehearsal, benchmark, TODAY)


def fired(decision: dict) -> set[str]:
    return {reason["id"] for reason in decision["reasons"]}


def blockers(decision: dict, size: int) -> list[str]:
    return [blocker["id"] for blocker in decision["candidates"][str(size)]["blockers"]]


def warned(decision: dict, size: int, text: str) -> bool:
    return any(text in warning for warning in decision["candidates"][str(size)]["warnings"])


# The result


def test_the_result_is_as_the_parts_agreed():
    decision = decided(rehearsal=rehearsed(), benchmark=measured(k8192=120, k16384=100))
    assert set(decision) >= KEYS
    assert set(decision["candidates"]) == {str(size) for size in PAGE_SIZES}
    assert all(set(candidate) >= CANDIDATE for candidate in decision["candidates"].values())
    assert all(set(reason) >= REASON for reason in decision["reasons"])
    assert decision == json.loads(json.dumps(decision))


def test_figures_of_the_candidates():
    candidates = decided()["candidates"]
    assert candidates["16384"]["predicted_bytes"] == 72 * GIB
    assert candidates["16384"]["predicted_error_bytes"] == 0
    assert candidates["16384"]["needed_bytes"] == 0
    assert candidates["8192"]["pages_in_pool"] == 2 * candidates["16384"]["pages_in_pool"] == 24 * GIB // 8192
    assert [candidates[str(size)]["read_amplification"] for size in PAGE_SIZES] == [0.25, 0.5, 1.0, 2.0, 4.0]
    assert candidates["4096"]["predicted_bytes"] > candidates["8192"]["predicted_bytes"] > 72 * GIB


def test_scans_read_the_same_in_pages_of_any_size():
    """45 rows of 2,000 bytes at a time are more than the largest page."""
    candidates = decided({**SCAN, **sized(72 * GIB, 24 * GIB, 32 * GIB, row_bytes=2000)})["candidates"]
    assert [candidates[str(size)]["read_amplification"] for size in PAGE_SIZES] == [1.0] * 5


def test_large_objects_and_small_tables_change_the_prediction():
    rows = decided()["candidates"]["65536"]["predicted_bytes"]
    objects = decided({"schema.large_objects": {"tables": 3, "bytes": 60 * GIB, "share": 0.8}})["candidates"]
    assert objects["65536"]["predicted_bytes"] > rows
    assert objects["4096"]["predicted_bytes"] < 72 * GIB
    many = decided({"schema.small_tables": {"tables": 20_000, "share": 0.99}})["candidates"]["65536"]["predicted_bytes"]
    assert many > rows + 5 * GIB


def test_a_rehearsal_takes_the_place_of_published_ratios():
    candidate = decided(rehearsal=rehearsed())["candidates"]["4096"]
    assert (candidate["predicted_bytes"], candidate["predicted_error_bytes"], candidate["rehearsed"]) == (90 * GIB, 2 * GIB, True)


# Every rule of the shipped policy at work

REASONS_AT_WORK = {
    "own_workload_gain": ({}, None, measured(k8192=120, k16384=100, spread=2)),
    "own_workload_best": ({}, None, measured(k8192=120, k16384=100, spread=2)),
    "own_workload_loss": ({}, None, measured(k8192=80, k16384=100, spread=2)),
    "own_workload_no_gain": ({}, None, measured(k8192=103, k16384=100, spread=2)),
    "sysbench_gain": ({}, None, measured("sysbench", k8192=120, k16384=100, spread=2)),
    "sysbench_best": ({}, None, measured("sysbench", k8192=120, k16384=100, spread=2)),
    "sysbench_loss": ({}, None, measured("sysbench", k8192=80, k16384=100, spread=2)),
    "sysbench_no_gain": ({}, None, measured("sysbench", k8192=103, k16384=100, spread=2)),
    "io_bound_point_reads": ({}, None, None),
    "io_bound_scans": (SCAN, None, None),
    "single_rows_written_4k": (working(rows_per_statement=1.1, rows_per_page_request=0.3, hit_ratio=0.9, write_share=0.3), None, None),
    "reads_and_ranges_not_4k": (POINT, None, None),
    "io_bound_large_objects": ({"schema.large_objects": {"tables": 1, "bytes": 70 * GIB, "share": 0.9}}, None, None),
    "not_io_bound": (IDLE, None, None),
    "not_io_bound_perhaps": ({"workload.io_bound": {"verdict": "no", "confidence": "low"}}, None, None),
    "io_bound_unknown": ({"workload.io_bound": {"verdict": "yes", "confidence": "low"}}, None, None),
    "all_in_memory": (IN_MEMORY, None, None),
    "working_set_in_memory": ({"workload.working_set_bytes": 20 * GIB}, None, None),
    "larger_pool_first": (sized(data=20 * GIB, pool=GIB, memory=64 * GIB), None, None),
    "log_block_first": ({"server.variables.innodb_log_block_size": 512}, None, None),
    "hosting_guide_8k": ({}, None, None),
    "matrix_oltp_8k": ({}, None, None),
    "matrix_ledger_4k": (POINT, None, None),
    "matrix_warehouse": (SCAN, None, None),
    "mariadb_no_difference": ({}, None, None),
    "mariadb_64k_slower": ({}, None, None),
    "xtradb_8k": ({}, None, None),
    "percona_2016_4k": (sized(data=200 * GIB, pool=8 * GIB, memory=16 * GIB), None, None),
    "percona_2016_4k_larger_pool": ({}, None, None),
    "log_block_note": ({"server.variables.innodb_log_write_ahead_size": 512}, None, None),
    "ssd_reads_more_small_units": ({}, None, None),
    "flash_study_small": ({}, None, None),
    "point_selects_4k": (POINT, None, None),
    "dense_flash": ({}, None, None),
    "disks_seek": ({"storage.datadir.kind": "hdd"}, None, None),
    "manual_scans": (SCAN, None, None),
    "manual_oltp": ({}, None, None),
    "depends_on_schema": ({}, None, None),
    "torn_write_prevention": ({"storage.datadir.model": "Amazon Elastic Block Store"}, None, None),
    "many_small_tables": ({"schema.small_tables": {"tables": 5000, "share": 0.9}}, None, None),
    "large_objects": ({"schema.large_objects": {"tables": 1, "bytes": 40 * GIB, "share": 0.5}}, None, None),
    "large_objects_chains": ({"schema.large_objects": {"tables": 1, "bytes": 40 * GIB, "share": 0.5}}, None, None),
    "grows": ({}, rehearsed(), None),
    "shrinks": ({"schema.large_objects": {"tables": 1, "bytes": 70 * GIB, "share": 0.98}}, None, None),
    "page_below_sector": ({"storage.datadir.physical_sector_bytes": 16384}, None, None),
    "sector_is_a_page": ({}, None, None),
    "atomic_write_unit": ({"storage.datadir.atomic_write_unit_bytes": 16384}, None, None),
    "record_size_of_zfs": ({"storage.datadir.file_system": "zfs"}, None, None),
    "server_is_down": ({"running": False}, None, None),
    "a_rebuild_costs": ({}, None, None),
}


def test_every_reason_of_the_policy_has_an_example():
    assert set(REASONS_AT_WORK) == {rule.id for rule in POLICY.rules.values() if rule.kind == "reason"}


@pytest.mark.parametrize("name", REASONS_AT_WORK)
def test_reason(name):
    decision = decided(*REASONS_AT_WORK[name])
    assert name in fired(decision)
    assert decision["rule_errors"] == []
    for reason in decision["reasons"]:
        assert "unknown" not in reason["text"]


BLOCKERS_AT_WORK = {
    "rehearsal_problem": ({}, rehearsed(k8192=[PROBLEM]), 8192, PROBLEM["id"]),
    "does_not_fit": ({}, {"page_sizes": {"8192": {"fits": False, "problems": []}}}, 8192, "does_not_fit"),
    "page_size_unsupported": ({"page_sizes_supported": [4096, 8192, 16384]}, None, 32768, "page_size_unsupported"),
    "key_block_size_above_page": (COMPRESSED, None, 4096, "key_block_size_above_page"),
    "compressed_on_large_pages": (COMPRESSED, None, 65536, "compressed_on_large_pages"),
    "key_too_long": ({"schema.near_limits": NEAR}, None, 4096, "key_too_long"),
    "no_space": ({"storage.datadir.free_bytes": 80 * GIB}, None, 8192, "no_space"),
    "pool_below_minimum": (sized(data=GIB, pool=20 * MIB, memory=GIB), None, 65536, "pool_below_minimum"),
    "group_replication_4k": ({"replication.group_replication": True}, None, 4096, "group_replication_4k"),
}


def test_every_blocker_of_the_policy_has_an_example():
    assert set(BLOCKERS_AT_WORK) == {rule.id for rule in POLICY.rules.values() if rule.kind == "blocker"}


@pytest.mark.parametrize("name", BLOCKERS_AT_WORK)
def test_blocker(name):
    changes, rehearsal, size, found = BLOCKERS_AT_WORK[name]
    decision = decided(changes, rehearsal)
    assert found in blockers(decision, size)
    assert not decision["candidates"][str(size)]["allowed"]
    assert decision["candidates"]["16384"]["allowed"]
    assert decision["rule_errors"] == []
    for blocker in decision["candidates"][str(size)]["blockers"]:
        assert all(blocker[key] and "unknown" not in blocker[key] for key in ("id", "object", "message", "remedy"))
    assert found not in blockers(decided(), size)


WARNINGS_AT_WORK = {
    "already_there": ({}, None, None, 16384, "nothing would be done"),
    "not_rehearsed": ({}, None, None, 8192, "Not rehearsed at 8k"),
    "rehearsal_left_out": ({}, rehearsed(), None, 8192, "did not check: rows outside the sample"),
    "server_down": ({"running": False}, None, None, 8192, "The server is down"),
    "row_may_not_fit": ({"schema.near_limits": NEAR}, None, None, 4096, "app.wide; rehearse it"),
    "near_limits": ({"schema.near_limits": NEAR}, None, None, 8192, "app.near"),
    "key_block_size_equals_page": (COMPRESSED, None, None, 8192, "2 compressed tables"),
    "compressed_on_small_pages": (COMPRESSED, None, None, 8192, "the less compression saves"),
    "space_at_worst": ({"storage.datadir.free_bytes": 168 * GIB}, None, None, 8192, "If the prediction is wrong"),
    "galera": ({"replication.role": "galera"}, None, None, 8192, "Galera cluster"),
    "group_replication": ({"replication.role": "group_replication"}, None, None, 8192, "CLONE"),
    "replicas_by_copy": ({"replication.downstream": [{"host": "db2"}]}, None, None, 8192, "from a copy"),
    "benchmark_is_old": ({}, None, measured(date="2025-01-01", k8192=1, k16384=1), 8192, "698 days old"),
    "benchmark_of_another_version": ({}, None, {**measured(k8192=1, k16384=1), "version": "10.11.18"}, 8192, "made with version 10.11.18"),
    "record_limit_64k": ({}, None, None, 65536, "no longer than at 32k"),
    "better_sectors": (
        {
            "storage.datadir.lba_formats": [
                {"bytes": 512, "in_use": True, "relative_performance": 2},
                {"bytes": 4096, "in_use": False, "relative_performance": 0},
            ]
        },
        None,
        None,
        8192,
        "sectors of 4096 bytes",
    ),
}


def test_every_warning_of_the_policy_has_an_example():
    assert set(WARNINGS_AT_WORK) == {rule.id for rule in POLICY.rules.values() if rule.kind == "warning"}


@pytest.mark.parametrize("name", WARNINGS_AT_WORK)
def test_warning(name):
    changes, rehearsal, benchmark, size, text = WARNINGS_AT_WORK[name]
    decision = decided(changes, rehearsal, benchmark)
    assert warned(decision, size, text)
    assert decision["rule_errors"] == []


# Evidence and its ranks


def test_without_evidence_it_stays():
    decision = decide({"page_size": 16384}, POLICY)
    assert (decision["recommended"], decision["stay"], decision["confidence"]) == (16384, True, "low")
    assert "or benchmark" in decision["headline"]
    assert {"bytes", "storage"} <= set(decision["not_known"])


@pytest.mark.parametrize("facts", [{}, None, {"page_size": 5}, {"page_size": "16384k"}])
def test_without_a_page_size_nothing_is_recommended(facts):
    decision = decide(facts, POLICY)
    assert (decision["recommended"], decision["stay"], decision["confidence"]) == (None, True, "low")
    assert "not known" in decision["headline"]


@pytest.mark.parametrize(
    ("benchmark", "recommended", "confidence"),
    [
        (measured(k4096=100, k8192=140, k16384=100, spread=2), 8192, "high"),
        (measured("sysbench", k4096=100, k8192=140, k16384=100, spread=2), 8192, "medium"),
        (measured(k4096=160, k8192=140, k16384=100, spread=2), 4096, "high"),
        (measured(k8192=104, k16384=100, spread=1), 16384, "high"),
        (measured(k8192=140, k16384=100, spread=30), 16384, "high"),
        (measured(k8192=80, k16384=100, spread=2), 16384, "high"),
        (measured(k32768=130, k16384=100, spread=2), 32768, "high"),
        # Of two that are equal the lesser evidence chooses.
        (measured(k4096=141, k8192=140, k16384=100, spread=2), 8192, "high"),
        # Without a measurement at the page size now there is no gain to speak of: the counters decide.
        (measured(k4096=141, k8192=100), 8192, "medium"),
    ],
)
def test_what_was_measured_here_decides(benchmark, recommended, confidence):
    decision = decided(rehearsal=rehearsed(), benchmark=benchmark)
    assert (decision["recommended"], decision["confidence"]) == (recommended, confidence)


def test_the_own_workload_outweighs_an_idle_server_in_memory():
    decision = decided({**IN_MEMORY, **IDLE}, rehearsed(), measured(k8192=140, k16384=100, spread=2))
    assert (decision["recommended"], decision["evidence"]) == (8192, "measured_workload")


def test_published_figures_alone_change_nothing():
    policy = replace(POLICY, rules={name: rule for name, rule in POLICY.rules.items() if rule.rank in ("published", "rule_of_thumb")})
    decision = decide(server(sized(data=200 * GIB, pool=8 * GIB, memory=16 * GIB)), policy)
    assert max(decision["candidates"].values(), key=lambda each: each["score"])["score"] > 0
    assert (decision["stay"], decision["confidence"]) == (True, "low")
    assert "or benchmark" in decision["headline"]


def test_a_change_that_was_not_rehearsed_is_less_sure():
    assert decided()["confidence"] == "low"
    assert decided(rehearsal=rehearsed())["confidence"] == "medium"


def test_a_blocked_size_gives_way_to_the_next():
    pool = sized(data=200 * GIB, pool=8 * GIB, memory=16 * GIB)
    assert decided(pool, rehearsed())["recommended"] == 4096
    decision = decided(pool, rehearsed(k4096=[PROBLEM]))
    assert (decision["recommended"], decision["without_blockers"]) == (8192, 4096)
    assert "4k would be better by the evidence, but one thing stands against it: row size too large" in decision["headline"]


def test_when_all_better_sizes_are_blocked_it_stays_and_says_why():
    decision = decided(rehearsal=rehearsed(k4096=[PROBLEM], k8192=[PROBLEM, {**PROBLEM, "id": "other"}]))
    assert (decision["stay"], decision["without_blockers"]) == (True, 8192)
    assert decision["headline"].startswith("Stay at 16k: 8k would be better by the evidence, but 2 things stand against it, first:")


def test_the_answer_of_the_server_takes_the_place_of_our_limits():
    changes = {**COMPRESSED, "schema.near_limits": NEAR}
    assert set(blockers(decided(changes), 4096)) == {"key_block_size_above_page", "key_too_long"}
    assert blockers(decided(changes, rehearsed()), 4096) == []


def test_a_server_that_is_down_stays():
    facts = {key: value for key, value in FACTS.items() if key not in ("server", "schema", "workload", "replication")}
    decision = decide({**facts, "running": False}, POLICY)
    assert (decision["stay"], decision["confidence"]) == (True, "low")
    assert decision["rule_errors"] == []


# Rules that err


@pytest.mark.parametrize(
    ("kind", "low"),
    [
        ({"kind": "warning"}, False),
        ({"kind": "blocker", "remedy": "r"}, True),
        ({"kind": "reason", "rank": "counters", "strength": 5, "favours": "64k"}, False),
    ],
)
@pytest.mark.parametrize("wrong", ["facts.engine > `3`", "length(facts.memory_bytes) > `1`", "facts.schema.tables"])
def test_a_rule_that_errs_is_reported_and_the_decision_is_made(kind, low, wrong):
    rule = {"id": "wrong", "text": "t", "source": "s", "when": wrong, **kind}
    decision = decided(rehearsal=rehearsed(), policy=extend(POLICY, Source("site", {"rules": [rule]})))
    assert [error["rule"] for error in decision["rule_errors"]] == ["wrong"]
    assert wrong in decision["rule_errors"][0]["error"]
    assert decision["recommended"] == 8192
    assert decision["confidence"] == ("low" if low else "medium")
    assert warned(decision, 8192, "could not be judged") is low


def test_a_term_that_errs_is_reported_and_its_rules_do_not_apply():
    decision = decided(policy=extend(POLICY, Source("site", {"terms": {"io_bound": "facts.engine > `3`"}})))
    assert [error["rule"] for error in decision["rule_errors"]] == ["term io_bound"]
    assert decision["stay"]


def test_each_must_be_a_list():
    rule = {"id": "wrong", "kind": "warning", "text": "{item}", "source": "s", "each": "facts.engine"}
    decision = decided(policy=extend(POLICY, Source("site", {"rules": [rule]})))
    assert decision["rule_errors"] == [{"rule": "wrong", "error": "'facts.engine' gives no list"}]


def test_an_entry_that_errs_hides_no_other():
    rule = {
        "id": "big",
        "kind": "blocker",
        "remedy": "r",
        "source": "s",
        "text": "{item.n}",
        "each": "facts.settings",
        "when": "item.n > `1`",
    }
    decision = decided({"settings": [{"n": 2}, {"n": "x"}, {"n": 3}]}, policy=extend(POLICY, Source("site", {"rules": [rule]})))
    assert [each["message"] for each in decision["candidates"]["8192"]["blockers"]] == ["2", "3"]
    assert [error["rule"] for error in decision["rule_errors"]] == ["big"]


def test_growth_compares_what_the_rehearsal_predicts_with_what_it_predicts_for_the_present_size():
    """Small tables have files of whole extents, whatever the server counts in them."""
    rehearsal = {"page_sizes": {str(size): {"predicted_bytes": predicted} for size, predicted in ((16384, 8_000), (8192, 8_800))}}
    assert growth_of(rehearsal, 8192, 16384, 80.0) == pytest.approx(1.1)
    assert growth_of(rehearsal, 16384, 16384, 1.0) == 1
    assert growth_of(rehearsal, 4096, 16384, 1.3) == 1.3

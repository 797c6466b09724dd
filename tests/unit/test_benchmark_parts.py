# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The pure parts of a benchmark: what it needs, when it refuses, what its rounds say, what sysbench prints."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import (
    benchmark_loads,
    benchmark_plan,
    benchmark_result,
    benchmark_server,
    sysbench,
)
from ansible_collections.pagesmith.innodb.plugins.module_utils import benchmark_statistics as statistics
from ansible_collections.pagesmith.innodb.plugins.module_utils.benchmark_counters import Look, passed
from ansible_collections.pagesmith.innodb.plugins.module_utils.benchmark_result import conclusion
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_values import GIB, MIB

ROOT = Path(__file__).resolve().parents[2]
PLAN = benchmark_plan.Plan(
    page_sizes=(4096, 16384),
    base=16384,
    loads=tuple(benchmark_loads.choose(["oltp_read_write", "oltp_point_select"])),
    data_to_pool=(0.5, 4.0),
    threads=(2, 8),
    rounds=3,
    seconds=10,
    warm_up_seconds=5,
    pool_bytes=64 * MIB,
    distribution="uniform",
    log_bytes=96 * MIB,
    time_limit_seconds=3600,
    space_limit_bytes=0,
    io_limit_bytes=0,
)
HOST = benchmark_plan.Host(
    memory_bytes=8 * GIB,
    free_bytes=50 * GIB,
    cpu_share=0.02,
    server_cpu=0.01,
    server_bytes=1000,
    has_log_write_ahead=True,
    directory="/srv",
)
NO_MORE = "No other page size does more than 16k beyond the spread of the rounds"
REPORT = """sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

pagesmith new_orders=20
pagesmith new_orders=22
SQL statistics:
    queries performed:
        read:                            7028
        write:                           2008
        other:                           1004
        total:                           10040
    transactions:                        502    (98.21 per sec.)
    queries:                             10040  (1964.22 per sec.)
    ignored errors:                      3      (0.59 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          5.1102s
    total number of events:              502

Latency (ms):
         min:                                    9.24
         avg:                                   20.33
         max:                                  161.27
         95th percentile:                       36.24
         sum:                                10206.03
"""


def change(**others):
    return dataclasses.replace(PLAN, **others)


def test_loads_are_chosen_once_and_in_order():
    chosen = benchmark_loads.choose(["oltp_point_select", "oltp_read_write", "oltp_point_select"])
    assert [load.name for load in chosen] == ["oltp_point_select", "oltp_read_write"]


@pytest.mark.parametrize("names", [[], ["oltp_read_write", "oltp_nothing"]])
def test_loads_that_do_not_exist(names):
    with pytest.raises(InnodbError, match="Choose from oltp_read_write"):
        benchmark_loads.choose(names)


def test_every_load_has_its_data():
    for load in benchmark_loads.LOADS.values():
        assert load.dataset in benchmark_loads.DATASETS


def test_units_of_data():
    data = benchmark_loads.Dataset("some", "script", "rows", 200, 4, 100)
    assert data.units(80_000_000) == 100_000
    assert data.expected_bytes(100_000) == 80_000_000
    assert data.units(10) == 100


def test_series_share_the_data_of_their_loads():
    series = benchmark_plan.series_of(PLAN)
    assert [(each.data_to_pool, [load.name for load in each.loads]) for each in series] == [
        (0.5, ["oltp_read_write", "oltp_point_select"]),
        (4.0, ["oltp_read_write", "oltp_point_select"]),
    ]
    assert [variant.name for variant in series[0].variants] == ["4096", "16384"]


def test_blocks_of_the_log_are_compared_at_the_page_size_of_today():
    last = benchmark_plan.series_of(change(log_write_ahead_bytes=(512, 4096)))[-1]
    assert [(each.page_size, each.options) for each in last.variants] == [
        (16384, ("--innodb-log-write-ahead-size=512",)),
        (16384, ("--innodb-log-write-ahead-size=4096",)),
    ]
    assert [load.name for load in last.loads] == ["oltp_read_write"] and last.threads == (8,)


def test_needs_grow_with_what_is_asked_for():
    for larger in (
        {"page_sizes": (4096, 8192, 16384)},
        {"data_to_pool": (0.5, 8.0)},
        {"pool_bytes": 128 * MIB},
    ):
        assert benchmark_plan.space_needed(change(**larger)) > benchmark_plan.space_needed(PLAN)
        assert benchmark_plan.seconds_needed(change(**larger)) > benchmark_plan.seconds_needed(PLAN)
    for larger in ({"rounds": 4}, {"seconds": 11}, {"threads": (2, 4, 8)}, {"warm_up_seconds": 6}):
        assert benchmark_plan.seconds_needed(change(**larger)) > benchmark_plan.seconds_needed(PLAN)
    assert benchmark_plan.memory_needed(change(threads=(2, 64))) > benchmark_plan.memory_needed(PLAN)


def test_a_quiet_host_with_room_is_taken():
    benchmark_plan.require_possible(PLAN, HOST, beside_busy=False)


@pytest.mark.parametrize(
    ("plan", "host", "words"),
    [
        ({}, {"memory_bytes": 100 * MIB}, "464 MiB of memory, and 100 MiB are available"),
        ({}, {"free_bytes": 600 * MIB}, "600 MiB are free"),
        ({"space_limit_bytes": 100 * MIB}, {}, "space_limit_bytes allows 100 MiB"),
        ({"time_limit_seconds": 60}, {}, "time_limit_seconds allows 60 s"),
        ({"log_write_ahead_bytes": (512,)}, {"has_log_write_ahead": False}, "no innodb_log_write_ahead_size"),
        ({}, {"cpu_share": 0.5}, "50% of its processors are in use"),
        ({}, {"server_cpu": 0.5}, "its server uses 0.50 processors"),
        ({}, {"server_bytes": 5 * MIB}, "reads and writes 5 MiB per second"),
    ],
)
def test_refusals(plan, host, words):
    with pytest.raises(InnodbError, match=words) as caught:
        benchmark_plan.require_possible(change(**plan), HOST._replace(**host), beside_busy=False)
    assert caught.value.remedy and caught.value.refusal


def test_a_busy_host_is_taken_when_told_to():
    benchmark_plan.require_possible(PLAN, HOST._replace(cpu_share=0.9, server_cpu=1.5), beside_busy=True)


def test_loads_that_only_read_say_nothing_of_the_log():
    reading = tuple(benchmark_loads.choose(["oltp_point_select"]))
    with pytest.raises(InnodbError, match="Add oltp_write_only"):
        benchmark_plan.require_possible(change(loads=reading, log_write_ahead_bytes=(512,)), HOST, beside_busy=False)


def test_the_plan_in_words():
    lines = benchmark_plan.describe(change(log_write_ahead_bytes=(512, 4096)), "/srv")
    assert "pages of 4k, 16k with oltp_read_write, oltp_point_select, 2 and 8 threads, on 32 MiB" in lines[1]
    assert "blocks of the log of 512, 4096 bytes" in lines[3]
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("pool", "size", "pages"), [(128 * MIB, 16384, 256), (128 * MIB, 4096, 1024), (16 * MIB, 65536, 100), (8 * GIB, 16384, 1024)]
)
def test_pages_kept_free(pool, size, pages):
    assert benchmark_server.free_pages(pool, size) == pages


def test_report_of_sysbench():
    outcome = sysbench.parse(REPORT)
    assert outcome == sysbench.Outcome(502, 10040, 5.1102, 20.33, 36.24, 161.27, 3, 0, {"new_orders": 42})


def test_a_report_that_is_none():
    with pytest.raises(InnodbError, match="is not understood: FATAL: no"):
        sysbench.parse("FATAL: no")


def test_command_line_of_sysbench():
    line = sysbench.command("/usr/bin/sysbench", "oltp_read_only", "run", "/run/s", 8, {"tables": 4}, 10)
    assert line[0:2] == ["/usr/bin/sysbench", "oltp_read_only"] and line[-2:] == ["--tables=4", "run"]
    assert "--mysql-socket=/run/s" in line and "--time=10" in line and "--events=0" in line
    assert not any("password" in part for part in line)


def find(out: str, code: int = 0):
    return lambda command: (code, out, "")


def test_sysbench_that_is_missing_or_old(monkeypatch):
    monkeypatch.setattr(sysbench.shutil, "which", lambda *_names, **_more: None)
    with pytest.raises(InnodbError, match="sysbench is not installed.*apt install --no-remove sysbench"):
        sysbench.find(find(""))
    monkeypatch.setattr(sysbench.shutil, "which", lambda *_names, **_more: "/usr/bin/sysbench")
    assert sysbench.find(find("sysbench 1.0.20\n")).version == "sysbench 1.0.20"
    with pytest.raises(InnodbError, match="too old"):
        sysbench.find(find("sysbench 0.4.12\n"))
    with pytest.raises(InnodbError, match="failed"):
        sysbench.find(find("", 127))


def test_what_passed_between_two_looks():
    before = Look(10.0, {"innodb_buffer_pool_read_requests": 1000, "innodb_buffer_pool_reads": 50, "innodb_pages_read": 50}, 100, 200, 1.0)
    after = Look(
        20.0, {"innodb_buffer_pool_read_requests": 2000, "innodb_buffer_pool_reads": 150, "innodb_pages_read": 250}, 4100, 1200, 6.0
    )
    found = passed(before, after, 100)
    assert found["read_bytes_per_second"] == 400 and found["written_bytes_per_second"] == 100
    assert found["read_bytes_per_transaction"] == 40 and found["written_bytes_per_transaction"] == 10
    assert found["hit_ratio"] == pytest.approx(0.9) and found["pages_read_per_transaction"] == 2
    assert found["cpu_seconds_per_transaction"] == 0.05 and found["cpu_share"] == 0.5
    assert found["log_bytes_per_transaction"] is None


def test_nothing_is_divided_by_no_transactions():
    moment = Look(10.0, {}, 0, 0, 0.0)
    assert set(passed(moment, moment._replace(moment=11.0), 0).values()) <= {None, 0.0}


def rounds(variant: str, rates: list[float], load: str = "a", data_to_pool: float = 4.0, threads: int = 8) -> list[dict]:
    return [
        {
            "variant": variant,
            "round": number,
            "load": load,
            "data_to_pool": data_to_pool,
            "threads": threads,
            "transactions_per_second": rate,
            "hit_ratio": None,
        }
        for number, rate in enumerate(rates, 1)
    ]


def test_median_and_spread():
    assert statistics.middle([10, 30, 11]) == {"median": 11, "spread": 19}
    assert statistics.middle([50]) == {"median": 50, "spread": 5}


def test_what_differs_by_chance_is_seldom_told_as_a_difference():
    """Also with two rounds, whose distance alone says little."""
    dice = random.Random(1)
    for number in (2, 3, 5):
        pairs = [[statistics.middle([dice.gauss(100, 5) for _round in range(number)]) for _side in "ab"] for _pair in range(2000)]
        assert sum(not statistics.same(*pair) for pair in pairs) / len(pairs) < 0.08


@pytest.mark.parametrize(
    ("rates", "verdict"),
    [([130, 131, 129], "faster"), ([70, 71, 69], "slower"), ([103, 108, 104], "no difference"), ([200, 90, 110], "no difference")],
)
def test_a_difference_within_the_spread_is_none(rates, verdict):
    (cell,) = statistics.summarise(rounds("16384", [100, 104, 98]) + rounds("8192", rates), "16384")
    assert cell["verdicts"]["8192"]["verdict"] == verdict
    assert cell["variants"]["16384"] == {"transactions_per_second": {"median": 100, "spread": 4}}


def test_overall_weighs_loads_alike_and_leaves_unfinished_rounds_out():
    slow, fast = rounds("8192", [10, 20], "scan"), rounds("8192", [1000, 500], "point")
    found = statistics.overall([*slow, *fast, *rounds("8192", [1, 1, 7], "scan")[2:]])
    assert found["8192"]["transactions_per_second"] == pytest.approx(100)
    assert found["8192"]["spread"] == pytest.approx(0, abs=1e-9)


def rate(value: float, spread: float) -> dict[str, float]:
    return {"transactions_per_second": value, "spread": spread}


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ({"4096": rate(150, 5), "16384": rate(100, 5)}, "4k does 50% more transactions than 16k (150 ± 5 against 100 ± 5 per second)."),
        (
            {"4096": rate(104, 5), "16384": rate(100, 5)},
            "No other page size does more than 16k beyond the spread of the rounds (5%): no difference.",
        ),
        (
            {"4096": rate(50, 5), "16384": rate(100, 5)},
            "No other page size does more than 16k beyond the spread of the rounds (10%); 4k does less.",
        ),
        (
            {"4096": rate(110, 30), "16384": rate(100, 5)},
            "No other page size does more than 16k beyond the spread of the rounds (27%): no difference."
            " Smaller differences can't be seen so: measure more rounds, for longer.",
        ),
        ({"4096": rate(50, 5)}, "Nothing can be said: there are no whole rounds of two page sizes."),
    ],
)
def test_conclusion(rates, words):
    assert statistics.conclusion(rates, "16384") == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, "one round has no spread, and 10% of the figure is taken for it"),
        (2, "a spread is the largest distance of a round from the median, times 3 since 2 rounds say little"),
        (3, "a spread is the largest distance of a round from the median"),
    ],
)
def test_what_a_spread_is(number, words):
    assert benchmark_result.spread_of(number) == words


def test_conclusion_for_each_size_of_the_data():
    rates = {"4096": rate(150, 5), "16384": rate(100, 5)}
    text = conclusion({"0.5": rates, "4": rates}, "16384")
    assert text.startswith("Data in the pool: 4k does") and "Data of 4 times the pool: 4k does" in text


def test_every_script_of_ours_is_there_and_has_its_load():
    scripts = {path.name for path in (ROOT / "roles" / "benchmark" / "files").glob("*.lua")} - {"pagesmith_common.lua"}
    assert scripts == {load.script for load in benchmark_loads.LOADS.values() if load.script.endswith(".lua")}
    assert scripts == {data.script for data in benchmark_loads.DATASETS.values() if data.script.endswith(".lua")}


def test_every_load_is_documented():
    for text in ((ROOT / "plugins/modules/page_size_benchmark.py").read_text(), (ROOT / "docs/benchmark.md").read_text()):
        assert [name for name in benchmark_loads.LOADS if name not in text] == []

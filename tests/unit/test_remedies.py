# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The tries against a refusal: what they make of definitions as SHOW CREATE TABLE spells them."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.remedies import Refusal, Try, share, tries

TOO_LONG = "Specified key was too long; max key length is 1536 bytes (error 1071)"


def definition(*lines: str, options: str = "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci") -> str:
    return "CREATE TABLE `t` (\n  " + ",\n  ".join(lines) + f"\n) {options}"


def found(text: str, code: int, reason: str = "", size: int = 8192) -> list[Try]:
    return list(tries(Refusal(text, code, reason, size)))


def test_row_formats_become_dynamic():
    text = definition("`id` int(11) NOT NULL", "`v` text DEFAULT NULL", options="ENGINE=InnoDB DEFAULT CHARSET=latin1 ROW_FORMAT=COMPACT")
    first = found(text, 1118)[0]
    assert first.definition == text.replace("COMPACT", "DYNAMIC")
    assert first.statement("`s`.`t`") == "ALTER TABLE `s`.`t` ROW_FORMAT=DYNAMIC"


def test_a_row_format_is_added_before_the_partitions():
    text = definition("`id` int(11) NOT NULL", options="ENGINE=InnoDB DEFAULT CHARSET=latin1\n PARTITION BY HASH (`id`)\nPARTITIONS 3")
    assert "latin1 ROW_FORMAT=DYNAMIC\n PARTITION BY" in found(text, 1709)[0].definition


def test_block_sizes_shrink_to_the_page_or_go():
    text = definition("`id` int(11) NOT NULL", options="ENGINE=InnoDB DEFAULT CHARSET=latin1 ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=16")
    smaller, none = found(text, 1005)
    assert smaller.clauses == ("KEY_BLOCK_SIZE=8",) and smaller.definition.endswith("ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8")
    assert none.clauses == ("ROW_FORMAT=DYNAMIC", "KEY_BLOCK_SIZE=0") and none.definition.endswith("CHARSET=latin1 ROW_FORMAT=DYNAMIC")
    assert [attempt.clauses[0] for attempt in found(text, 1005, size=65536)] == ["ROW_FORMAT=DYNAMIC"]


def test_other_wrong_options_have_no_remedy():
    text = definition("`id` int(11) NOT NULL", options="ENGINE=InnoDB DEFAULT CHARSET=latin1 `ENCRYPTED`=YES")
    assert found(text, 1005) == []


def test_prefixes_of_plain_keys_are_shortened_to_what_the_server_allows():
    text = definition("`a` varchar(700) DEFAULT NULL", "`n` int(11) DEFAULT NULL", "KEY `k` (`n`,`a`)", "KEY `fits` (`n`)")
    (attempt,) = found(text, 1071, TOO_LONG)
    assert "  KEY `k` (`n`,`a`(380)),\n" in attempt.definition
    assert attempt.clauses == ("DROP KEY `k`", "ADD KEY `k` (`n`,`a`(380))")


def test_the_last_line_keeps_no_comma():
    text = definition("`a` varbinary(2000) DEFAULT NULL", "KEY `k` (`a`)")
    (attempt,) = found(text, 1071, TOO_LONG)
    assert attempt.definition.endswith("  KEY `k` (`a`(1536))\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci")


def test_unique_and_primary_keys_are_not_shortened():
    lines = ("`a` varchar(700) NOT NULL", "PRIMARY KEY (`a`)", "UNIQUE KEY `u` (`a`)")
    assert found(definition(*lines), 1071, TOO_LONG) == []


def test_short_text_is_widened_until_it_may_lie_outside_the_page():
    lines = (
        "`id` varchar(20) NOT NULL",
        "`a` varchar(50) DEFAULT 'x'",
        "`b` varchar(255) CHARACTER SET latin1 NOT NULL",
        "`long` varchar(100) DEFAULT NULL",
        "`c` char(10) NOT NULL",
        "`g` varchar(10) GENERATED ALWAYS AS (`c`) VIRTUAL",
        "PRIMARY KEY (`id`)",
    )
    text = definition(*lines)
    widened = [attempt for attempt in found(text, 1118) if "MODIFY" in attempt.clauses[0]]
    assert widened[0].clauses == (
        "MODIFY `a` varchar(64) DEFAULT 'x'",
        "MODIFY `b` varchar(256) CHARACTER SET latin1 NOT NULL",
    )
    assert "`c` char(10)" in widened[-1].definition, "another column is computed from it"
    assert "`id` varchar(20)" in widened[-1].definition, "it is in a key"


def test_fixed_text_is_widened_after_all_else():
    text = definition("`id` int(11) NOT NULL", "`c` char(250) NOT NULL", options="ENGINE=InnoDB DEFAULT CHARSET=latin1")
    assert "MODIFY `c` varchar(256) NOT NULL" in [clause for attempt in found(text, 1118) for clause in attempt.clauses]


def test_of_many_clauses_some_are_shown():
    attempt = Try("", tuple(f"MODIFY `c{number}` varchar(256)" for number in range(30)))
    assert attempt.statement("`t`").endswith("MODIFY `c3` varchar(256) and 26 more columns likewise")


def test_no_try_is_made_twice_and_unknown_errors_have_none():
    text = definition("`v` text DEFAULT NULL", options="ENGINE=InnoDB DEFAULT CHARSET=latin1 ROW_FORMAT=REDUNDANT")
    definitions = [attempt.definition for attempt in found(text, 1118)]
    assert len(definitions) == len(set(definitions)) == 1
    assert found(text, 1146) == []


@pytest.mark.parametrize(
    ("sizes", "budget", "parts"),
    [
        ([], 100, []),
        ([10, 10], 100, [10, 10]),
        ([1000, 10, 1000], 100, [45, 10, 45]),
        ([1000, 1000], 100, [50, 50]),
        ([0, 5], 0, [0, 0]),
    ],
)
def test_share(sizes, budget, parts):
    assert share(sizes, budget) == parts

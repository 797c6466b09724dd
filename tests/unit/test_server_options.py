# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which options are written for which engine, storage, memory and wish."""

from __future__ import annotations

import itertools

import pytest

from ansible_collections.pagesmith.innodb.plugins.filter.server_options import AnsibleFilterError, facts_of, server_options
from ansible_collections.pagesmith.innodb.plugins.module_utils.engines import MARIADB, MYSQL, PERCONA, Engine
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_file import parse_text
from ansible_collections.pagesmith.innodb.plugins.module_utils.server_options import (
    ROWS,
    Choice,
    choose,
    find_row,
    format_bytes,
    parse_bytes,
    verified,
)

GIB = 1 << 30
MARIADB_10_11 = Engine(MARIADB, (10, 11, 19), "")
FACTS = {"page_size": 16384, "memory_bytes": 16 * GIB, "rotational": None, "datadir_is_mount_point": False, "set_elsewhere": {}}


def chosen(wishes=None, engine=MARIADB_10_11, **facts) -> dict:
    return {choice.name: choice.value for choice in choose(engine, {**FACTS, **facts}, wishes or {})}


def test_without_wishes_and_with_storage_unknown():
    assert chosen() == {"innodb_page_size": "16k", "innodb_buffer_pool_size": "8G", "innodb_flush_method": "O_DIRECT"}


@pytest.mark.parametrize(
    "rotational, storage, expected",
    [
        (False, "auto", ("0", "2000", "4000")),
        # Virtual disks say that they rotate.
        (True, "auto", (None, None, None)),
        (None, "auto", (None, None, None)),
        (None, None, (None, None, None)),
        (True, "flash", ("0", "2000", "4000")),
        (None, "rotating", ("1", "200", "2000")),
        (False, "rotating", ("1", "200", "2000")),
    ],
)
def test_storage(rotational, storage, expected):
    found = chosen({"storage": storage}, rotational=rotational)
    assert tuple(found.get(name) for name in ("innodb_flush_neighbors", "innodb_io_capacity", "innodb_io_capacity_max")) == expected


@pytest.mark.parametrize(
    "wishes, elsewhere, expected",
    [
        ({"io_capacity": 5000}, {}, ("5000", "10000")),
        ({"io_capacity": "300"}, {}, ("300", "2000")),
        ({"io_capacity_max": 900}, {}, ("900", "900")),
        ({"io_capacity": 5000, "io_capacity_max": 6000}, {}, ("5000", "6000")),
        # The two are one decision: what another file says of one is not contradicted by the other.
        ({}, {"innodb_io_capacity": "8000"}, (None, None)),
        ({}, {"innodb_io_capacity_max": "800"}, (None, None)),
        ({"io_capacity": 5000}, {"innodb_io_capacity": "8000"}, ("5000", "10000")),
        ({"extra": {"innodb_io_capacity_max": 800}}, {}, (None, "800")),
        ({"io_capacity": "", "io_capacity_max": ""}, {}, ("2000", "4000")),
    ],
)
def test_io_capacity(wishes, elsewhere, expected):
    found = chosen({"storage": "flash", **wishes}, set_elsewhere=elsewhere)
    assert (found.get("innodb_io_capacity"), found.get("innodb_io_capacity_max")) == expected


@pytest.mark.parametrize(
    "memory, wishes, page_size, expected",
    [
        (16 * GIB, {}, 16384, "8G"),
        (16 * GIB - 1, {}, 16384, "8064M"),
        (16 * GIB, {"memory_share": 0.75}, 16384, "12G"),
        (200 << 20, {}, 16384, "100M"),
        (8 << 20, {}, 65536, "21M"),
        (16 * GIB, {"buffer_pool_size": "10G"}, 16384, "10G"),
        (None, {"buffer_pool_size": "10G"}, 16384, "10G"),
        (None, {}, 16384, None),
    ],
)
def test_buffer_pool(memory, wishes, page_size, expected):
    assert chosen(wishes, memory_bytes=memory, page_size=page_size).get("innodb_buffer_pool_size") == expected


def test_what_another_file_sets_is_left_to_it_unless_asked_for():
    elsewhere = {"innodb_buffer_pool_size": "1G", "innodb_flush_method": "fsync", "innodb_page_size": "4k"}
    assert chosen(set_elsewhere=elsewhere) == {"innodb_page_size": "16k"}
    assert chosen({"buffer_pool_size": "2G"}, set_elsewhere=elsewhere)["innodb_buffer_pool_size"] == "2G"


@pytest.mark.parametrize(
    "wishes, message",
    [
        ({"buffer_pool_size": "much"}, "no size"),
        ({"buffer_pool_size": "4M"}, "too small"),
        ({"buffer_pool_size": "64G"}, "does not fit"),
        ({"memory_share": 2}, "no share"),
        ({"io_capacity": 3000, "io_capacity_max": 2000}, "more than its maximum"),
        ({"extra": {"innodb-page-size": "4k"}}, "nvme_config_page_size"),
        ({"extra": {"x\ny": 1}}, "no name"),
        ({"extra": {"[client]": 1}}, "no name"),
        ({"extra": {"x": "1\n[client]"}}, "control character"),
    ],
)
def test_wishes_that_cannot_be_met(wishes, message):
    with pytest.raises(InnodbError, match=message):
        chosen(wishes)


def test_further_options_win_and_are_written_as_given():
    extra = {
        "innodb-buffer-pool-size": "1G",
        "loose_innodb_flush_method": "fsync",
        "skip-name-resolve": None,
        "slow_query_log": True,
        "plugin_load_add": ["a", "b"],
        "init_connect": "SET x='#'",
    }
    lines = [choice.line for choice in choose(MARIADB_10_11, FACTS, {"extra": extra})]
    assert lines == [
        "innodb_page_size=16k",
        "innodb_buffer_pool_size=1G",
        "loose_innodb_flush_method=fsync",
        "skip_name_resolve",
        "slow_query_log=ON",
        "plugin_load_add=a",
        "plugin_load_add=b",
        "init_connect=\"SET x='#'\"",
    ]


@pytest.mark.parametrize("value", ["a", "a#b", " a ", "'a'", 'say "a"', '"a#b"', ""])
def test_a_value_is_read_as_it_was_meant(value):
    (setting,) = parse_text("[mysqld]\n" + Choice("init_connect", value, "").line, "", ["mysqld"], lambda *_include: [])
    assert setting.value == value


@pytest.mark.parametrize(
    "engine, mount_point, expected",
    [
        (MARIADB_10_11, True, [".pagesmith-retained", ".pagesmith-new", "lost+found"]),
        (MARIADB_10_11, False, []),
        (Engine(MYSQL, (8, 4, 0), ""), True, []),
    ],
)
def test_directories_in_a_mount_point(engine, mount_point, expected):
    choices = choose(engine, {**FACTS, "datadir_is_mount_point": mount_point}, {"extra": {"ignore_db_dirs": "own"}})
    assert [choice.value for choice in choices if choice.name == "ignore_db_dirs"] == [*expected, "own"]


@pytest.mark.parametrize(
    "name, version, written",
    [
        (MARIADB, (10, 5, 23), True),
        (MARIADB, (10, 11, 19), True),
        (MARIADB, (11, 0, 0), False),
        (MARIADB, (12, 1, 0), False),
        (MYSQL, (5, 6, 24), True),
        (MYSQL, (9, 7, 4), True),
        (PERCONA, (8, 0, 40), True),
    ],
)
def test_flush_method_where_it_is_needed(name, version, written):
    assert ("innodb_flush_method" in chosen(engine=Engine(name, version, ""))) == written


def test_every_choice_has_a_reason():
    for choice in choose(MARIADB_10_11, {**FACTS, "datadir_is_mount_point": True}, {"storage": "flash", "extra": {"x": 1}}):
        assert choice.reason.endswith(".") and "\n" not in choice.reason


@pytest.mark.parametrize(
    "name, version, expected",
    [(MARIADB, (10, 11, 19), True), (MARIADB, (10, 6, 1), False), (MYSQL, (9, 7, 4), True), (PERCONA, (8, 0, 40), False)],
)
def test_what_was_run_is_marked(name, version, expected):
    assert verified("innodb_page_size", Engine(name, version, "")) is expected


def test_no_two_rows_are_for_the_same_server():
    for one, other in itertools.combinations(ROWS, 2):
        if one.name == other.name and set(one.engines) & set(other.engines):
            assert one.until <= other.since or other.until <= one.since


def test_an_option_that_does_not_exist_has_no_row():
    assert find_row("ignore_db_dirs", Engine(MYSQL, (8, 4, 0), "")) is None


@pytest.mark.parametrize("text, size", [("8k", 8192), ("12G", 12 * GIB), (4096, 4096), ("1T", 1 << 40), ("1.5G", None), ("", None)])
def test_sizes(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize("size, text", [(1536 << 20, "1536M"), (8 * GIB, "8G"), (1000, "1000"), (0, "0")])
def test_sizes_are_written_shortly(size, text):
    assert format_bytes(size) == text


INFO = {
    "banner": "mariadbd  Ver 10.11.19-MariaDB for debian-linux-gnu on x86_64",
    "memory_bytes": 16 * GIB,
    "drop_in": "/etc/mysql/conf.d/zz-pagesmith.cnf",
    "storage": {"datadir": {"rotational": False}},
    "layout": {"mount_point": True},
    "settings": [
        {"name": "innodb_buffer_pool_size", "value": "1G", "file": "/etc/mysql/conf.d/zz-pagesmith.cnf", "line": 3},
        {"name": "innodb_io_capacity", "value": "900", "file": "/etc/mysql/conf.d/50-server.cnf", "line": 9},
    ],
}


def test_facts_come_from_the_instance_without_our_own_file():
    assert facts_of(INFO, "8k") == {
        "page_size": 8192,
        "memory_bytes": 16 * GIB,
        "rotational": False,
        "datadir_is_mount_point": True,
        "set_elsewhere": {"innodb_io_capacity": "900"},
    }


def test_the_filter_gives_lines_and_reasons():
    lines = [option["line"] for option in server_options(INFO, 8192)]
    assert lines[:4] == ["innodb_page_size=8k", "innodb_buffer_pool_size=8G", "innodb_flush_method=O_DIRECT", "innodb_flush_neighbors=0"]


def test_the_filter_tells_what_is_wrong():
    with pytest.raises(AnsibleFilterError, match="no InnoDB page size"):
        server_options(INFO, "9k")

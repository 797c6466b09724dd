# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which options are written for which engine, storage, memory and wish."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.filter.server_options import (
    AnsibleFilterError,
    facts_of,
    option_conflicts,
    server_options,
)
from ansible_collections.pagesmith.innodb.plugins.module_utils.engines import MARIADB, MYSQL, Engine
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_file import parse_text
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_values import format_bytes, parse_bytes
from ansible_collections.pagesmith.innodb.plugins.module_utils.server_options import Choice, choose, plan_options

MIB, GIB = 1 << 20, 1 << 30
MARIADB_10_11 = Engine(MARIADB, (10, 11, 19), "")
FACTS = {"page_size": 16384, "memory_bytes": 16 * GIB}


def engine_of(text: str) -> Engine:
    """From C(mysql 8.0.40)."""
    name, _blank, version = text.partition(" ")
    return Engine(name, tuple(int(part) for part in version.split(".")), "")


def elsewhere(**values: str) -> dict:
    """Lines of another option file."""
    return {
        name: {"name": name, "value": value, "file": "/etc/my.cnf", "line": number}
        for number, (name, value) in enumerate(values.items(), 2)
    }


def chosen(wishes=None, engine=MARIADB_10_11, **facts) -> dict:
    return {choice.name: choice.value for choice in choose(engine, {**FACTS, **facts}, wishes or {})}


def test_without_wishes_and_with_storage_unknown():
    assert chosen() == {
        "innodb_page_size": "16k",
        "innodb_buffer_pool_size": "8G",
        "innodb_flush_method": "O_DIRECT",
        "innodb_log_file_size": "2G",
        "innodb_doublewrite": "ON",
    }


@pytest.mark.parametrize(
    "known, wished, expected",
    [
        ("flash", "auto", ("0", "2000", "4000")),
        (None, "auto", (None, None, None)),
        (None, None, (None, None, None)),
        (None, "flash", ("0", "2000", "4000")),
        ("rotating", "", ("1", "200", "2000")),
        ("flash", "rotating", ("1", "200", "2000")),
    ],
)
def test_storage(known, wished, expected):
    found = chosen({"storage": wished}, storage=known)
    assert tuple(found.get(name) for name in ("innodb_flush_neighbors", "innodb_io_capacity", "innodb_io_capacity_max")) == expected


@pytest.mark.parametrize(
    "wishes, others, expected",
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
        ({"measured_iops": 30000}, {}, ("15000", "30000")),
        ({"measured_iops": 120}, {}, ("100", "120")),
        ({"measured_iops": 30000, "io_capacity": 700}, {}, ("700", "2000")),
    ],
)
def test_io_capacity(wishes, others, expected):
    found = chosen({"storage": "flash", **wishes}, set_elsewhere=elsewhere(**others))
    assert (found.get("innodb_io_capacity"), found.get("innodb_io_capacity_max")) == expected


@pytest.mark.parametrize(
    "server, wishes, expected",
    [
        ("mysql 8.0.40", {"storage": "flash"}, ("2000", "4000")),
        # From 8.4 on the server's own 10000 is for flash: less would be a step back.
        ("mysql 8.4.3", {"storage": "flash"}, (None, None)),
        ("percona 8.4.3", {"storage": "flash"}, (None, None)),
        ("mysql 9.7.4", {"storage": "rotating"}, ("200", "2000")),
        ("mysql 9.7.4", {"storage": "flash", "measured_iops": 30000}, ("15000", "30000")),
        ("mysql 9.7.4", {"storage": "flash", "io_capacity": 5000}, ("5000", "10000")),
        # A maximum below the server's own capacity takes that down with it.
        ("mysql 9.7.4", {"storage": "flash", "io_capacity_max": 6000}, ("2000", "6000")),
        ("mysql 9.7.4", {"io_capacity_max": 6000}, ("6000", "6000")),
        ("mysql 9.7.4", {"io_capacity_max": 30000}, (None, "30000")),
        ("mysql 8.0.40", {"io_capacity_max": 6000}, (None, "6000")),
    ],
)
def test_io_capacity_of_servers_with_a_default_for_flash(server, wishes, expected):
    found = chosen(wishes, engine_of(server))
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


@pytest.mark.parametrize(
    "server, page_size, expected",
    [("mysql 9.7.4", 16384, "5M"), ("mysql 9.7.4", 32768, "9M"), ("percona 8.0.40", 65536, "17M"), ("mariadb 10.11.19", 65536, "21M")],
)
def test_the_least_buffer_pool(server, page_size, expected):
    assert chosen({}, engine_of(server), memory_bytes=MIB, page_size=page_size)["innodb_buffer_pool_size"] == expected
    with pytest.raises(InnodbError, match=f"too small.*need {expected}"):
        chosen({"buffer_pool_size": "4M"}, engine_of(server), memory_bytes=None, page_size=page_size)


def test_what_another_file_sets_is_left_to_it_unless_asked_for():
    others = elsewhere(innodb_buffer_pool_size="1G", innodb_flush_method="fsync", innodb_page_size="4k")
    assert chosen(set_elsewhere=others) == {"innodb_page_size": "16k", "innodb_log_file_size": "256M", "innodb_doublewrite": "ON"}
    assert chosen({"buffer_pool_size": "2G"}, set_elsewhere=others)["innodb_buffer_pool_size"] == "2G"


def test_conflicts_with_other_files_are_named_with_their_place():
    others = elsewhere(innodb_buffer_pool_size="1G", innodb_doublewrite="1", innodb_page_size="4k", innodb_io_capacity="900")
    facts = {**FACTS, "storage": "flash", "set_elsewhere": others}
    found = plan_options(MARIADB_10_11, facts, {"extra": {"innodb_io_capacity": 700}}).conflicts
    assert [str(conflict) for conflict in found] == [
        "/etc/my.cnf:4 sets innodb_page_size=4k, which our innodb_page_size=16k replaces",
        "/etc/my.cnf:2 sets innodb_buffer_pool_size=1G, which stays; without that line it would be 8G",
        "/etc/my.cnf:5 sets innodb_io_capacity=900, which our innodb_io_capacity=700 replaces",
    ]


@pytest.mark.parametrize(
    "server, pool, expected",
    [
        ("mysql 5.6.24", "512M", None),
        ("mysql 5.7.44", "4G", "4"),
        ("mysql 8.0.40", "14G", "8"),
        ("percona 5.5.62", "2G", "2"),
        ("mysql 8.4.3", "14G", None),
        ("mariadb 10.5.23", "14G", None),
        ("mariadb 11.8.9", "14G", None),
    ],
)
def test_parts_of_the_buffer_pool(server, pool, expected):
    assert chosen({"buffer_pool_size": pool}, engine_of(server)).get("innodb_buffer_pool_instances") == expected


LOG_OPTIONS = ("innodb_log_file_size", "innodb_redo_log_capacity")


@pytest.mark.parametrize(
    "server, memory, total, wished, expected",
    [
        ("mariadb 10.11.19", 16 * GIB, None, None, ("2G", None)),
        ("mariadb 10.11.19", 16 * GIB, 10 * GIB, None, ("512M", None)),
        ("mariadb 10.11.19", 512 << 20, None, None, (None, None)),
        ("mariadb 10.11.19", 512 << 30, None, None, ("4G", None)),
        ("mariadb 10.11.19", 16 * GIB, 10 * GIB, "3G", ("3G", None)),
        # Two files.
        ("mysql 5.6.24", 16 * GIB, None, None, ("1G", None)),
        ("mysql 8.0.29", 16 * GIB, None, "6G", ("3G", None)),
        ("mysql 8.0.30", 16 * GIB, None, None, (None, "2G")),
        ("mysql 9.7.4", 16 * GIB, None, "6G", (None, "6G")),
        # It would not start with files of another size.
        ("percona 5.5.62", 16 * GIB, None, None, (None, None)),
        ("percona 5.5.62", 16 * GIB, None, "1G", ("512M", None)),
        ("percona 8.4.0", 16 * GIB, None, None, (None, "2G")),
    ],
)
def test_size_of_the_log(server, memory, total, wished, expected):
    found = chosen({"log_size": wished}, engine_of(server), memory_bytes=memory, total_bytes=total)
    assert tuple(found.get(name) for name in LOG_OPTIONS) == expected


def test_the_number_of_log_files_of_another_file_counts():
    others = elsewhere(innodb_log_files_in_group="4")
    assert chosen({"log_size": "4G"}, engine_of("mysql 5.7.44"), set_elsewhere=others)["innodb_log_file_size"] == "1G"


@pytest.mark.parametrize(
    "server, sector, page_size, wished, expected",
    [
        ("mariadb 10.5.23", 4096, 16384, None, ("4096", None)),
        ("mariadb 10.5.23", 512, 16384, None, (None, None)),
        ("mariadb 10.5.23", 16384, 4096, None, ("4096", None)),
        ("mariadb 10.5.23", None, 16384, None, (None, None)),
        # It finds the block size of its log itself.
        ("mariadb 10.11.19", 4096, 16384, None, (None, None)),
        ("mariadb 11.8.9", 4096, 16384, "4k", ("4096", None)),
        ("mysql 5.6.24", 4096, 16384, None, (None, None)),
        ("mysql 8.4.0", 4096, 16384, None, ("4096", None)),
        ("percona 5.5.62", 4096, 16384, None, (None, None)),
        ("percona 5.5.62", 4096, 16384, "4096", (None, "4096")),
    ],
)
def test_blocks_of_the_log(server, sector, page_size, wished, expected):
    found = chosen({"log_write_size": wished}, engine_of(server), physical_sector_bytes=sector, page_size=page_size)
    assert (found.get("innodb_log_write_ahead_size"), found.get("innodb_log_block_size")) == expected


@pytest.mark.parametrize(
    "atomic, wished, expected",
    [
        (None, None, "ON"),
        (None, True, "ON"),
        (131072, "auto", "ON"),
        (131072, "off", "OFF"),
        (16384, False, "OFF"),
        (8192, "off", InnodbError),
        (None, "off", InnodbError),
    ],
)
def test_doublewrite_is_off_only_where_the_device_promises_whole_pages(atomic, wished, expected):
    if expected is InnodbError:
        with pytest.raises(InnodbError, match="doublewrite buffer stays on"):
            chosen({"doublewrite": wished}, atomic_write_unit_bytes=atomic)
        return
    assert chosen({"doublewrite": wished}, atomic_write_unit_bytes=atomic)["innodb_doublewrite"] == expected


@pytest.mark.parametrize(
    "server, storage, expected",
    [
        ("mysql 5.6.24", "flash", ("8", "8", "4", None)),
        ("mysql 5.6.24", "rotating", (None, None, None, "256")),
        ("mysql 8.0.40", "flash", ("8", "8", None, None)),
        ("mysql 9.7.4", "flash", (None, "8", None, None)),
        ("mariadb 10.11.19", "flash", (None, None, None, None)),
        ("mariadb 10.11.19", "rotating", (None, None, None, None)),
        ("percona 5.5.62", "flash", ("8", "8", None, None)),
        ("percona 5.5.62", "rotating", (None, None, None, None)),
        ("mysql 8.0.40", None, (None, None, None, None)),
    ],
)
def test_threads_and_scans(server, storage, expected):
    names = ("innodb_read_io_threads", "innodb_write_io_threads", "innodb_purge_threads", "innodb_lru_scan_depth")
    found = chosen(engine=engine_of(server), storage=storage)
    assert tuple(found.get(name) for name in names) == expected


def test_what_only_some_ask_for():
    wishes = {"page_cleaners": 2, "lru_scan_depth": 512, "purge_threads": 2, "large_pages": True, "numa_interleave": "on"}
    found = chosen(wishes, engine_of("mysql 8.0.40"))
    assert [found[name] for name in ("innodb_page_cleaners", "innodb_lru_scan_depth", "innodb_purge_threads")] == ["2", "512", "2"]
    assert (found["large_pages"], found["innodb_numa_interleave"]) == ("ON", "ON")


@pytest.mark.parametrize("nodes, wished, expected", [(None, None, None), (1, "auto", None), (2, "auto", "ON"), (2, "off", "OFF")])
def test_memory_with_nodes(nodes, wished, expected):
    assert chosen({"numa_interleave": wished}, numa_nodes=nodes).get("innodb_numa_interleave") == expected


@pytest.mark.parametrize(
    "server, wishes, message",
    [
        ("mariadb 10.11.19", {"buffer_pool_instances": 4}, "ignores, innodb_buffer_pool_instances"),
        ("mariadb 10.11.19", {"page_cleaners": 4}, "ignores, innodb_page_cleaners"),
        ("mysql 5.6.24", {"page_cleaners": 4}, "does not start with innodb_page_cleaners"),
        ("mysql 5.6.24", {"log_write_size": 4096}, "does not start with innodb_log_write_ahead_size"),
        ("percona 5.5.62", {"io_capacity_max": 4000}, "does not start with innodb_io_capacity_max"),
        ("mysql 9.7.4", {"extra": {"innodb-log-file-size": "1G"}}, "does not start with innodb_log_file_size"),
        ("mariadb 10.11.19", {"extra": {"innodb_redo_log_capacity": "1G"}}, "does not start with innodb_redo_log_capacity"),
    ],
)
def test_an_option_that_the_server_does_not_have_is_refused_when_it_is_asked_for(server, wishes, message):
    with pytest.raises(InnodbError, match=message):
        chosen(wishes, engine_of(server))


@pytest.mark.parametrize(
    "server, size, possible",
    [("mysql 5.6.24", 32768, "4k, 8k, 16k"), ("mysql 5.6.24", 65536, "4k, 8k, 16k"), ("percona 5.5.62", 32768, "4k, 8k, 16k")],
)
def test_a_page_size_that_the_server_would_only_warn_of_is_refused_beforehand(server, size, possible):
    """MySQL 5.6 asked for 32k builds 16k and says so in its log alone."""
    with pytest.raises(InnodbError, match=f"can't have {size // 1024}k pages.*{possible}"):
        chosen(engine=engine_of(server), page_size=size)


@pytest.mark.parametrize(
    "wishes, message",
    [
        ({"buffer_pool_size": "much"}, "no size"),
        ({"log_size": "much"}, "no size"),
        ({"purge_threads": "many"}, "no number"),
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
        "innodb_log_file_size=256M",
        "innodb_doublewrite=ON",
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
    choices = choose(engine, {**FACTS, "datadir_is_mount_point": mount_point}, {})
    assert [choice.value for choice in choices if choice.name == "ignore_db_dirs"] == expected


def test_directories_of_ones_own_come_on_top():
    choices = choose(MARIADB_10_11, {**FACTS, "datadir_is_mount_point": True}, {"extra": {"ignore_db_dirs": ["own", "other"]}})
    assert [choice.value for choice in choices if choice.name == "ignore_db_dirs"][-3:] == ["lost+found", "own", "other"]


@pytest.mark.parametrize(
    "server, expected",
    [
        ("mariadb 10.5.23", ("O_DIRECT", None)),
        ("mariadb 10.11.19", ("O_DIRECT", None)),
        ("mariadb 11.0.1", (None, "OFF")),
        ("mariadb 12.1.0", (None, "OFF")),
        ("mysql 5.6.24", ("O_DIRECT", None)),
        ("mysql 9.7.4", ("O_DIRECT", None)),
        ("percona 8.0.40", ("O_DIRECT", None)),
    ],
)
def test_data_is_not_cached_twice(server, expected):
    found = chosen(engine=engine_of(server))
    assert (found.get("innodb_flush_method"), found.get("innodb_data_file_buffering")) == expected


def test_a_flush_method_of_ones_own_stands_alone():
    wished = chosen({"flush_method": "fsync"}, engine_of("mariadb 11.8.9"))
    assert (wished.get("innodb_flush_method"), wished.get("innodb_data_file_buffering")) == ("fsync", None)
    assert "innodb_data_file_buffering" not in chosen(
        engine=engine_of("mariadb 11.8.9"), set_elsewhere=elsewhere(innodb_flush_method="fsync")
    )


@pytest.mark.parametrize(
    "server, others, expected",
    [
        (
            "mariadb 11.8.9",
            {"innodb_flush_method": "fsync"},
            ["/etc/my.cnf:2 sets innodb_flush_method=fsync, which stays; without that line it would be innodb_data_file_buffering=OFF"],
        ),
        ("mariadb 11.8.9", {"innodb_flush_method": "o_direct"}, []),
        (
            "mysql 8.0.40",
            {"innodb_log_file_size": "256M"},
            ["/etc/my.cnf:2 sets innodb_log_file_size=256M, which stays; without that line it would be innodb_redo_log_capacity=2G"],
        ),
        ("mysql 8.0.40", {"innodb_log_file_size": "256M", "innodb_log_files_in_group": "8"}, []),
    ],
)
def test_an_older_option_elsewhere_is_named_where_its_replacement_would_be_written(server, others, expected):
    plan = plan_options(engine_of(server), {**FACTS, "set_elsewhere": elsewhere(**others)}, {})
    assert [str(conflict) for conflict in plan.conflicts] == expected
    assert not {"innodb_data_file_buffering", "innodb_redo_log_capacity"} & {choice.name for choice in plan.choices}


def test_a_log_size_that_is_asked_for_is_written_beside_the_older_option_elsewhere():
    found = chosen({"log_size": "1G"}, engine_of("mysql 8.0.40"), set_elsewhere=elsewhere(innodb_log_file_size="256M"))
    assert found["innodb_redo_log_capacity"] == "1G"
    assert "innodb_log_file_size" not in found


def test_a_server_that_chooses_from_the_memory_itself_is_left_to_it():
    """innodb_dedicated_server elsewhere decides pool, log and flush method, as far as nobody asks for something else."""
    others = elsewhere(innodb_dedicated_server="ON")
    plan = plan_options(engine_of("mysql 8.0.40"), {**FACTS, "set_elsewhere": others}, {})
    assert [choice.name for choice in plan.choices] == ["innodb_page_size", "innodb_doublewrite"]
    place = "/etc/my.cnf:2 sets innodb_dedicated_server=ON, which stays; without that line it would be"
    assert [str(conflict) for conflict in plan.conflicts] == [
        f"{place} innodb_buffer_pool_size=8G",
        f"{place} innodb_flush_method=O_DIRECT",
        f"{place} innodb_redo_log_capacity=2G",
    ]
    wishes = {"buffer_pool_size": "4G", "log_size": "1G", "flush_method": "fsync"}
    asked = plan_options(engine_of("mysql 8.0.40"), {**FACTS, "set_elsewhere": others}, wishes)
    assert {choice.name: choice.value for choice in asked.choices if choice.name not in ("innodb_page_size", "innodb_doublewrite")} == {
        "innodb_buffer_pool_size": "4G",
        "innodb_buffer_pool_instances": "4",
        "innodb_flush_method": "fsync",
        "innodb_redo_log_capacity": "1G",
    }
    assert "innodb_buffer_pool_size" in chosen(engine=engine_of("mysql 8.0.40"), set_elsewhere=elsewhere(innodb_dedicated_server="OFF"))
    assert "innodb_buffer_pool_size" not in chosen({"extra": {"innodb_dedicated_server": True}}, engine_of("mysql 8.0.40"))


def test_every_choice_has_a_reason():
    facts = {**FACTS, "datadir_is_mount_point": True, "physical_sector_bytes": 4096, "numa_nodes": 2, "atomic_write_unit_bytes": 65536}
    for server in ("mariadb 10.5.23", "mariadb 11.8.9", "mysql 5.6.24", "mysql 9.7.4", "percona 5.5.62"):
        for storage in ("flash", "rotating"):
            for choice in choose(engine_of(server), {**facts, "storage": storage}, {"extra": {"x": 1}}):
                assert choice.reason.endswith(".") and "\n" not in choice.reason


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
    "storage": {"datadir": {"rotational": False, "physical_sector_bytes": 4096, "total_bytes": 500 * GIB}},
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
        "storage": "flash",
        "physical_sector_bytes": 4096,
        "atomic_write_unit_bytes": None,
        "total_bytes": 500 * GIB,
        "numa_nodes": None,
        "datadir_is_mount_point": True,
        "set_elsewhere": {"innodb_io_capacity": INFO["settings"][1]},
    }


@pytest.mark.parametrize(
    "datadir, expected",
    [
        ({"kind": "nvme", "rotational": None}, "flash"),
        ({"kind": "ssd"}, "flash"),
        ({"kind": "hdd", "rotational": True}, "rotating"),
        # Virtual disks say that they rotate.
        ({"kind": "virtual", "rotational": True}, None),
        ({"kind": "unknown", "rotational": False}, "flash"),
        ({"rotational": True}, None),
        ({}, None),
    ],
)
def test_kind_of_storage(datadir, expected):
    assert facts_of({**INFO, "storage": {"datadir": datadir}}, "8k")["storage"] == expected


def test_the_filter_gives_lines_and_reasons():
    lines = [option["line"] for option in server_options(INFO, 8192)]
    assert lines[:4] == ["innodb_page_size=8k", "innodb_buffer_pool_size=8G", "innodb_flush_method=O_DIRECT", "innodb_flush_neighbors=0"]


def test_the_filter_names_conflicts():
    (conflict,) = option_conflicts(INFO, 8192, {"io_capacity": 700})
    assert conflict["message"].startswith("/etc/mysql/conf.d/50-server.cnf:9 sets innodb_io_capacity=900") and not conflict["kept"]


@pytest.mark.parametrize("filter_of_ours", [server_options, option_conflicts])
def test_the_filters_tell_what_is_wrong(filter_of_ours):
    with pytest.raises(AnsibleFilterError, match="no InnoDB page size"):
        filter_of_ours(INFO, "9k")

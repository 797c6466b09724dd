# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Comparing an option file with a server's values and log."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_file import Options, Setting, read_options
from ansible_collections.pagesmith.innodb.plugins.module_utils.server_config import (
    Mismatch,
    asked_for,
    compare,
    complaints,
    equal,
    mirror,
    read_back,
)

GROUPS = ["mysqld", "mariadb"]


@pytest.mark.parametrize(
    "asked, actual",
    [
        ("8k", "8192"),
        ("12G", "12884901888"),
        ("1", "ON"),
        ("on", "ON"),
        ("FALSE", "OFF"),
        ("o_direct", "O_DIRECT"),
        ("0.5", "0.500000"),
        ("75", "75.000000"),
        ("/srv/x", "/srv/x/"),
        ("", ""),
        (".a", ".a,lost+found"),
        ("TRADITIONAL", "STRICT_TRANS_TABLES,TRADITIONAL"),
        ("mysql-bin", "ON"),
    ],
)
def test_spellings_of_one_value(asked, actual):
    assert equal(asked, actual)


@pytest.mark.parametrize(
    "asked, actual",
    [("8k", "16384"), ("ON", "OFF"), ("0", "ON"), ("2", "ON"), ("O_DIRECT", "fsync"), ("c", "a,b"), ("", "x"), ("a", ""), ("0.5", "0.6")],
)
def test_different_values(asked, actual):
    assert not equal(asked, actual)


def test_the_last_line_of_an_option_is_asked_for_but_all_of_a_list():
    content = "[mysqld]\na=1\nignore_db_dirs=x\n[client]\nb=1\n[mariadb]\na=2\nignore-db-dirs=y\n"
    assert [(setting.name, setting.value) for setting in asked_for(content, GROUPS)] == [
        ("ignore_db_dirs", "x"),
        ("a", "2"),
        ("ignore_db_dirs", "y"),
    ]


def test_a_drop_in_includes_nothing():
    with pytest.raises(InnodbError, match="stand alone"):
        asked_for("!includedir /etc\n", GROUPS)


def settings(**values) -> list[Setting]:
    return [Setting(name, value, "", number) for number, (name, value) in enumerate(values.items(), 1)]


def test_what_the_server_adjusted_is_told():
    (mismatch,) = compare(settings(innodb_io_capacity="5000", unknown="1"), {"innodb_io_capacity": "3000"})
    assert str(mismatch) == "innodb_io_capacity=5000 was adjusted to 3000" and not mismatch.rounded


def test_what_the_server_has_otherwise_is_told():
    assert str(Mismatch("innodb_flush_method", "fsync", "O_DIRECT")) == "innodb_flush_method=fsync is in truth O_DIRECT"


@pytest.mark.parametrize(
    "asked, actual, chunk, instances, rounded",
    [
        ("1000M", "1073741824", "134217728", "1", True),
        ("1500M", "2147483648", "134217728", "8", True),
        ("100500K", "102760448", "0", None, True),
        ("1000M", "134217728", "134217728", "1", False),
    ],
)
def test_a_buffer_pool_is_rounded_by_the_step_of_the_server(asked, actual, chunk, instances, rounded):
    variables = {
        "innodb_buffer_pool_size": actual,
        "innodb_buffer_pool_chunk_size": chunk,
        **({"innodb_buffer_pool_instances": instances} if instances else {}),
    }
    (mismatch,) = compare(settings(innodb_buffer_pool_size=asked), variables)
    assert mismatch.rounded is rounded


class Session:
    """A server with these variables."""

    def __init__(self, **values: str) -> None:
        self.values = values

    def variables(self, *names: str) -> dict:
        return {name: value for name, value in self.values.items() if name in names}


def test_values_are_read_back_from_the_server():
    session = Session(innodb_page_size="8192", innodb_io_capacity="200", innodb_flush_neighbors="0")
    content = "[mysqld]\ninnodb_page_size=8k\nloose-innodb-io-capacity=2000\n[client]\ninnodb_flush_neighbors=1\n"
    assert read_back(session, content, GROUPS) == [Mismatch("innodb_io_capacity", "2000", "200")]


LOG = """\
2026-11-30 16:02:45 0 [Warning] Could not increase number of max_open_files to more than 20000 (request: 32184)
2026-11-30 16:02:45 0 [Note] InnoDB: innodb_buffer_pool_size_max=8388608m, innodb_buffer_pool_size=100m
2026-11-30 16:02:45 0 [Warning] InnoDB: innodb_io_capacity cannot be set higher than innodb_io_capacity_max.Setting innodb_io_capacity=3000
2026-11-30 16:02:45 0 [Warning] option 'innodb-flush-neighbors': unsigned value 7 adjusted to 2
2026-11-30 16:02:45 0 [Warning] option 'innodb-flush-neighbors': unsigned value 7 adjusted to 2
2026-11-30 16:02:45 0 [Warning] mariadbd: unknown variable 'loose_foo=1'
2026-11-30T16:02:45.1Z 0 [Warning] [MY-011069] [Server] The syntax '--bar-baz' is deprecated
2026-11-30 16:02:45 0 [Warning] 'innodb-page-cleaners' was removed. It does nothing now
2026-11-30 16:02:45 0 [Warning] 'proxies_priv' entry '@% root@vm' ignored in --skip-name-resolve mode.
2026-11-30T20:52:01.1Z 1 [Warning] [MY-015026] [InnoDB] innodb-page-size has been changed from the default value 16384 to 4096.
2026-12-01T03:59:25.3Z 0 [Warning] [MY-012358] [InnoDB] Option innodb_dedicated_server is ignored for innodb_redo_log_capacity because ...
"""


@pytest.mark.parametrize(
    "name, expected",
    [
        ("innodb_buffer_pool_size", []),
        ("innodb_io", []),
        ("skip_name_resolve", []),
        ("innodb_page_size", []),
        ("innodb_redo_log_capacity", []),
        ("innodb_flush_neighbors", ["option 'innodb-flush-neighbors': unsigned value 7 adjusted to 2"]),
        ("foo", ["mariadbd: unknown variable 'loose_foo=1'"]),
        ("bar_baz", ["The syntax '--bar-baz' is deprecated"]),
        ("innodb_page_cleaners", ["'innodb-page-cleaners' was removed. It does nothing now"]),
    ],
)
def test_lines_that_find_fault_with_our_options(name, expected):
    assert complaints(LOG, [name]) == expected


def test_a_mirror_reads_like_the_original_with_our_file_in_its_place(tmp_path):
    conf, extra = tmp_path / "conf.d", tmp_path / "extra.cnf"
    conf.mkdir()
    drop_in = conf / "zz-pagesmith.cnf"
    root = tmp_path / "my.cnf"
    root.write_text(f"[mysqld]\na=1\n  !include {extra}\n!includedir {conf}/\n[mysqld]\ne=1\n")
    extra.write_text("[mysqld]\nb=1\n")
    (conf / "50.cnf").write_text("[mysqld]\nc=1\n")
    drop_in.write_text("[mysqld]\nold=1\n")
    drop_in.chmod(0o600)
    options = options_of(root)

    copy = mirror(options, str(drop_in), "[mysqld]\nd=1\n", str(tmp_path / "copy"))
    found = options_of(copy)
    assert [(setting.name, setting.value) for setting in found.settings] == [("a", "1"), ("b", "1"), ("c", "1"), ("d", "1"), ("e", "1")]
    assert all(setting.file.startswith(str(tmp_path / "copy")) for setting in found.settings)


def test_a_mirror_without_a_place_reads_our_file_last(tmp_path):
    root = tmp_path / "my.cnf"
    root.write_text("[mysqld]\na=1\n")
    copy = mirror(options_of(root), None, "[mysqld]\na=2\n", str(tmp_path / "copy"))
    assert [setting.value for setting in options_of(copy).settings] == ["1", "2"]


HELP = """\
Default options are read from the following files in the given order:
/etc/my.cnf
The following groups are read: mysqld
Variables (--variable-name=value)
----------------- ---------------
datadir           /d

"""


def options_of(path) -> Options:
    """The options as the product reads them, with a server program that is not there."""
    return read_options(lambda _command: (0, HELP, ""), "mariadbd", str(path), None, [])

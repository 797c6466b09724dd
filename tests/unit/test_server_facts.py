# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Where settings come from, and whether all agree on the page size."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.option_file import Options, Setting
from ansible_collections.pagesmith.innodb.plugins.module_utils.server_facts import (
    COMMAND_LINE_TITLE,
    RUN_TIME,
    asked_page_size,
    origins,
    page_size_notes,
)

FILE = "/etc/mysql/conf.d/a.cnf"
LATER = "/etc/mysql/conf.d/z.cnf"
LINES = [Setting("innodb_io_capacity", "100", FILE, 3), Setting("innodb_io_capacity", "200", LATER, 7)]


def options(value: str | None = "16384", lines: list[Setting] | None = None, arguments: dict | None = None) -> Options:
    return Options({"innodb_page_size": value}, settings=lines or [], arguments=arguments or {})


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (("CONFIG", LATER), {"file": LATER, "line": 7}),
        (("CONFIG", None), {"file": LATER, "line": 7}),
        (("GLOBAL", LATER), {"file": LATER, "line": 7}),
        (("CONFIG", "/gone.cnf"), {"file": "/gone.cnf", "line": None}),
        (("PERSISTED", "/var/lib/mysql/mysqld-auto.cnf"), {"file": "/var/lib/mysql/mysqld-auto.cnf", "line": None}),
        (("SQL", None), {"file": None, "line": None, "place": RUN_TIME}),
        (("DYNAMIC", None), {"file": None, "line": None, "place": RUN_TIME}),
        (("COMMAND-LINE", None), {"file": None, "line": None, "place": COMMAND_LINE_TITLE}),
        (("COMPILE-TIME", None), {"default": True}),
        (("AUTO", None), {"default": True}),
    ],
)
def test_origins_of_a_running_server(told, expected):
    found = origins({"innodb_io_capacity": "200"}, options(lines=LINES), {"innodb_io_capacity": told})
    assert found == {"innodb_io_capacity": {"value": "200", **expected}}


def test_origins_from_option_files_alone():
    found = origins(
        {"innodb_io_capacity": "200", "innodb_page_size": "8192", "innodb_flush_method": "O_DIRECT"},
        options(lines=LINES, arguments={"innodb_page_size": "8k"}),
    )
    assert found == {
        "innodb_io_capacity": {"value": "200", "file": LATER, "line": 7},
        "innodb_page_size": {"value": "8192", "file": None, "line": None, "place": COMMAND_LINE_TITLE},
        "innodb_flush_method": {"value": "O_DIRECT", "default": True},
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (options("8192"), 8192),
        (options("8k"), 8192),
        (options(None), 16384),
        (options("6000"), None),
        (options("16384", arguments={"innodb_page_size": "4k"}), 4096),
    ],
)
def test_the_page_size_that_a_start_would_use(given, expected):
    assert asked_page_size(given) == expected


ASKS_FOR_8K = options("8192", [Setting("innodb_page_size", "8k", FILE, 2)])


@pytest.mark.parametrize(
    ("given", "files", "server", "words"),
    [
        (options(), 16384, 16384, []),
        (options(), 16384, None, []),
        (ASKS_FOR_8K, 8192, 8192, []),
        (ASKS_FOR_8K, 16384, 16384, [f"{FILE} line 2 asks for 8192 bytes, the data directory has 16384"]),
        (ASKS_FOR_8K, 16384, None, ["the server will not start"]),
        (options(), 8192, 8192, ["the default, which no option file changes, asks for 16384"]),
        (options(), 16384, 8192, ["which files it uses is not clear", "asks for 16384 bytes, the data directory has 8192"]),
        (options(), None, None, ["missing or not understood"]),
        (options("6000"), 16384, 16384, ["which is no page size"]),
    ],
)
def test_what_does_not_agree_is_said(given, files, server, words):
    notes = page_size_notes(given, files, server, server is None)
    assert len(notes) == len(words)
    assert all(word in note for word, note in zip(words, notes))

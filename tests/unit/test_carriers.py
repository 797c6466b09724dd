# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which tables go as the files of a MyISAM table: those that are known to come back the same, and are worth it."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.carriers import (
    BINARY,
    BINARY_BELOW_BYTES,
    BINARY_FROM_BYTES,
    TEXT,
    carrier_of,
    writer_for,
)
from ansible_collections.pagesmith.innodb.plugins.module_utils.engines import Engine
from ansible_collections.pagesmith.innodb.plugins.module_utils.tables import TIMESTAMP, Column, Table

MARIADB = Engine("mariadb", (10, 11, 0), "")
MYSQL = Engine("mysql", (9, 7, 0), "")
COLUMNS = (Column("id", "int"), Column("v", "varchar", wide_text=True))


def table(schema: str = "app", engine: str = "InnoDB", columns: tuple = COLUMNS, size_bytes: int = BINARY_FROM_BYTES, **more) -> Table:
    return Table(schema, "t", engine, "rows", columns, size_bytes=size_bytes, **more)


@pytest.mark.parametrize(
    ("given", "server", "carrier"),
    [
        pytest.param(table(), MARIADB, BINARY, id="known types"),
        pytest.param(table(columns=(*COLUMNS, Column("g", "xmltype", generated=True))), MARIADB, BINARY, id="computed, so not carried"),
        pytest.param(table(size_bytes=BINARY_FROM_BYTES - 1), MARIADB, TEXT, id="small"),
        pytest.param(table(size_bytes=BINARY_BELOW_BYTES - 1), MARIADB, BINARY, id="still put in order"),
        pytest.param(table(size_bytes=BINARY_BELOW_BYTES), MARIADB, TEXT, id="too large to be put in order"),
        pytest.param(table(compressed=True), MARIADB, TEXT, id="of unknown size"),
        pytest.param(table(columns=(*COLUMNS, Column("x", "xmltype"))), MARIADB, TEXT, id="a type nobody tried"),
        pytest.param(table(engine="Aria"), MARIADB, TEXT, id="another engine"),
        pytest.param(table(schema="mysql"), MARIADB, TEXT, id="the server's own"),
        pytest.param(table(versioning=TIMESTAMP), MARIADB, TEXT, id="history"),
        pytest.param(table(), MYSQL, TEXT, id="MySQL"),
    ],
)
def test_carrier_of(given, server, carrier):
    assert carrier_of(given, server) == carrier


@pytest.mark.parametrize(("temporary", "names"), [("/run/tmp", ("000007.MYD", "000007.MYI")), (None, ("000007.rows",))])
def test_a_server_that_others_use_makes_no_tables(temporary, names):
    assert writer_for(table(), MARIADB, "/dump", 7, temporary).names == names


def test_nothing_is_written_without_a_column():
    assert writer_for(table(columns=(Column("g", "int", generated=True),)), MARIADB, "/dump", 7, "/run/tmp") is None

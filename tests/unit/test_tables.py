# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Statements that write, read and digest the rows of a table, for every type that needs care."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import digest
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.tables import (
    TIMESTAMP,
    TRANSACTION,
    Column,
    Table,
    digest_statement,
    dump_statement,
    load_statement,
)

PERIOD = (Column("since", "timestamp", period="START"), Column("until", "timestamp", period="END"))


def table(*columns: Column, engine: str = "InnoDB", **more) -> Table:
    return Table("app", "t", engine, "rows", columns or (Column("id", "int"),), **more)


@pytest.mark.parametrize(
    ("column", "expression"),
    [
        (Column("c", "int"), "`c`"),
        (Column("c", "varchar"), "`c`"),
        (Column("c", "double"), "`c`"),
        (Column("c", "blob"), "`c`"),
        (Column("c", "enum"), "`c`+0"),
        (Column("c", "set"), "`c`+0"),
        (Column("c", "float"), "`c`+0e0"),
        (Column("c", "bit"), "CONCAT(`c`)"),
        (Column("c", "uuid"), "CAST(`c` AS BINARY(16))"),
        (Column("c", "inet6"), "CAST(`c` AS BINARY(16))"),
        (Column("c", "inet4"), "CAST(`c` AS BINARY(4))"),
        (Column("c", "varchar", wide_text=True), "CAST(`c` AS BINARY)"),
        (Column("we`ird name", "enum"), "`we``ird name`+0"),
        (Column("{column}", "float"), "`{column}`+0e0"),
    ],
    ids=str,
)
def test_expression_of_a_column(column, expression):
    assert column.expression == expression
    dumped = dump_statement(table(column), "/d/f")
    assert dumped == f"SELECT {expression} INTO OUTFILE '/d/f' CHARACTER SET binary FROM `app`.`t`"
    assert f"LENGTH(CAST({expression} AS BINARY))" in digest_statement(table(column))


def test_load_reads_values_straight_into_the_columns():
    columns = (Column("id", "int"), Column("f", "float"), Column("u", "uuid"))
    assert load_statement(table(*columns), "/d/f") == "LOAD DATA INFILE '/d/f' INTO TABLE `app`.`t` CHARACTER SET binary (`id`, `f`, `u`)"


def test_load_reads_enum_and_set_as_numbers():
    columns = (Column("id", "int"), Column("e", "enum"), Column("s`", "set"), Column("x", "int"))
    assert load_statement(table(*columns), "/d/f") == (
        "LOAD DATA INFILE '/d/f' INTO TABLE `app`.`t` CHARACTER SET binary (`id`, @v1, @v2, `x`)"
        " SET `e`=CAST(@v1 AS UNSIGNED), `s```=CAST(@v2 AS UNSIGNED)"
    )


def test_names_are_quoted():
    odd = Table("a`b", "select * from", "InnoDB", "rows", (Column("id", "int"),))
    assert odd.sql == "`a``b`.`select * from`"
    for statement in (dump_statement(odd, "/d/f"), load_statement(odd, "/d/f"), digest_statement(odd)):
        assert odd.sql in statement


@pytest.mark.parametrize("path", ["/d/it's", "/d/a\\b", "/d/a\nb"])
@pytest.mark.parametrize("statement", [dump_statement, load_statement])
def test_paths_that_would_end_the_literal_are_refused(statement, path):
    with pytest.raises(InnodbError, match="has a character that can't be used"):
        statement(table(), path)


@pytest.mark.parametrize(
    ("changes", "columns"),
    [
        pytest.param({}, ["id", "name"], id="current rows only"),
        pytest.param({"versioning": TIMESTAMP}, ["id", "name"], id="history not loadable"),
        pytest.param({"versioning": TIMESTAMP, "carry_history": True}, ["id", "name", "since", "until"], id="history"),
        pytest.param({"versioning": TRANSACTION}, ["id", "name"], id="transactions"),
    ],
)
def test_carried_columns_of_a_versioned_table(changes, columns):
    # The period stands before a column here, as it may in a real table.
    found = table(Column("id", "int"), *PERIOD, Column("name", "text"), Column("twice", "int", generated=True), **changes)
    assert [column.name for column in found.carried_columns()] == columns
    names = ", ".join(f"`{name}`" for name in columns)
    assert dump_statement(found, "/d/f").startswith(f"SELECT {names} INTO OUTFILE")
    assert load_statement(found, "/d/f").endswith(f"({names})")
    assert digest_statement(found).count("IFNULL") == len(columns)
    assert "twice" not in digest_statement(found)


def test_history_of_implicit_periods():
    found = table(versioning=TIMESTAMP, carry_history=True)
    assert dump_statement(found, "/d/f") == (
        "SELECT `id`, `row_start`, `row_end` INTO OUTFILE '/d/f' CHARACTER SET binary FROM `app`.`t` FOR SYSTEM_TIME ALL"
    )
    assert load_statement(found, "/d/f").endswith("INTO TABLE `app`.`t` CHARACTER SET binary (`id`, `row_start`, `row_end`)")
    assert digest_statement(found).endswith("FROM `app`.`t` FOR SYSTEM_TIME ALL")


@pytest.mark.parametrize(
    ("found", "source"),
    [
        (table(), "`app`.`t`"),
        (table(primary_key=True), "`app`.`t` FORCE INDEX (PRIMARY)"),
        (table(primary_key=True, engine="MyISAM"), "`app`.`t`"),
        (table(primary_key=True, versioning=TIMESTAMP), "`app`.`t` FORCE INDEX (PRIMARY)"),
        (table(primary_key=True, versioning=TIMESTAMP, carry_history=True), "`app`.`t` FOR SYSTEM_TIME ALL"),
    ],
    ids=range(5),
)
def test_source(found, source):
    assert found.source == source


def test_digest_of_a_row_tells_null_from_empty_and_keeps_lengths():
    assert digest_statement(table(Column("a", "int"), Column("b", "text"))) == (
        "SELECT COUNT(*) n, SUM(CAST(CONV(LEFT(MD5(CONCAT("
        "IFNULL(CONCAT(LENGTH(CAST(`a` AS BINARY)),':',CAST(`a` AS BINARY)),'N'),"
        "IFNULL(CONCAT(LENGTH(CAST(`b` AS BINARY)),':',CAST(`b` AS BINARY)),'N')"
        ")),16),16,10) AS UNSIGNED)) s FROM `app`.`t`"
    )


@pytest.mark.parametrize("wanted", digest.METHODS)
def test_history_is_digested_by_its_rows(wanted):
    assert digest.method_for(table(), wanted) == wanted
    assert digest.method_for(table(versioning=TIMESTAMP), wanted) == digest.MD5


def test_tables_with_content_are_those_whose_rows_are_carried():
    kinds = [Table("app", kind, "x", kind) for kind in ("rows", "volatile", "definition", "files", "unknown")]
    sequence = Table("app", "s", "InnoDB", "rows", sequence=True)
    assert [found.name for found in digest.with_content([*kinds, sequence])] == ["rows"]

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Statements out of logs, and which of them are replayed."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.replay_statements import (
    Statement,
    choose,
    kind_of,
    parse_log,
    plain,
    why_not,
    written,
)

GENERAL_MARIADB = """/usr/sbin/mariadbd, Version: 10.11.19-MariaDB (Debian 12). started with:
Tcp port: 0  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
261130 22:39:39\t     8 Connect\troot@localhost on shop using Socket
\t\t     8 Query\tSELECT name
FROM customer
WHERE id = 7
261130 22:39:40\t     9 Connect\tapp@localhost on  using Socket
\t\t     9 Query\tSET NAMES utf8mb4
\t\t     9 Init DB\tother
\t\t     9 Query\tSELECT 'a;b' FROM t
\t\t     8 Execute\tSELECT 1 FROM item WHERE id = 3
\t\t     8 Quit\t
"""
GENERAL_MYSQL = """2026-11-30T22:39:39.123456Z\t    8 Connect\troot@localhost on shop using Socket
2026-11-30T22:39:39.123500Z\t    8 Query\tUSE depot
2026-11-30T22:39:39.123510Z\t    8 Query\tSELECT * FROM stock
"""
SLOW_MARIADB = """/usr/sbin/mariadbd, Version: 10.11.19-MariaDB. started with:
Tcp port: 0  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
# Time: 261130 22:39:39
# User@Host: root[root] @ localhost []
# Thread_id: 8  Schema: shop  QC_hit: No
# Query_time: 0.000150  Lock_time: 0.000060  Rows_sent: 1  Rows_examined: 1
use shop;
SET timestamp=1796078379;
SELECT name FROM customer
WHERE id = 7;
# User@Host: root[root] @ localhost []
# Thread_id: 8  Schema:   QC_hit: No
SET timestamp=1796078380;
UPDATE customer SET name = 'x' WHERE id = 7;
"""
SLOW_MYSQL = """# Time: 2026-11-30T22:39:39.000000Z
# User@Host: root[root] @ localhost []  Id:     8
# Query_time: 0.000150  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 1
use depot;
SET timestamp=1796078379;
SELECT * FROM stock;
"""


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (
            GENERAL_MARIADB,
            [
                ("shop", "SELECT name\nFROM customer\nWHERE id = 7"),
                ("", "SET NAMES utf8mb4"),
                ("other", "SELECT 'a;b' FROM t"),
                ("shop", "SELECT 1 FROM item WHERE id = 3"),
            ],
        ),
        (GENERAL_MYSQL, [("depot", "SELECT * FROM stock")]),
        (
            SLOW_MARIADB,
            [("shop", "SELECT name FROM customer\nWHERE id = 7"), ("shop", "UPDATE customer SET name = 'x' WHERE id = 7")],
        ),
        (SLOW_MYSQL, [("depot", "SELECT * FROM stock")]),
        ("", []),
    ],
)
def test_logs(log, expected):
    found = [(each.schema, each.sql) for each in parse_log(log)]
    assert [each for each in found if each[1].startswith(("SELECT", "UPDATE", "SET NAMES"))] == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t",
        "(SELECT a FROM t) UNION (SELECT b FROM u)",
        "/* app */ select a from t where b = 'INTO OUTFILE; FOR UPDATE'",
        "WITH x AS (SELECT 1 AS a FROM t) SELECT * FROM x",
        "SELECT a -- INTO\n FROM t",
    ],
)
def test_statements_that_read(sql):
    assert why_not(Statement("", sql)) is None


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE t SET a = (SELECT 1 FROM u)",
        "INSERT INTO t SELECT * FROM u",
        "WITH x AS (SELECT 1 AS a FROM t) DELETE FROM t",
        "SELECT 1",
        "SELECT @@version",
        "SELECT a FROM t FOR UPDATE",
        "SELECT a FROM t LOCK IN SHARE MODE",
        "SELECT a INTO OUTFILE '/tmp/x' FROM t",
        "SELECT a INTO @b FROM t",
        "SELECT SLEEP(1) FROM t",
        "SELECT GET_LOCK ('a', 1) FROM t",
        "SELECT NEXTVAL(s) FROM t",
        "SELECT NEXT VALUE FOR s FROM t",
        "SELECT @a := a FROM t",
        "SELECT a FROM t; DROP TABLE t",
        "SELECT a FROM t /*! INTO OUTFILE '/tmp/x' */",
        "SELECT user FROM mysql.user",
        "SELECT * FROM `information_schema`.`tables`",
        "SELECT a FROM t WHERE b IN (1, 2, 3...",
        "CALL p()",
    ],
)
def test_statements_that_do_more(sql):
    assert why_not(Statement("", sql))


def test_words_in_texts_and_comments_do_not_count():
    assert plain("SELECT 'it''s' /* x */, \"a\\\"b\" # end\nFROM t") == "SELECT ''  , ''  \nFROM t"


def test_kinds():
    one, other = "SELECT a FROM t WHERE b = 'x' AND c IN (1, 2,3)", "SELECT  a FROM t\nWHERE b = 'yy' AND c IN (7,8)"
    assert kind_of(one) == kind_of(other) == "SELECT a FROM t WHERE b = ? AND c IN (?, ...)"
    assert "secret" not in kind_of("SELECT a FROM t WHERE b = 'secret' OR c = \"secret\"")


def test_choice_keeps_the_kinds_as_frequent_as_they_were():
    often = [Statement("s", f"SELECT a FROM t WHERE b = {number}") for number in range(90)]
    seldom = [Statement("s", "SELECT c FROM u")] * 10
    rare = [Statement("s", "SELECT d FROM v")]
    found = choose([*often, *seldom, *rare, Statement("s", "COMMIT")], limit_of_kind=3, limit_of_kinds=2)
    weights = {}
    for each in found.statements:
        weights[kind_of(each.sql)] = weights.get(kind_of(each.sql), 0) + each.weight
    assert weights["SELECT a FROM t WHERE b = ?"] == 90 and weights["SELECT c FROM u"] in range(9, 13)
    assert len(found.statements) == 6 and found.kinds[0] == ("SELECT a FROM t WHERE b = ?", 90)
    assert found.left_out == {"it is no question for rows of a table": 1, "its kind is rare": 1}


def test_the_file_for_the_script_holds_any_bytes_on_one_line():
    text = written([Statement("a`b", "SELECT 'x\n\udcff' FROM t", 3)])
    schema, weight, sql = text.split()
    assert bytes.fromhex(schema) == b"a`b" and weight == "3" and bytes.fromhex(sql) == b"SELECT 'x\n\xff' FROM t"

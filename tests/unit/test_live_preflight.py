# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What stands against the strategies that keep the server running."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.engines import Engine
from ansible_collections.pagesmith.innodb.plugins.module_utils.facts import Facts, ServerFacts
from ansible_collections.pagesmith.innodb.plugins.module_utils.instance import Instance
from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import Layout
from ansible_collections.pagesmith.innodb.plugins.module_utils.live_preflight import find_blockers
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_file import Options
from ansible_collections.pagesmith.innodb.plugins.module_utils.service import OwnProcess
from ansible_collections.pagesmith.innodb.plugins.module_utils.strategies import DUMP_RESTORE, LIVE, SIDE_BY_SIDE, STEPS
from ansible_collections.pagesmith.innodb.plugins.module_utils.tables import Table

MARIADB = Engine("mariadb", (10, 11, 19), "")
MYSQL = Engine("mysql", (9, 7, 0), "")
VARIABLES = {"log_bin": "ON", "binlog_format": "ROW", "secure_file_priv": "", "encrypt_binlog": "OFF"}
TABLES = (
    Table("app", "t", "InnoDB", "rows"),
    Table("app", "s", "InnoDB", "rows", sequence=True),
    Table("mysql", "global_priv", "Aria", "rows"),
    Table("sys", "sys_config", "Aria", "rows"),
)


def facts(
    engine: Engine = MARIADB, tables: list[Table] = TABLES, external: tuple = (), binlog: str | None = "/d/binlog", **variables
) -> Facts:
    instance = Instance(engine, "/m", None, None, (), Options({}), "/d", "/d/s", OwnProcess(["/m"], "/d", "/dev/null"))
    layout = replace(Layout("/d", "/d", False), binlog=binlog, external=list(external))
    return Facts(instance, True, 16384, layout, {}, {}, ServerFacts(variables={**VARIABLES, **variables}, tables=list(tables)))


def ids(found: Facts, strategy: str = LIVE) -> list[str]:
    return [blocker.id for blocker in find_blockers(found, strategy)]


@pytest.mark.parametrize("strategy", STEPS)
@pytest.mark.parametrize("engine", [MARIADB, MYSQL])
def test_nothing_stands_against_a_plain_server(strategy, engine):
    assert ids(facts(engine), strategy) == []


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (facts(log_bin="OFF"), ["log_bin"]),
        (facts(binlog=None), ["log_bin"]),
        (facts(binlog_format="MIXED"), []),
        (facts(binlog_format="STATEMENT"), ["live binlog_format"]),
        (facts(encrypt_binlog="ON"), ["live encrypt_binlog"]),
        (facts(wsrep_on="ON"), ["live wsrep_on"]),
        (facts(MYSQL, binlog_encryption="ON"), ["live binlog_encryption"]),
        (facts(MYSQL, binlog_transaction_compression="ON"), ["live binlog_transaction_compression"]),
        (facts(MYSQL, secure_file_priv="NULL"), ["live secure_file_priv"]),
        (facts(MYSQL, secure_file_priv="/var/lib/mysql-files/"), []),
        (facts(tables=[*TABLES, Table("app", "m", "MyISAM", "rows")]), ["live engine of app.m"]),
        (facts(tables=[*TABLES, Table("app", "f", "FEDERATED", "definition")]), ["live engine of app.f"]),
        (facts(external=("/e/t.ibd",)), ["live external /e/t.ibd"]),
    ],
)
def test_what_stands_against_following(found, expected):
    assert ids(found) == expected


def test_a_server_that_is_held_still_needs_no_binary_log():
    found = facts(log_bin="OFF", binlog=None, tables=[*TABLES, Table("app", "m", "MyISAM", "rows")], external=("/e/t.ibd",))
    assert ids(found, SIDE_BY_SIDE) == ["live external /e/t.ibd"]
    assert ids(found, DUMP_RESTORE) == []


def test_a_server_that_is_down_says_nothing():
    assert find_blockers(replace(facts(), server=None), LIVE) == []


@pytest.mark.parametrize("strategy", STEPS)
def test_every_strategy_has_the_steps_that_the_journal_goes_by(strategy):
    names = [name for name, _step, _text in STEPS[strategy]]
    assert len(set(names)) == len(names)
    assert names.index("build") < names.index("fence") < names.index("swap") < names.index("open") < names.index("finish")

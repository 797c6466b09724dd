# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Clients with all privileges write while the migration runs: whatever was acknowledged to them is there afterwards, once."""

from __future__ import annotations

import pytest
from harness import Sandbox
from writers import load

WRITERS = 40
BINARY_LOG = {"log_bin": "binlog", "server_id": "5", "binlog_format": "ROW"}
WAYS = [
    pytest.param("dump_restore", {}, id="dump_restore"),
    pytest.param("side_by_side", {}, id="side_by_side without a binary log"),
    pytest.param("side_by_side", BINARY_LOG, id="side_by_side"),
    pytest.param("live", BINARY_LOG, id="live"),
    pytest.param("live", {**BINARY_LOG, "binlog_format": "MIXED", "gtid_strict_mode": "1"}, id="live with statements in the log"),
]


@pytest.mark.parametrize(("strategy", "settings"), WAYS)
def test_nothing_acknowledged_is_lost(strategy: str, settings: dict) -> None:
    with Sandbox(settings=settings) as server:
        with load(server, WRITERS) as clients:
            result = server.migrate("8k", strategy=strategy)
            clients.wait_for_more()
        assert result["outcome"] == "migrated" and server.page_size() == 8192
        clients.check()
        assert all(writer.refused for writer in clients.writers), "the fence was closed for everybody"

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every step of the strategy live is cut short: clients are never worse off than before, and the next runs end with all data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from disks import FILLER, small_disk
from harness import Sandbox
from patient import Patient, moments

from ansible_collections.pagesmith.innodb.plugins.module_utils.strategies import BACK, LIVE, steps_of

NAMES = [name for name, _step, _text in steps_of(LIVE)]
RUNNING = NAMES[: NAMES.index("fence")]
OPENED = NAMES[NAMES.index("open") :]
BACK_NAMES = [name for name, _step, _text in steps_of(BACK)]
DISK_BYTES = 6 << 30
#: What is set in the running server before it is to be stopped.
EAGER = "SELECT @@innodb_max_dirty_pages_pct, @@innodb_max_dirty_pages_pct_lwm, @@innodb_io_capacity, @@innodb_buffer_pool_dump_at_shutdown"
SETTINGS = {"log_bin": "binlog", "server_id": "5", "binlog_format": "ROW"}


@pytest.fixture(scope="module")
def patient() -> Iterator[Patient]:
    with ExitStack() as stack:
        base = stack.enter_context(small_disk(DISK_BYTES))
        patient = Patient(stack.enter_context(Sandbox(base=base, settings=SETTINGS)), LIVE)
        patient.learn()
        patient.forget()
        yield patient


@pytest.fixture(scope="module")
def way_back(patient: Patient) -> dict[str, int]:
    return patient.learn_way_back()


def end_well(patient: Patient, size: str) -> None:
    """The next run goes on or ends what was cut short; if that, the one after it migrates."""
    done = patient.ask("migrate", size=size)
    if done["outcome"] == "rolled_back":
        assert "cut short" in done["message"], done
        assert patient.server.answers()
        done = patient.ask("migrate", size=size)
    assert done["outcome"] == "migrated", done
    patient.check(size)
    patient.forget()


@pytest.mark.parametrize("step", NAMES)
def test_killed(patient: Patient, step: str) -> None:
    for moment in patient.moments(step):
        size = patient.other_size()
        killed = patient.ask("migrate", size=size, fault={"kind": "kill", "step": step, "moment": moment})
        assert killed is None, f"not killed at {moment} of {step}: {killed}"
        patient.wait_for_end_of_private_servers(f"{step} {moment}")
        if step in RUNNING:
            patient.server.sql("UPDATE shop.audit SET what=what")
        end_well(patient, size)


@pytest.mark.parametrize("step", NAMES)
def test_rollback_after_a_kill(patient: Patient, step: str) -> None:
    before = f"{patient.server.page_size() // 1024}k"
    settings = patient.server.sql(EAGER)
    moment = patient.moments(step)[1]
    assert patient.ask("migrate", size=patient.other_size(), fault={"kind": "kill", "step": step, "moment": moment}) is None
    undone = patient.ask("rollback")
    assert undone["outcome"] == "rolled_back", undone
    assert patient.server.sql(EAGER) == settings
    patient.check(before)
    patient.forget()


@pytest.mark.parametrize("step", NAMES)
def test_servers_killed(patient: Patient, step: str) -> None:
    """kill -9 of all servers that work in the step: what was the users' server is started again by who is in charge of it."""
    size, before = patient.other_size(), f"{patient.server.page_size() // 1024}k"
    victims = patient.victims.get(step)
    fault = {"kind": "server", "step": step, "moment": victims[len(victims) // 2] if victims else "begin"}
    done = patient.ask("migrate", size=size, fault=fault)
    assert done["message"] or done["outcome"] == "migrated", done
    if done["outcome"] == "failed":
        done = patient.ask("rollback")
        assert done["outcome"] == "rolled_back", done
    if not patient.server.answers() and (step in RUNNING or step in OPENED or step == "fence"):
        patient.server.start()
    patient.check(size if done["outcome"] == "migrated" else before)
    patient.forget()


@pytest.mark.parametrize("step", NAMES)
def test_full_file_system(patient: Patient, step: str) -> None:
    size, before = patient.other_size(), f"{patient.server.page_size() // 1024}k"
    done = patient.ask("migrate", size=size, fault={"kind": "fill", "step": step, "moment": "begin"})
    (patient.server.base / FILLER).unlink()
    assert done["message"] or done["outcome"] == "migrated", done
    if done["outcome"] == "failed":
        done = patient.ask("rollback")
        assert done["outcome"] == "rolled_back", done
    patient.check(size if done["outcome"] == "migrated" else before)
    patient.forget()


@pytest.mark.parametrize("step", BACK_NAMES)
def test_a_rollback_that_keeps_writes_is_killed(patient: Patient, way_back: dict[str, int], step: str) -> None:
    """The next runs end it, with what was written since the migration."""
    before, size = f"{patient.server.page_size() // 1024}k", patient.other_size()
    for moment in moments(way_back, step):
        assert patient.ask("migrate", size=size)["outcome"] == "migrated"
        patient.server.sql("CREATE TABLE shop.since (id INT PRIMARY KEY); INSERT INTO shop.since VALUES (1), (2)")
        assert patient.ask("keep", fault={"kind": "kill", "step": step, "moment": moment}) is None
        patient.wait_for_end_of_private_servers(f"{step} {moment}")
        done = patient.ask("keep")
        if done["outcome"] == "failed":
            assert "was cut short and may have stopped the server" in done["message"], done
            ended = patient.ask("migrate", size=before)
            assert ended["outcome"] in ("migrated", "rolled_back"), ended
            done = patient.ask("keep") if ended["outcome"] == "rolled_back" else {"outcome": "rolled_back"}
        assert done["outcome"] == "rolled_back", done
        assert patient.server.sql("SELECT GROUP_CONCAT(id) FROM shop.since") == "1,2\n"
        patient.server.sql("DROP TABLE shop.since")
        patient.check(before)
        patient.forget()

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every step of a migration is cut short: the next run, or a rollback, ends with all data. A new step is covered by being a step.

With PAGESMITH_FAULTS=every in the environment each effect of each step is a moment to be killed at, not only its middle.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from disks import FILLER, small_disk
from harness import Sandbox
from patient import Patient

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.steps import STEPS

NAMES = [name for name, _step, _text in STEPS]
CLOSED = NAMES[NAMES.index("fence") + 1 : NAMES.index("open")]
OPENED = NAMES[NAMES.index("open") :]
EVERY = os.environ.get("PAGESMITH_FAULTS") == "every"
DISK_BYTES = 6 << 30


class Ward:
    """Lends the patient to one test after the other; one that came out of a test with something left is replaced."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        self.patient: Patient | None = None
        self.learned: tuple[dict, dict] | None = None

    def lend(self) -> Patient:
        patient = self.patient or self.admit()
        self.patient = None
        return patient

    def admit(self) -> Patient:
        self.stack.close()
        base = self.stack.enter_context(small_disk(DISK_BYTES))
        patient = Patient(self.stack.enter_context(Sandbox(base=base)))
        if self.learned is None:
            patient.learn()
            patient.forget()
            self.learned = patient.effects, patient.victims
        patient.effects, patient.victims = self.learned
        return patient


@pytest.fixture(scope="module")
def ward() -> Iterator[Ward]:
    with ExitStack() as stack:
        yield Ward(stack)


@pytest.fixture
def well(ward: Ward) -> Iterator[Patient]:
    """A server with a small shop, which has no more than its data before the test and after it."""
    patient = ward.lend()
    yield patient
    patient.forget()
    ward.patient = patient


def test_the_run_goes_on_however_often_it_is_killed(well: Patient) -> None:
    """One migration, killed at the beginning, in the middle and at the end of each step, and continued each time."""
    size = well.other_size()
    for step in NAMES:
        for moment in well.moments(step):
            killed = well.ask("migrate", size=size, fault={"kind": "kill", "step": step, "moment": moment})
            assert killed is None, f"not killed at {moment} of {step}: {killed}"
            if step in CLOSED:
                well.wait_for_end_of_private_servers(f"{step} {moment}")
                assert not well.server.answers(), f"clients can log in after {step} was cut short"
    done = well.ask("migrate", size=size)
    assert done["outcome"] == "migrated", done
    well.check(size)


def moments_to_kill(patient: Patient, step: str) -> list[str | int]:
    return ["begin", *range(1, patient.effects.get(step, 0) + 1), "end"] if EVERY else patient.moments(step)[1:2]


@pytest.mark.parametrize("step", NAMES)
def test_rollback_after_a_kill(well: Patient, step: str) -> None:
    """Killed in the step, then the rollback is killed as well, and the next rollback ends with the server as it was."""
    for moment in moments_to_kill(well, step):
        before = well.server.page_size()
        assert well.ask("migrate", size=well.other_size(), fault={"kind": "kill", "step": step, "moment": moment}) is None
        # Before the fence there is little to undo, and no record of its beginning.
        cuts = ("begin", well.middle("rollback")) if NAMES.index(step) >= NAMES.index("fence") else (3,)
        for cut in cuts:
            assert well.ask("rollback", fault={"kind": "kill", "step": "rollback", "moment": cut}) is None, f"not killed at {cut}"
        undone = well.ask("rollback")
        assert undone["outcome"] == "rolled_back", undone
        well.check(f"{before // 1024}k")
        well.forget()


@pytest.mark.parametrize("step", NAMES)
def test_server_killed(well: Patient, step: str) -> None:
    """kill -9 of the server that works in the step: the run goes on, or says what failed and leaves the old server running."""
    size, before = well.other_size(), f"{well.server.page_size() // 1024}k"
    victims = well.victims.get(step)
    fault = {"kind": "server", "step": step, "moment": victims[len(victims) // 2] if victims else "begin"}
    done = well.ask("migrate", size=size, fault=fault)
    assert done["message"] or done["outcome"] == "migrated", done
    if done["outcome"] == "failed":
        done = well.ask("rollback")
        assert done["outcome"] == "rolled_back", done
    if done["outcome"] == "migrated" and step in OPENED and not well.server.answers():
        well.server.start()  # it is the users' server again, which is its manager's to start
    well.check(size if done["outcome"] == "migrated" else before)


@pytest.mark.parametrize("step", NAMES)
def test_full_file_system(well: Patient, step: str) -> None:
    """The file system is full from the beginning of the step on: the run ends, and with room again nothing is missing."""
    size, before = well.other_size(), f"{well.server.page_size() // 1024}k"
    done = well.ask("migrate", size=size, fault={"kind": "fill", "step": step, "moment": "begin"})
    (well.server.base / FILLER).unlink()
    assert done["message"] or done["outcome"] == "migrated", done
    if done["outcome"] == "failed":
        done = well.ask("rollback")
        assert done["outcome"] == "rolled_back", done
    well.check(size if done["outcome"] == "migrated" else before)


def test_retire_killed(well: Patient) -> None:
    """Half of the retained directory is gone: it can't be gone back to, but retired in full."""
    size = well.other_size()
    well.ask("migrate", size=size)
    (path,) = well.server.kept()
    assert well.ask("retire", path=path, fault={"kind": "kill", "step": "retire", "moment": 40}) is None
    assert Path(path).is_dir()
    assert well.ask("retire", path=path)["outcome"] == "retired"
    assert not Path(path).exists()
    well.check(size)


def held(patient: Patient, size: str, step: str) -> subprocess.Popen:
    """A migration that stands still at the beginning of a step."""
    process = patient.order("migrate", size=size, fault={"kind": "stop", "step": step, "moment": "begin"})
    _pid, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"the migration did not come to {step}"
    return process


def test_two_runs_at_once(well: Patient) -> None:
    size = well.other_size()
    first = held(well, size, "compare")
    for second in (lambda: well.server.migrate(size), well.server.rollback):
        with pytest.raises(InnodbError) as caught:
            second()
        assert "another migration of this instance is running" in caught.value.failed
    first.send_signal(signal.SIGCONT)
    assert well.answer(first)["outcome"] == "migrated"
    well.check(size)


@pytest.mark.parametrize("stopped", [True, False])
def test_old_server_started_by_hand(well: Patient, stopped: bool) -> None:
    """What somebody writes into the old server meanwhile is noticed and not lost."""
    size, before = well.other_size(), f"{well.server.page_size() // 1024}k"
    run = held(well, size, "compare")
    row = write_by_hand(well, stopped)
    run.send_signal(signal.SIGCONT)
    done = well.answer(run)
    assert done["outcome"] == "rolled_back" and "old" in done["message"], done
    assert well.server.sql(f"SELECT what FROM shop.audit WHERE what='{row}'") == f"{row}\n"
    well.content = well.read()
    well.check(before)


def test_old_server_started_by_hand_after_a_kill(well: Patient) -> None:
    """The next run takes what was written meanwhile along."""
    size = well.other_size()
    assert well.ask("migrate", size=size, fault={"kind": "kill", "step": "compare", "moment": "begin"}) is None
    well.wait_for_end_of_private_servers("compare")
    row = write_by_hand(well, stopped=True)
    assert well.ask("migrate", size=size)["outcome"] == "migrated"
    assert well.server.sql(f"SELECT what FROM shop.audit WHERE what='{row}'") == f"{row}\n"
    well.content = well.read()
    well.check(size)


def write_by_hand(patient: Patient, stopped: bool) -> str:
    row = f"by hand {os.urandom(4).hex()}"
    patient.server.start()
    patient.server.sql(f"INSERT INTO shop.audit VALUES (NOW(), '{row}')")
    if stopped:
        patient.server.stop()
    return row

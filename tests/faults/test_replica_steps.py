# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The migration of a replica is cut short in each step that touches its replication: it ends with all data, and replicates again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from harness import PATIENCE, Sandbox
from patient import Patient
from replicas import ACCOUNT, GTID, PLACE, replicate, same, server, status

#: Steps that stop replication, carry what is known of the sources, let it go on, and wait for it.
STEPS = ("fence", "swap", "open", "catch_up")
FEED = "CREATE DATABASE feed; CREATE TABLE feed.rows (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(200) NOT NULL);"


class Replica:
    """A patient with the small shop of its own, which besides replicates one table from a source."""

    def __init__(self, source: Sandbox, patient: Patient) -> None:
        self.source = source
        self.patient = patient

    def goes_on(self, size: str) -> None:
        """Nothing is missing, the option file holds it no more, and what the source writes now arrives."""
        self.patient.check(size)
        held = [path.name for path in self.patient.server.include.iterdir() if "skip_slave_start" in path.read_text()]
        assert not held, f"{held} would hold the replica at its next start"
        self.source.sql("INSERT INTO feed.rows (what) VALUES ('afterwards')")
        same(self.patient.server, self.source, "feed.rows")
        self.wait_until_it_runs()
        self.patient.content = self.patient.read()

    def wait_until_it_runs(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while {status(self.patient.server)[name] for name in ("Slave_IO_Running", "Slave_SQL_Running")} != {"Yes"}:
            assert time.monotonic() < deadline, status(self.patient.server)
            time.sleep(0.05)


@pytest.fixture(scope="module", params=[GTID, PLACE], ids=["gtid", "file and position"])
def replica(request: pytest.FixtureRequest) -> Iterator[Replica]:
    with ExitStack() as stack:
        source, own = server(stack, 1), server(stack, 2)
        source.sql(ACCOUNT)
        patient = Patient(own)
        own.sql("RESET MASTER; SET GLOBAL gtid_slave_pos=''")
        replicate(own, source, request.param)
        source.sql(FEED)
        same(own, source, "feed.rows")
        patient.content = patient.read()
        patient.learn()
        patient.forget()
        yield Replica(source, patient)


@pytest.mark.parametrize("step", STEPS)
def test_killed_and_continued(replica: Replica, step: str) -> None:
    patient = replica.patient
    size = patient.other_size()
    for moment in patient.moments(step):
        killed = patient.ask("migrate", size=size, fault={"kind": "kill", "step": step, "moment": moment})
        assert killed is None, f"not killed at {moment} of {step}: {killed}"
        # What the source writes meanwhile must be neither lost nor applied twice.
        replica.source.sql("INSERT INTO feed.rows (what) VALUES ('meanwhile')")
    done = patient.ask("migrate", size=size)
    assert done["outcome"] == "migrated", done
    same(patient.server, replica.source, "feed.rows")
    patient.content.update({name: value for name, value in patient.read().items() if "feed." in name or "gtid" in name})
    replica.goes_on(size)
    patient.forget()


@pytest.mark.parametrize("step", STEPS)
def test_killed_and_rolled_back(replica: Replica, step: str) -> None:
    patient = replica.patient
    before = f"{patient.server.page_size() // 1024}k"
    for moment in patient.moments(step)[1:2]:
        assert patient.ask("migrate", size=patient.other_size(), fault={"kind": "kill", "step": step, "moment": moment}) is None
        undone = patient.ask("rollback")
        assert undone["outcome"] == "rolled_back", undone
    replica.goes_on(before)
    patient.forget()


def test_server_killed_while_it_catches_up(replica: Replica) -> None:
    """The users' server dies under the wait: the run fails, and once the server is up the next one only waits."""
    patient = replica.patient
    size = patient.other_size()
    done = patient.ask("migrate", size=size, fault={"kind": "server", "step": "catch_up", "moment": "begin"})
    assert done["outcome"] == "failed" and "holds all data" in done["message"], done
    patient.server.start()
    done = patient.ask("migrate", size=size)
    assert done["outcome"] == "migrated", done
    replica.goes_on(size)
    patient.forget()

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Progress: the states that are published, and the lines a person reads."""

from __future__ import annotations

import copy
import json
import os

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.progress import Progress, line, to_file

MIB = 1 << 20


class Clock:
    """A clock that goes when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def published():
    return []


@pytest.fixture
def progress(clock, published):
    return Progress(lambda states: published.append(copy.deepcopy(states)), clock)


def state(done: int = 0, total: int = 0, seconds: float = 0.0, finished: bool = False) -> dict:
    return {"step": "dump", "total": total, "done": done, "seconds": seconds, "finished": finished}


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (state(), "dump: running, 0 s"),
        (state(seconds=61.4), "dump: running, 61 s"),
        (state(total=MIB), "dump: running, 0 s"),
        (state(total=MIB, seconds=3), "dump: 0%, 0.0 MiB of 1.0 MiB, 0.0 MiB/s"),
        (state(done=25 * MIB, total=100 * MIB, seconds=10), "dump: 25%, 25.0 MiB of 100.0 MiB, 2.5 MiB/s, 30 s left"),
        (state(done=MIB, total=MIB, seconds=2), "dump: 100%, 1.0 MiB of 1.0 MiB, 0.5 MiB/s, 0 s left"),
        (state(finished=True, seconds=1.25), "dump: done in 1.2 s"),
        (state(done=MIB, total=MIB, seconds=2, finished=True), "dump: done in 2.0 s, 1.0 MiB"),
        ({**state(finished=True), "step": "A sentence.", "sentence": True}, "A sentence."),
    ],
)
def test_line(shown, text):
    assert line(shown) == text


def test_a_step_without_bytes(progress, clock, published):
    progress.begin("fence")
    clock.now += 2.5
    progress.finish()
    assert [line(states[0]) for states in published] == ["fence: running, 0 s", "fence: running, 2 s", "fence: done in 2.5 s"]


def test_a_step_with_bytes(progress, clock, published):
    progress.begin("dump")
    clock.now += 5
    progress.expect(4 * MIB)
    clock.now += 2
    progress.report(MIB)
    assert line(published[-1][0]) == "dump: 25%, 1.0 MiB of 4.0 MiB, 0.5 MiB/s, 6 s left"
    clock.now += 2
    progress.finish()
    assert line(published[-1][0]) == "dump: done in 4.0 s, 4.0 MiB"


def test_more_than_was_expected_is_all_of_it(progress, clock, published):
    progress.begin("dump")
    progress.expect(MIB)
    clock.now += 1
    progress.report(5 * MIB)
    assert published[-1][0]["done"] == MIB


def test_steps_and_sentences_follow_one_another(progress, published):
    progress.say("The plan.")
    progress.begin("fence")
    progress.finish()
    progress.begin("dump")
    assert [line(shown) for shown in published[-1]] == ["The plan.", "fence: done in 0.0 s", "dump: running, 0 s"]


def test_to_file_is_private_and_replaces(tmp_path):
    path = tmp_path / "progress.json"
    publish = to_file(str(path))
    publish([state()])
    publish([state(), state(finished=True)])
    assert json.loads(path.read_text()) == [state(), state(finished=True)]
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["progress.json"]

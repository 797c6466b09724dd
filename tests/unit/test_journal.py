# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The journal: what its records add up to, what a crash may leave of it, and the lock of a live process."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import journal as journals
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.journal import BEGIN, END, MIGRATED, ROLLED_BACK, UNFINISHED, Journal, Run


def record(run: str, step: str, event: str, moment: float = 0.0, **more) -> dict:
    return {"run": run, "step": step, "event": event, "time": moment, **more}


def test_fold_nothing():
    assert journals.fold([]) == []


def test_fold_tells_steps_times_and_facts():
    [run] = journals.fold(
        [
            record("a", "plan", "note", 1, facts={"target": 8192, "before": 16384}),
            record("a", "build", BEGIN, 2),
            record("a", "build", END, 4.5, facts={"tables": 3}),
            record("a", "fence", BEGIN, 5, facts={"before": 4096}),
        ]
    )
    assert run.steps == {"build": END, "fence": BEGIN}
    assert run.facts == {"target": 8192, "before": 4096, "tables": 3}
    assert run.seconds == {"build": 2.5}
    assert run.times == {"build": 4.5, "fence": 5}
    assert run.status == UNFINISHED
    assert run.done("build")
    assert not run.done("fence")
    assert run.begun("fence")
    assert not run.begun("plan")


def test_a_step_that_begins_again_is_not_done_and_comes_last():
    events = [("build", BEGIN), ("build", END), ("fence", BEGIN), ("build", BEGIN)]
    [run] = journals.fold([record("a", step, event) for step, event in events])
    assert list(run.steps.items()) == [("fence", BEGIN), ("build", BEGIN)]


def test_fold_keeps_runs_apart():
    first, second = journals.fold(
        [
            record("a", "build", BEGIN),
            record("b", "build", BEGIN, status=None),
            record("a", "rollback", END, status=ROLLED_BACK),
        ]
    )
    assert (first.id, first.status) == ("a", ROLLED_BACK)
    assert second.id == "b"


PATHS = {
    "retained": "/d.pagesmith-x",
    "outside": [{"retained": "/log/.pagesmith-retained/x"}],
    "external": [["/ext/t.ibd", "/ext/t.ibd.pagesmith-x"]],
}


@pytest.mark.parametrize(
    ("status", "facts", "kept"),
    [
        (UNFINISHED, {"paths": PATHS}, []),
        (MIGRATED, {"paths": PATHS}, ["/d.pagesmith-x", "/log/.pagesmith-retained/x", "/ext/t.ibd.pagesmith-x"]),
        (ROLLED_BACK, {"paths": PATHS}, []),
        (ROLLED_BACK, {"paths": {}, "aside": PATHS}, ["/d.pagesmith-x", "/log/.pagesmith-retained/x", "/ext/t.ibd.pagesmith-x"]),
        (journals.RETIRED, {"paths": PATHS, "aside": PATHS}, []),
    ],
)
def test_kept(status, facts, kept):
    assert Run("a", facts=facts, status=status).kept() == kept


WHOLE = '{"a": 1}\n{"a": 2}\n'


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), (WHOLE, 2), (WHOLE + '{"a": 3', 2), (WHOLE + "\n" + '{"a": 3}\n', 3), (WHOLE + "\0\0\0", 2)],
    ids=["empty", "whole", "torn", "blank line", "zeros"],
)
def test_parse(text, count):
    assert [entry["a"] for entry in journals.parse(text)] == [1, 2, 3][:count]


@pytest.mark.parametrize("text", ['{"a": 1}\n{"a"\n{"a": 3}\n', '{"a": 1}\n{"a": 2\n'], ids=["in the middle", "last, but ended"])
def test_parse_refuses_a_damaged_line(text):
    with pytest.raises(InnodbError, match="line 2 of the journal is damaged"):
        journals.parse(text)


@pytest.fixture
def journal(tmp_path):
    return Journal(str(tmp_path))


def append(journal: Journal, text: str) -> None:
    with open(journal.path, "a", encoding="utf-8") as file:
        file.write(text)


def test_a_journal_that_is_not_there_has_no_runs(journal):
    assert journal.runs() == []
    assert journal.last() is None


def test_record_is_read_back_and_private(journal):
    journal.record("a", "plan", "note", {"target": 8192})
    journal.record("a", "finish", "note", status=MIGRATED)
    run = journal.last()
    assert (run.id, run.facts, run.status) == ("a", {"target": 8192}, MIGRATED)
    assert os.stat(journal.path).st_mode & 0o777 == 0o600


@pytest.mark.parametrize("torn", ['{"run": "a", "st', "{", "\0" * 100])
def test_record_repairs_a_torn_tail(journal, torn):
    journal.record("a", "build", BEGIN)
    append(journal, torn)
    assert journal.last().steps == {"build": BEGIN}
    journal.record("a", "build", END)
    with open(journal.path, encoding="utf-8") as file:
        assert [json.loads(line)["event"] for line in file] == [BEGIN, END]


def test_a_first_record_that_is_torn_leaves_no_run(journal):
    append(journal, '{"run": "a"')
    assert journal.runs() == []
    journal.record("b", "build", BEGIN)
    assert [run.id for run in journal.runs()] == ["b"]


def test_what_is_read_stays_when_the_next_record_is_written(journal):
    """A record that lost only its newline counts both before and after the repair, or neither."""
    journal.record("a", "swap", BEGIN)
    append(journal, json.dumps(record("a", "swap", END)))
    before = journal.last().steps["swap"]
    journal.record("a", "trial", BEGIN)
    assert journal.last().steps["swap"] == before


def test_journal_does_not_follow_a_link(journal, tmp_path):
    (tmp_path / "other").write_text("")
    os.symlink(tmp_path / "other", journal.path)
    with pytest.raises(OSError, match="symbolic links"):
        journal.record("a", "build", BEGIN)


def test_step_records_begin_and_end_with_notes(journal):
    with journal.step("a", "dump", {"workers": 2}) as notes:
        assert journal.last().steps == {"dump": BEGIN}
        assert journal.last().facts == {"workers": 2}
        notes["tables"] = 3
    assert journal.last().steps == {"dump": END}
    assert journal.last().facts == {"workers": 2, "tables": 3}


def test_step_that_fails_stays_begun(journal):
    with pytest.raises(RuntimeError), journal.step("a", "dump") as notes:
        notes["tables"] = 3
        raise RuntimeError
    assert journal.last().steps == {"dump": BEGIN}
    assert journal.last().facts == {}


HOLDER = """
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(descriptor, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other_process(tmp_path):
    """Another process that holds the lock until its standard input is closed."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path / journals.LOCK_FILE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_lock_of_another_process(tmp_path, other_process):
    directory = str(tmp_path)
    assert journals.lock_held(directory)
    with pytest.raises(InnodbError, match="another migration of this instance is running"), journals.locked(directory):
        pytest.fail("the lock was given twice")
    other_process.kill()
    other_process.wait()
    assert not journals.lock_held(directory)
    with journals.locked(directory):
        assert journals.lock_held(directory)


def test_lock_is_free_without_a_file_and_after_a_failure(tmp_path):
    directory = str(tmp_path)
    assert not journals.lock_held(directory)
    assert os.listdir(directory) == []
    with pytest.raises(RuntimeError), journals.locked(directory):
        raise RuntimeError
    assert not journals.lock_held(directory)

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action plugin in a playbook: the shipped policy is found, files of the site are found beside the playbook, faults are told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from decision_facts import server

ROOT = Path(__file__).resolve().parents[2]
SITE = "rules:\n  - {id: ours, kind: warning, source: s, text: 'Ours at {candidate.name}'}\n"
FAULTY = "rules:\n  - id: faulty\n    kind: warning\n    source: s\n    text: t\n    when: facts.nothing\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory for playbooks, with policies in its files and the collection in the place where Ansible looks for it."""
    path = tmp_path_factory.mktemp("decision")
    (path / "ansible_collections" / "pagesmith").mkdir(parents=True)
    (path / "ansible_collections" / "pagesmith" / "innodb").symlink_to(ROOT)
    (path / "files").mkdir()
    (path / "files" / "site.yml").write_text(SITE, encoding="utf-8")
    (path / "files" / "faulty.yml").write_text(FAULTY, encoding="utf-8")
    return path


def play(place: Path, *arguments: str, **options) -> tuple[dict, str]:
    """The result of a playbook with one decision, empty when it failed, and what Ansible printed."""
    result = place / "result.json"
    result.unlink(missing_ok=True)
    tasks = [
        {"pagesmith.innodb.page_size_decision": {"facts": server(), **options}, "register": "decision"},
        {"copy": {"content": "{{ decision | to_json }}", "dest": str(result)}, "check_mode": False},
    ]
    playbook = place / "play.json"
    playbook.write_text(
        json.dumps([{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]), encoding="utf-8"
    )
    run = subprocess.run(
        [str(Path(sys.executable).with_name("ansible-playbook")), str(playbook), *arguments],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode == 0) == result.exists()
    return json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}, run.stdout + run.stderr


def test_check_mode_decides_the_same_and_nothing_is_changed(place):
    decision, output = play(place, site_policies=["site.yml"])
    assert (decision["recommended"], decision["changed"]) == (8192, False), output
    assert decision["rule_errors"] == []
    assert "Ours at 4k" in decision["candidates"]["4096"]["warnings"]
    assert play(place, "--check", site_policies=["site.yml"])[0] == decision


def test_a_policy_instead_of_the_shipped_one_and_page_sizes_as_numbers(place):
    """Ansible makes the keys of a dictionary numbers when they look so; a policy may be given as it is."""
    rank = {"id": "counters", "title": "counters", "decides": True, "confidence": "medium"}
    rule = {"id": "fast", "kind": "reason", "text": "t", "source": "s", "rank": "counters", "strength": 1, "favours": "others"}
    rule["when"] = "candidate.benchmark.gain > `0.1`"
    benchmark = "{{ {'kind': 'sysbench', 'page_sizes': {4096: {'transactions_per_second': 12}, 16384: {'transactions_per_second': 10}}} }}"
    decision, output = play(place, policy={"ranks": [rank], "rules": [rule]}, benchmark=benchmark)
    assert decision["recommended"] == 4096, output
    assert [reason["id"] for reason in decision["reasons"]] == ["fast"]


def test_a_fault_is_told_with_file_and_line(place):
    decision, output = play(place, site_policies=["faulty.yml"])
    assert decision == {}
    assert "faulty.yml, line 6: rule 'faulty': 'when': there is no 'nothing' in 'facts'" in output

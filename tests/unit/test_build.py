# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The collection builds and installs, with what a user needs and without what only its makers do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ANSIBLE = Path(sys.executable).parent
NEEDED = (
    "meta/execution-environment.yml",
    "meta/requirements.txt",
    "meta/runtime.yml",
    "playbooks/migrate.yml",
    "plugins/action/migration.py",
    "plugins/modules/instance_info.py",
    "roles/migrate/tasks/main.yml",
    "README.md",
    "LICENSE",
)


def run(*command: str, **environment: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a build of this work tree is installed."""
    source, place = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in files.splitlines():
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    run(str(ANSIBLE / "ansible-galaxy"), "collection", "build", str(source), "--output-path", str(place))
    (archive,) = place.glob("pagesmith-innodb-*.tar.gz")
    run(str(ANSIBLE / "ansible-galaxy"), "collection", "install", str(archive), "--force", "--offline", "--collections-path", str(place))
    return place / "ansible_collections" / "pagesmith" / "innodb"


def test_what_a_user_needs_is_there(installed: Path) -> None:
    assert [name for name in NEEDED if not (installed / name).is_file()] == []
    assert not (installed / ".venv").exists() and not (installed / ".cache").exists()


def test_the_installed_modules_have_documentation(installed: Path) -> None:
    place = str(installed.parents[2])
    told = run(str(ANSIBLE / "ansible-doc"), "--list", "pagesmith.innodb", ANSIBLE_COLLECTIONS_PATH=place)
    modules = sorted(path.stem for path in (installed / "plugins" / "modules").glob("[a-z]*.py"))
    assert sorted(line.split()[0].rpartition(".")[2] for line in told.splitlines() if line.startswith("pagesmith.")) == modules


def test_the_installed_playbooks_are_found_by_their_names(installed: Path) -> None:
    for playbook in sorted((installed / "playbooks").glob("*.yml")):
        run(
            str(ANSIBLE / "ansible-playbook"),
            f"pagesmith.innodb.{playbook.stem}",
            "--syntax-check",
            "--inventory=localhost,",
            ANSIBLE_COLLECTIONS_PATH=str(installed.parents[2]),
        )


def test_the_execution_environment_names_files_that_are_there() -> None:
    described = yaml.safe_load((ROOT / "meta" / "execution-environment.yml").read_text())
    assert (ROOT / described["dependencies"]["python"]).read_text().split() == ["jmespath", "matplotlib"]


@pytest.mark.parametrize("example", sorted((ROOT / "docs" / "examples").glob("*.yml")), ids=lambda path: path.stem)
def test_variables_of_examples_are_those_of_the_public_interface(example: Path) -> None:
    text = example.read_text()
    yaml.safe_load(text)
    readme = (ROOT / "README.md").read_text()
    names = set(re.findall(r"\binnodb_\w+", text))
    assert [name for name in sorted(names) if f"`{name}`" not in readme] == []

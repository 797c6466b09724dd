# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The argument specs of every role agree with its defaults, its task files and its README."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(path for path in ROOT.glob("roles/*") if path.is_dir())


def load(path: Path) -> dict:
    return (yaml.safe_load(path.read_text(encoding="utf-8")) or {}) if path.exists() else {}


def entry_points(role: Path) -> dict:
    return load(role / "meta" / "argument_specs.yml").get("argument_specs", {})


def each_entry_point():
    for role in ROLES:
        for name, spec in entry_points(role).items():
            yield role, name, spec


def test_every_role_has_specs_and_a_readme():
    missing = [f"{role.name}/{name}" for role in ROLES for name in ("README.md", "meta/argument_specs.yml") if not (role / name).is_file()]
    assert missing == []


def test_defaults_in_the_specs_equal_the_defaults_of_the_role():
    differences = []
    for role, entry_point, spec in each_entry_point():
        defaults = load(role / "defaults" / "main.yml")
        for option, details in spec.get("options", {}).items():
            documented, real = as_text(details.get("default")), as_text(defaults.get(option))
            if "default" in details and (option not in defaults or documented != real):
                differences.append(f"{role.name} {entry_point}: {option} is {documented}, in the defaults {real}")
    assert differences == []


def as_text(value: object) -> str:
    """For comparing: to Python, but to no reader, true equals 1."""
    return json.dumps(value, sort_keys=True)


def test_every_default_is_in_the_specs():
    undocumented = []
    for role in ROLES:
        documented = {option for spec in entry_points(role).values() for option in spec.get("options", {})}
        undocumented += [f"{role.name}: {variable}" for variable in load(role / "defaults" / "main.yml") if variable not in documented]
    assert undocumented == []


def test_every_entry_point_has_its_tasks():
    missing = [
        f"{role.name}/tasks/{name}.yml" for role, name, _spec in each_entry_point() if not (role / "tasks" / f"{name}.yml").is_file()
    ]
    assert missing == []


def test_every_tasks_file_that_is_offered_is_an_entry_point():
    """Offered are main and what the README tells to call by tasks_from; other files are inner parts of the role."""
    missing = []
    for role in ROLES:
        offered = set(re.findall(r"tasks_from: *([\w-]+)", (role / "README.md").read_text(encoding="utf-8")))
        if (role / "tasks" / "main.yml").is_file():
            offered.add("main")
        missing += [f"{role.name}: {name}" for name in sorted(offered - set(entry_points(role)))]
    assert missing == []


def test_every_entry_point_is_described():
    missing = [
        f"{role.name} {entry_point}: {key}"
        for role, entry_point, spec in each_entry_point()
        for key in ("short_description", "description")
        if not spec.get(key)
    ]
    assert missing == []

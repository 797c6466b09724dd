# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Where a policy comes from: a file, whose lines are remembered for messages, or a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError

REMEDY = "Give the path of a YAML file on the controller, or the policy itself as a mapping"


@dataclass(frozen=True)
class Source:
    """A policy as it was given. lines: for the path of keys and indexes of a value, the line it begins on."""

    name: str
    data: Mapping[str, Any]
    lines: Mapping[tuple, int] = field(default_factory=dict)

    def place(self, path: tuple) -> str:
        """The name, and the line of the value or of what it is in."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return f"{self.name}, line {self.lines[path[:length]]}"
        return self.name


def read_source(given: Any, name: str) -> Source:
    """The source of a path or a mapping. InnodbError when it can't be read or is no mapping."""
    if isinstance(given, Mapping):
        return Source(name, given)
    if not isinstance(given, str):
        raise InnodbError(f"{name} is neither a path nor a mapping", remedy=REMEDY)
    try:
        with open(given, encoding="utf-8") as file:
            return parse_source(file.read(), given)
    except (OSError, UnicodeDecodeError) as error:
        raise InnodbError(f"the policy {given} can't be read: {error}", remedy=REMEDY) from error


def parse_source(text: str, name: str) -> Source:
    """The source of YAML text."""
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        lines = dict(_lines(node, ())) if node else {}
        data = loader.construct_document(node) if node else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{name}, line {mark.line + 1}" if mark else name
        raise InnodbError(f"{place}: this is no YAML: {getattr(error, 'problem', None) or error}", remedy=REMEDY) from error
    if not isinstance(data, dict):
        raise InnodbError(f"{name} is no mapping of sections such as 'rules'", remedy=REMEDY)
    return Source(name, data, lines)


def _lines(node: yaml.Node, path: tuple) -> Iterator[tuple[tuple, int]]:
    yield path, node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            yield from _lines(child, (*path, index))
    elif isinstance(node, yaml.MappingNode):
        seen = set()
        for key, child in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"'{key.value}' is there twice", problem_mark=key.start_mark)
            seen.add(key.value)
            for found, line in _lines(child, (*path, key.value)):
                # A long text begins on the line after its key; the reader looks for the key.
                yield found, key.start_mark.line + 1 if found == (*path, key.value) else line

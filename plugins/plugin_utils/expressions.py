# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""JMESPath as the rules of a policy need it.

Two things differ from plain JMESPath, both for the same reason: a rule must not apply because something is not known.
What is compared with a missing fact is unknown, not false, and so is what is negated; and things that have no order are an error.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

try:
    from jmespath import parser, visitor
    from jmespath.exceptions import JMESPathError
except ImportError as error:
    JMESPATH_MISSING: ImportError | None = error
    _Base: Any = object
else:
    JMESPATH_MISSING = None
    _Base = visitor.TreeInterpreter

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError

#: Functions that are asked about missing values; every other gives nothing when an argument is missing.
TAKES_MISSING = frozenset(["not_null", "type", "merge", "to_array"])
EQUALITY = frozenset(["eq", "ne"])
#: Nodes whose parts after the first one look into the value of the first.
NARROWING = frozenset(["subexpression", "index_expression", "pipe", "projection", "value_projection", "filter_projection", "flatten"])

PLACEHOLDER = re.compile(r"\{([a-z_][\w.]*)(?::(\w+))?\}")
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


class ExpressionError(Exception):
    """An expression that can't be read, or errs on the facts of a host."""


def require_jmespath() -> None:
    """InnodbError when JMESPath is not there."""
    if JMESPATH_MISSING:
        raise InnodbError(
            f"the conditions of the policy need JMESPath, and the Python that runs Ansible here has none ({JMESPATH_MISSING})",
            remedy=f"Install it on the controller: {sys.executable} -m pip install jmespath, or the package python3-jmespath",
        )


class Interpreter(_Base):
    """Evaluates an expression with three truth values: true, false, and None for unknown."""

    def visit_comparator(self, node: dict, value: Any) -> bool | None:
        left, right = (self.visit(child, value) for child in node["children"])
        asks_for_null = {"type": "literal", "value": None, "children": []} in node["children"]
        if not asks_for_null and (left is None or right is None):
            return None
        if node["value"] not in EQUALITY and not (_is_number(left) and _is_number(right)):
            raise ExpressionError(f"{_shown(left)} and {_shown(right)} have no order, only numbers have")
        return self.COMPARATOR_FUNC[node["value"]](left, right)

    def visit_not_expression(self, node: dict, value: Any) -> bool | None:
        inner = self.visit(node["children"][0], value)
        return None if inner is None else self._is_false(inner)

    def visit_or_expression(self, node: dict, value: Any) -> Any:
        left = self.visit(node["children"][0], value)
        if self._is_true(left):
            return left
        right = self.visit(node["children"][1], value)
        return None if left is None and self._is_false(right) else right

    def visit_function_expression(self, node: dict, value: Any) -> Any:
        arguments = [self.visit(child, value) for child in node["children"]]
        if node["value"] not in TAKES_MISSING and any(argument is None for argument in arguments):
            return None
        return self._functions.call_function(node["value"], arguments)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


class Expression:
    """A parsed JMESPath expression."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self.tree = parser.Parser().parse(text).parsed
        except JMESPathError as error:
            raise ExpressionError(f"'{text}' is no JMESPath: {' '.join(str(error).split())}") from error
        if _negates_a_part(self.tree):
            raise ExpressionError(f"'{text}': '!a.b' is b of what is not a; write '!(a.b)'")

    def value(self, scope: Mapping[str, Any]) -> Any:
        """The value in the scope, None where something is missing."""
        try:
            return Interpreter().visit(self.tree, scope)
        except JMESPathError as error:
            raise ExpressionError(f"'{self.text}': {' '.join(str(error).split())}") from error
        except ExpressionError as error:
            raise ExpressionError(f"'{self.text}': {error}") from error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # What a function of JMESPath lets through, such as sum over words.
            raise ExpressionError(f"'{self.text}': {type(error).__name__}: {error}") from error

    def holds(self, scope: Mapping[str, Any]) -> bool:
        """Whether it is true. Anything else than true, false and unknown is an error: in JMESPath even 0 would count as true."""
        value = self.value(scope)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise ExpressionError(f"'{self.text}' gives {_shown(value)}, neither true nor false")

    def paths(self) -> list[tuple[str, ...]]:
        """The paths from the scope's own names on that the expression reads, such as ('facts', 'workload')."""
        return list(_paths(self.tree))


def _negates_a_part(node: Any) -> bool:
    """Whether a path begins with a negation, which binds closer than the dot."""
    if not isinstance(node, dict):
        return False
    children = node.get("children", [])
    wrong = node["type"] in NARROWING and children[0]["type"] == "not_expression" and node["type"] != "pipe"
    return wrong or any(_negates_a_part(child) for child in children)


def _paths(node: dict) -> Iterator[tuple[str, ...]]:
    kind, children = node["type"], node.get("children", [])
    if kind == "field":
        yield (node["value"],)
    elif kind == "subexpression":
        for number, path in enumerate(_paths(children[0])):
            yield path + _fields(children[1:]) if number == 0 else path
    elif kind in NARROWING:
        yield from _paths(children[0])
    elif kind not in ("literal", "slice"):
        for child in children:
            yield from _paths(child)


def _fields(nodes: list[dict]) -> tuple[str, ...]:
    """The names of the leading fields."""
    names: tuple[str, ...] = ()
    for node in nodes:
        if node["type"] != "field":
            break
        names += (node["value"],)
    return names


def as_bytes(value: Any) -> str:
    """1536 gives C(1.5 KiB)."""
    number, unit = float(value), 0
    while abs(number) >= 1024 and unit < len(UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return f"{number:.0f} {UNITS[unit]}" if unit == 0 or abs(number) >= 100 else f"{number:.1f} {UNITS[unit]}"


#: How a value is written in a text, by the word after the colon.
FORMATS = {
    "bytes": as_bytes,
    "size": lambda value: f"{int(value) // 1024}k",
    "percent": lambda value: f"{float(value) * 100:.3g} %",
    "times": lambda value: f"{float(value):.2g}",
    "number": lambda value: f"{float(value):,.0f}",
}


class Text:
    """A text with values in braces: a path of the scope, and after a colon how to write it."""

    def __init__(self, template: str) -> None:
        self.template = template
        self.fields: dict[str, Expression] = {}
        for path, form in PLACEHOLDER.findall(template):
            if form and form not in FORMATS:
                raise ExpressionError(f"'{form}' in '{{{path}:{form}}}' is none of {', '.join(FORMATS)}")
            self.fields[path] = Expression(path)
        rest = PLACEHOLDER.sub("", template)
        if "{" in rest or "}" in rest:
            raise ExpressionError(f"a brace without its other half, or no path inside, in '{template}'")

    def fill(self, scope: Mapping[str, Any]) -> str:
        """The text with its values; 'unknown' for a missing one."""
        return PLACEHOLDER.sub(lambda match: self._written(match[1], match[2], scope), self.template)

    def _written(self, path: str, form: str | None, scope: Mapping[str, Any]) -> str:
        value = self.fields[path].value(scope)
        if value is None:
            return "unknown"
        try:
            return FORMATS[form](value) if form else str(value)
        except (OverflowError, TypeError, ValueError) as error:
            raise ExpressionError(f"{_shown(value)} in '{{{path}:{form}}}' is no number") from error

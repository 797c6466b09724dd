# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the choice of an option looks at: the server, the facts of its host, and what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .engines import Engine
from .errors import InnodbError
from .option_rows import USABLE, find_span
from .option_values import canonical, parse_bytes

FLASH = "flash"
ROTATING = "rotating"
AUTO = "auto"
DEDICATED = "innodb_dedicated_server"


class Question(NamedTuple):
    """What a decision looks at. given: options that the user writes by name, with their values: nothing is decided about them."""

    engine: Engine
    facts: Mapping[str, Any]
    wishes: Mapping[str, Any]
    given: Mapping[str, str]

    def wish(self, name: str) -> Any:
        value = self.wishes.get(name)
        return None if value in ("", AUTO) else value

    def elsewhere(self, name: str) -> str | None:
        """The value that another option file sets."""
        other = (self.facts.get("set_elsewhere") or {}).get(name)
        return None if other is None else str(other["value"])

    def settled(self, name: str) -> bool:
        """Whether the user or another option file sets an option."""
        return name in self.given or self.elsewhere(name) is not None

    @property
    def dedicated(self) -> bool:
        """Whether the server chooses pool, log and flush method from the machine's memory, where no option file says them."""
        value = self.given.get(DEDICATED) or self.elsewhere(DEDICATED)
        return value is not None and canonical(value) == "1"

    def has(self, name: str) -> bool:
        """Whether this server has an option."""
        return find_span(name, self.engine).state in USABLE

    @property
    def storage(self) -> str | None:
        """Kind of the storage as far as it is certain."""
        return self.wish("storage") or self.facts.get("storage")


#: Value and reason; None: nothing is written.
Decision = "tuple[str, str] | None"


def number(question: Question, wish: str, least: int = 0) -> int | None:
    """A wish for a number; None without one."""
    wished = question.wish(wish)
    if wished is None:
        return None
    if not str(wished).isdigit() or int(wished) < least:
        raise InnodbError(f"'{wished}' is no number for {wish}", remedy=f"Write a whole number from {least} on")
    return int(wished)


def size(question: Question, wish: str) -> int | None:
    """A wish for a size, in bytes; None without one."""
    wished = question.wish(wish)
    if wished is None:
        return None
    found = parse_bytes(wished)
    if found is None:
        raise InnodbError(f"'{wished}' is no size for {wish}", remedy="Write it like 12G or 512M")
    return found

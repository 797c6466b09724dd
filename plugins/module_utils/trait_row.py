# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One row of the table of what differs between engines and versions (engines.py), and the words that rows are made of."""

from __future__ import annotations

from typing import Any, NamedTuple

MARIADB = "mariadb"
MYSQL = "mysql"
PERCONA = "percona"
BOTH_MYSQL = (MYSQL, PERCONA)

Version = tuple

ANY: Version = ()
FOREVER: Version = (9999,)


class Row(NamedTuple):
    """From version since up to, but without, version until of these engines, the trait name has this value."""

    name: str
    engines: tuple[str, ...]
    since: Version
    until: Version
    value: Any

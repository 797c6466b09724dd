# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The digest of a table: row count and an order-independent hash of its content, computed inside the server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .census import Difference
from .engines import Engine
from .errors import InnodbError
from .session import Session
from .tables import JSON, Table, digest_statement

CHECKSUM = "checksum"
MD5 = "md5"
METHODS = (CHECKSUM, MD5)


def method_for(table: Table, wanted: str) -> str:
    """CHECKSUM TABLE reads the stored bytes of the current rows; history needs the MD5 of the rows.

    So does JSON: equal documents may be stored as other bytes, and keys of arrays are part of the sum with what is no content.
    """
    if table.versioning or any(column.data_type == JSON for column in table.columns):
        return MD5
    return wanted


def digest(session: Session, engine: Engine, table: Table, wanted: str, rows: int | None = None) -> dict[str, Any]:
    """method, rows and hash of one table: 32 bits with checksum, 64 with md5. rows: their number where it is known already."""
    method = method_for(table, wanted)
    if method == CHECKSUM:
        rows = session.value(f"SELECT COUNT(*) FROM {table.sql}") if rows is None else rows
        value = session.row(engine.trait("checksum_table").format(table=table.sql))["checksum"]
        if value is None:
            raise InnodbError(f"the server gave no checksum of {table.title}")
    else:
        row = session.row(digest_statement(table, engine.trait("row_hash")))
        rows, value = row["n"], row["s"] or 0
    return {"method": method, "rows": int(rows), "hash": str(value)}


def compare(before: dict[str, Any], after: dict[str, Any]) -> list[Difference]:
    """Differences between two sets of digests by the name of the object."""
    names = sorted(before.keys() | after.keys())
    return [Difference(name, "content", before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)]


def with_content(tables: Iterable[Table]) -> list[Table]:
    """The tables that have a digest: those whose rows are carried. Files are compared as files, sequences by the census."""
    return [table for table in tables if table.kind == "rows" and not table.sequence]

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The files of InnoDB's tables, as the running server knows them."""

from __future__ import annotations

import re

from .engines import Engine
from .session import Session

WORDS = re.compile(r".*/(?:FTS|fts)_([0-9a-f]{16})_.*")


def read_files(session: Session, engine: Engine) -> dict[str, dict[str, int]]:
    """Bytes of the files of InnoDB's tables: table, and in it the file's name below the data directory, without its suffix."""
    queries = engine.trait("table_files")
    owners = {
        f"{_text(row['folder'])}/{_text(row['stem'])}": f"{row['table_schema']}.{row['table_name']}"
        for row in session.rows(queries["owners"])
    }
    by_id = {f"{int(row['table_id']):016x}": row["name"] for row in session.rows(queries["names"])}
    files: dict[str, dict[str, int]] = {}
    for row in session.rows(queries["files"]):
        owner = owners.get(owner_of_file(row["name"], by_id))
        if owner:
            files.setdefault(owner, {})[row["path"].removeprefix("./").removesuffix(".ibd")] = int(row["file_size"])
    return files


def is_part(name: str) -> bool:
    """Whether a file holds the table or a partition of it, and not the words of a full-text index."""
    return not WORDS.fullmatch(name)


def owner_of_file(name: str, by_id: dict[str, str]) -> str:
    """The table, as the tablespace's name spells it: of a partition, or of the words of a full-text index."""
    words = WORDS.fullmatch(name)
    if words:
        name = by_id.get(words.group(1), name)
    return re.split("#[Pp]#", name)[0]


def _text(value: bytes | str) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else value

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How the rows of a table stand in a dump: as text, or as the files of a MyISAM table, which the server reads with less work.

Text is what LOAD DATA splits into fields and turns into values again. The other way, the rows go into a temporary MyISAM table
of the source server, whose two files become files of the dump, and the new server reads a table of its own that is given these files.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from .engines import Engine
from .errors import InnodbError
from .session import Session, quote, table_name
from .tables import SYSTEM_SCHEMA, Table, dump_statement, load_statement, schema_names

TEXT = "text"
BINARY = "binary"
DATA, INDEX = ".MYD", ".MYI"

#: Below this size a table is not worth the statements that the files of a table cost.
BINARY_FROM_BYTES = 4 << 20
#: The server puts the rows of such a table in order in temporary files of up to twice its size, one pass more for each doubling, before
#: it builds the table. From this size on that is not worth it.
BINARY_BELOW_BYTES = 1 << 30
#: A temporary table of this name is seen by its session alone, and before any other table of that name.
TEMPORARY = table_name(SYSTEM_SCHEMA, "pagesmith_rows")
STAGING = "pagesmith_rows"
#: Whatever the length of pointers is that the server is set to, these files may have 256 TiB.
LIKE_ROWS = "ENGINE=MyISAM ROW_FORMAT=DYNAMIC MAX_ROWS=4294967295 AVG_ROW_LENGTH=65535"


def carrier_of(table: Table, engine: Engine) -> str:
    """Which carrier the rows of a table have: text, unless all that they consist of is known to go the other way without change."""
    known = engine.trait("binary_types")
    binary = (
        table.engine.lower() == "innodb"
        and table.schema != SYSTEM_SCHEMA
        and table.versioning is None
        and not table.compressed
        and BINARY_FROM_BYTES <= table.size_bytes < BINARY_BELOW_BYTES
        and all(column.data_type in known for column in table.carried_columns())
    )
    return BINARY if binary else TEXT


class Writer(Protocol):
    """Writes the rows of one table to files of these names in a directory."""

    carrier: str
    names: tuple[str, ...]

    def write(self, session: Session) -> int:
        """Write all rows, and return how many."""

    def written_bytes(self) -> int:
        """Bytes written so far."""


def writer_for(table: Table, engine: Engine, directory: str, number: int, temporary: str | None) -> Writer | None:
    """What writes the rows of a table; None when it has no column to carry.

    temporary: the directory for temporary tables of a server that nobody else uses, on the same file system as the dump.
    Without it rows go as text.
    """
    if not table.carried_columns():
        return None
    if temporary and carrier_of(table, engine) == BINARY:
        return BinaryWriter(table, engine, directory, f"{number:06d}", temporary)
    return TextWriter(table, os.path.join(directory, f"{number:06d}.rows"))


class TextWriter:
    carrier = TEXT

    def __init__(self, table: Table, path: str) -> None:
        self.table = table
        self.path = path
        self.names = (os.path.basename(path),)

    def write(self, session: Session) -> int:
        return session.execute(dump_statement(self.table, self.path))

    def written_bytes(self) -> int:
        return _size(self.path)


class BinaryWriter:
    carrier = BINARY

    def __init__(self, table: Table, engine: Engine, directory: str, stem: str, temporary: str) -> None:
        self.table = table
        self.settings = engine.trait("binary_settings")
        self.stem = os.path.join(directory, stem)
        self.names = (stem + DATA, stem + INDEX)
        self.temporary = temporary
        self.files: str | None = None

    def write(self, session: Session) -> int:
        """Fill a temporary table, give its files a second name in the dump, and drop it.

        Its rows are read as they stand: without locks on them, which a million rows would fill the memory with.
        """
        self.files = os.path.join(glob.escape(self.temporary), f"#sql*-{int(session.value('SELECT CONNECTION_ID()')):x}-*{DATA}")
        session.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        select = f"SELECT {_names(self.table)} FROM {self.table.source}"
        rows = session.execute(f"{self.settings}CREATE TEMPORARY TABLE {TEMPORARY} {LIKE_ROWS} {select}")
        found = glob.glob(self.files)
        if len(found) != 1:
            raise InnodbError(f"the files of a temporary table are not where they should be: {self.files} finds {found}", state="")
        for suffix in (DATA, INDEX):
            os.link(found[0][: -len(DATA)] + suffix, self.stem + suffix)
        session.execute(f"DROP TEMPORARY TABLE {TEMPORARY}")
        return rows

    def written_bytes(self) -> int:
        return sum(_size(path) for path in glob.glob(self.files)) if self.files else 0


def _names(table: Table) -> str:
    return ", ".join(quote(column.name) for column in table.carried_columns())


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


@dataclass
class Reader:
    """Reads the rows of a dump in a directory into the tables of a new server with this data directory."""

    engine: Engine
    directory: str
    datadir: str
    schema: str | None = None

    def prepare(self, session: Session, kinds: Iterable[str]) -> None:
        """Make what the carriers of these kinds need: a schema for the tables that are read from, whose name is none of the user's."""
        if BINARY in kinds:
            taken, name = schema_names(session), STAGING
            while name in taken:
                name += "_"
            session.execute(f"CREATE DATABASE {quote(name)}")
            self.schema = name

    def finish(self, session: Session) -> None:
        """Leave nothing of it."""
        if self.schema:
            session.execute(f"DROP DATABASE {quote(self.schema)}")

    @contextmanager
    def statement(self, session: Session, table: Table, name: str, carrier: str) -> Iterator[str]:
        """The statement that reads the rows of one file into its empty table, while the block lasts."""
        path = os.path.join(self.directory, name)
        if carrier == TEXT:
            yield load_statement(table, path)
            return
        stem = name[: -len(DATA)]
        staged = table_name(self.schema, stem)
        columns = _names(table)
        settings = self.engine.trait("binary_settings")
        session.execute(f"{settings}CREATE TABLE {staged} {LIKE_ROWS} SELECT {columns} FROM {table.sql} LIMIT 0")
        session.execute(f"FLUSH TABLES {staged}")
        self._attach(stem)
        yield f"INSERT INTO {table.sql} ({columns}) SELECT {columns} FROM {staged}"
        session.execute(f"FLUSH TABLES {staged}")
        self._detach(stem)
        session.execute(f"DROP TABLE {staged}")

    def _attach(self, stem: str) -> None:
        """Give a closed table the rows of the dump: they stay where they are, the little beside them is written over."""
        source, target = os.path.join(self.directory, stem), os.path.join(self.datadir, self.schema, stem)
        with open(source + INDEX, "rb") as content, open(target + INDEX, "r+b") as file:
            file.truncate()
            shutil.copyfileobj(content, file)
        os.unlink(target + DATA)
        os.symlink(source + DATA, target + DATA)

    def _detach(self, stem: str) -> None:
        """Take the rows away again, since dropping a table deletes what its links lead to."""
        target = os.path.join(self.datadir, self.schema, stem) + DATA
        os.unlink(target)
        with open(target, "xb"):
            pass

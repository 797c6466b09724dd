# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A connection to a server: statements in, rows or a typed error out."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import Any

from .errors import InnodbError, StatementError

try:
    import pymysql
    import pymysql.cursors

    HAS_PYMYSQL = True
except ImportError:
    HAS_PYMYSQL = False

RETRY_SECONDS = 0.05
IDLE_SECONDS = 2147483  # the largest that every server takes
NO_TLS_SINCE = 1  # version of PyMySQL that makes ready for TLS unless told otherwise
ALL_ROWS = 18446744073709551615
STATEMENT_TIMEOUT_SECONDS = 7 * 24 * 3600  # a load of one table may take hours; the server going away ends it at once


@dataclass(frozen=True)
class Login:
    """How to log in; the password stays out of repr() and so out of every message."""

    user: str | None = None
    password: str | None = None
    host: str | None = None
    port: int | None = None
    unix_socket: str | None = None
    config_file: str | None = None
    ca_cert: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    check_hostname: bool | None = None
    connect_timeout: int = 30

    def __repr__(self) -> str:
        return f"Login(user={self.user!r}, host={self.host!r}, unix_socket={self.unix_socket!r})"

    def through(self, socket: str) -> Login:
        """The same account through another Unix socket."""
        return replace(self, host=None, port=None, unix_socket=socket)

    def arguments(self) -> dict[str, Any]:
        """Arguments for PyMySQL: only what was given, so that an option file can supply the rest."""
        given: dict[str, Any] = {
            "user": self.user,
            "password": self.password,
            "host": self.host,
            "port": self.port,
            "unix_socket": self.unix_socket,
            "read_default_file": self.config_file,
        }
        arguments = {name: value for name, value in given.items() if value is not None}
        tls = {"ca": self.ca_cert, "cert": self.client_cert, "key": self.client_key}
        tls = {name: value for name, value in tls.items() if value}
        if tls:
            if self.check_hostname is not None:
                tls["check_hostname"] = self.check_hostname
            arguments["ssl"] = tls
        elif self.unix_socket and pymysql.VERSION[0] >= NO_TLS_SINCE:
            # Making ready for what a socket never does takes longer than to log in.
            arguments["ssl_disabled"] = True
        if "user" not in arguments and not self.config_file:
            arguments["user"] = "root"
        return arguments


def quote(name: str) -> str:
    """An identifier as SQL wants it, in backticks."""
    return "`" + name.replace("`", "``") + "`"


def apply_settings(session: Session, settings: dict[str, Any]) -> None:
    """Set variables of the session."""
    for name, value in settings.items():
        session.execute(f"SET SESSION {name}={value}")


def table_name(schema: str, table: str) -> str:
    return f"{quote(schema)}.{quote(table)}"


class Session:
    """One connection. Values of every type arrive as text (str), binary strings as bytes."""

    def __init__(self, connection: Any, title: str) -> None:
        self.connection = connection
        self.title = title

    def execute(self, sql: str | bytes, params: Any = None) -> int:
        """Run one statement and return the number of affected rows. Bytes are sent as they are."""
        return self._run(sql, params)[1]

    def rows(self, sql: str, params: Any = None) -> list[dict[str, Any]]:
        """Run one statement and return its rows as dictionaries with lower-case names."""
        return self._run(sql, params)[0]

    def row(self, sql: str, params: Any = None) -> dict[str, Any] | None:
        rows = self.rows(sql, params)
        return rows[0] if rows else None

    def value(self, sql: str, params: Any = None) -> Any:
        """First column of the first row, None when there is no row."""
        row = self.row(sql, params)
        return None if row is None else next(iter(row.values()))

    def variables(self, *names: str) -> dict[str, str | None]:
        """Global system variables by name; those the server does not have are left out."""
        wanted = ", ".join(["%s"] * len(names))
        rows = self.rows(f"SHOW GLOBAL VARIABLES WHERE variable_name IN ({wanted})", names)
        return {row["variable_name"].lower(): row["value"] for row in rows}

    def _run(self, sql: str | bytes, params: Any) -> tuple[list[dict[str, Any]], int]:
        try:
            with self.connection.cursor(pymysql.cursors.Cursor) as cursor:
                count = cursor.execute(sql, params)
                if cursor.description is None:
                    return [], count
                names = [column[0].lower() for column in cursor.description]
                return [dict(zip(names, row)) for row in cursor.fetchall()], count
        except (pymysql.Error, OSError, AttributeError, UnicodeError) as error:
            raise statement_error(self.title, sql, error) from error

    def credentials(self) -> tuple[str, str]:
        """User and password as this connection used them, wherever they came from."""
        return os.fsdecode(self.connection.user), os.fsdecode(self.connection.password or b"")

    def close(self) -> None:
        """Close the connection; a server that is already gone is no error here."""
        try:
            self.connection.close()
        except (pymysql.Error, OSError):
            return

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_details: object) -> None:
        self.close()


def statement_error(title: str, sql: str | bytes, error: Exception) -> StatementError:
    """A driver's exception as ours. Statements never hold secrets, but only their beginning is shown."""
    args = getattr(error, "args", ())
    code = args[0] if args and isinstance(args[0], int) else 0
    reason = str(args[1]) if len(args) > 1 else str(error) or type(error).__name__
    text = sql.decode("utf-8", "replace") if isinstance(sql, bytes) else sql
    begin = " ".join(text.split())
    begin = begin if len(begin) <= 120 else begin[:117] + "..."
    return StatementError(f"{title} refused '{begin}': {reason} (error {code})", code, reason)


def connect(login: Login, title: str = "the server") -> Session:
    """A session; InnodbError with the server's reason when the login fails."""
    require_driver()
    try:
        connection = pymysql.connect(
            **login.arguments(),
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=login.connect_timeout,
            read_timeout=STATEMENT_TIMEOUT_SECONDS,
            write_timeout=STATEMENT_TIMEOUT_SECONDS,
        )
    except (pymysql.Error, OSError, RuntimeError) as error:
        reason = error.args[1] if len(error.args) > 1 else str(error)
        raise LoginError(
            f"logging in to {title} failed: {reason}",
            remedy="Check innodb_login (user, password, socket) and that the server is running",
        ) from error
    session = Session(connection, title)
    # A site's own defaults must not cut off rows, refuse long statements, or spell definitions in another way.
    session.execute("SET NAMES utf8mb4")
    session.execute(
        f"SET SESSION sql_mode='', time_zone='+00:00', wait_timeout={IDLE_SECONDS}, sql_quote_show_create=1, sql_big_selects=1,"
        f" sql_select_limit={ALL_ROWS}"
    )
    return session


class LoginError(InnodbError):
    """The server can't be reached or does not let us in."""


def wait_for_session(login: Login, title: str, seconds: float, alive: Any) -> Session:
    """A session as soon as the server answers; gives up after seconds, or when alive() says that the process has ended."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return connect(login, title)
        except LoginError:
            if not alive():
                break
            if time.monotonic() > deadline:
                raise
        time.sleep(RETRY_SECONDS)
    raise InnodbError(f"{title} ended while it was starting")


def require_driver() -> None:
    """InnodbError when PyMySQL is missing in the Python that runs the modules on the host."""
    if not HAS_PYMYSQL:
        raise InnodbError(
            "the Python library PyMySQL is missing on the host",
            remedy="Install it for the Python that Ansible uses there (Debian: apt install python3-pymysql) and run again",
        )

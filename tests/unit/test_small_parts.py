# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Errors as sentences, identifiers and logins of a session, command lines of units, and who may pass a directory."""

from __future__ import annotations

import os
import tempfile

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import UNCHANGED, InnodbError, StatementError, sentence
from ansible_collections.pagesmith.innodb.plugins.module_utils.service import parse_exec_start
from ansible_collections.pagesmith.innodb.plugins.module_utils.session import Login, quote, statement_error, table_name
from ansible_collections.pagesmith.innodb.plugins.module_utils.work_directory import file_system_of, passable


@pytest.mark.parametrize(
    ("text", "expected"), [("it broke", "it broke."), (" it broke. \n", "it broke."), ("why?", "why?"), ("no!", "no!"), ("t.ibd", "t.ibd.")]
)
def test_sentence(text, expected):
    assert sentence(text) == expected


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InnodbError("it broke"), f"it broke. {UNCHANGED}"),
        (InnodbError("it broke", remedy="Mend it"), f"it broke. {UNCHANGED} Mend it."),
        (InnodbError("it broke.", state="", remedy="Mend it."), "it broke. Mend it."),
        (InnodbError("it broke", state="It is half done", remedy=""), "it broke. It is half done."),
        (StatementError("no such table", 1146, "reason"), "no such table."),
    ],
)
def test_error(error, text):
    assert str(error) == text


def test_with_state_keeps_the_remedy_unless_there_is_a_better_one():
    error = InnodbError("it broke", remedy="Mend it")
    assert str(error.with_state("Rolled back")) == "it broke. Rolled back. Mend it."
    assert str(error.with_state("Rolled back", "Run again")) == "it broke. Rolled back. Run again."
    assert str(error) == f"it broke. {UNCHANGED} Mend it."


@pytest.mark.parametrize(("name", "quoted"), [("t", "`t`"), ("a b", "`a b`"), ("`", "````"), ("a`; DROP", "`a``; DROP`"), ("", "``")])
def test_quote(name, quoted):
    assert quote(name) == quoted
    assert table_name(name, "t") == f"{quoted}.`t`"


def test_a_login_never_shows_its_password():
    login = Login("root", "secret", host="db", config_file="/root/.my.cnf")
    for shown in (repr(login), str(login), f"{login}", repr([login]), repr(login.through("/run/other.sock"))):
        assert "secret" not in shown
        assert "root" in shown


@pytest.mark.parametrize(
    ("login", "arguments"),
    [
        (Login(), {"user": "root"}),
        (Login(config_file="/root/.my.cnf"), {"read_default_file": "/root/.my.cnf"}),
        (Login("a", "", port=3307), {"user": "a", "password": "", "port": 3307}),
        (Login("a", ca_cert="/ca", check_hostname=False), {"user": "a", "ssl": {"ca": "/ca", "check_hostname": False}}),
        (Login("a", check_hostname=True), {"user": "a"}),
    ],
    ids=range(5),
)
def test_arguments_of_a_login(login, arguments):
    assert login.arguments() == arguments


def test_the_same_account_through_another_socket():
    login = Login("a", "secret", host="db", port=3306, ca_cert="/ca", connect_timeout=5).through("/run/x.sock")
    # An account that requires TLS requires it through a socket too.
    assert login.arguments() == {"user": "a", "password": "secret", "unix_socket": "/run/x.sock", "ssl": {"ca": "/ca"}}
    assert login.connect_timeout == 5


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (ValueError(1146, "Table 'a.t' doesn't exist"), 1146, "Table 'a.t' doesn't exist"),
        (OSError("broken pipe"), 0, "broken pipe"),
        (AttributeError(), 0, "AttributeError"),
    ],
    ids=range(3),
)
def test_statement_error(error, code, reason):
    found = statement_error("the server", "SELECT\n  1", error)
    assert (found.code, found.reason) == (code, reason)
    assert str(found) == f"the server refused 'SELECT 1': {reason} (error {code})."


def test_only_the_beginning_of_a_statement_is_shown():
    assert f"'{'x' * 117}...'" in str(statement_error("the server", "x" * 500, OSError("gone")))


def exec_start(command: str) -> str:
    """The property as systemctl show prints it."""
    return f"{{ path=/usr/sbin/mariadbd ; argv[]={command} ; ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 }}"


@pytest.mark.parametrize(
    ("command", "environment", "expected"),
    [
        ("/usr/sbin/mariadbd", "", ["/usr/sbin/mariadbd"]),
        ("/usr/sbin/mariadbd $MYSQLD_OPTS $_WSREP_NEW_CLUSTER", "", ["/usr/sbin/mariadbd"]),
        ("/usr/sbin/mariadbd $MYSQLD_OPTS", 'LANG=C "MYSQLD_OPTS=--port=1 --user=a"', ["/usr/sbin/mariadbd", "--port=1", "--user=a"]),
        ("/usr/sbin/mariadbd ${OPTS}", "OPTS=--port=1", ["/usr/sbin/mariadbd", "--port=1"]),
        ("/usr/sbin/mysqld --defaults-file=/etc/${A}.cnf --x=${B}", "A=b", ["/usr/sbin/mysqld", "--defaults-file=/etc/b.cnf", "--x="]),
        # Of the two spellings systemd fills in only the other one within a word, and never splits it.
        ("/usr/sbin/mysqld ${A}", "'A=--init-connect=SET @a'", ["/usr/sbin/mysqld", "--init-connect=SET @a"]),
        ("/usr/sbin/mysqld --defaults-group-suffix=-$A", "A=b", ["/usr/sbin/mysqld", "--defaults-group-suffix=-$A"]),
    ],
)
def test_parse_exec_start(command, environment, expected):
    assert parse_exec_start(exec_start(command), environment) == expected


def test_parse_exec_start_of_a_unit_without_a_command():
    assert parse_exec_start("", "") == []


OTHER = 54321  # a user and a group that own nothing here


@pytest.fixture
def public():
    """A directory that everybody can reach, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o755)
        os.makedirs(os.path.join(path, "inner", "deep"))
        os.chmod(os.path.join(path, "inner", "deep"), 0o755)
        yield path


@pytest.mark.parametrize(
    ("mode", "own_group", "passes"),
    [(0o755, False, True), (0o711, False, True), (0o710, True, True), (0o710, False, False), (0o744, False, False), (0o701, True, False)],
    ids=lambda value: oct(value) if isinstance(value, int) and value > 1 else str(value),
)
def test_passable(public, mode, own_group, passes):
    inner = os.path.join(public, "inner")
    os.chmod(inner, mode)
    gid = os.stat(inner).st_gid if own_group else OTHER
    assert passable(os.path.join(inner, "deep", "missing"), OTHER, gid) == (None if passes else inner)


def test_root_passes_everywhere(public):
    os.chmod(os.path.join(public, "inner"), 0o000)
    assert passable(os.path.join(public, "inner"), 0, 0) is None
    os.chmod(os.path.join(public, "inner"), 0o755)


def test_file_system_of_what_is_missing(tmp_path):
    assert file_system_of(str(tmp_path / "a" / "b")) == str(tmp_path)
    assert file_system_of(str(tmp_path)) == str(tmp_path)

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What can be wrong before a migration begins: one clear message each, and the server and its files as before."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from content import read_content, require_equal
from disks import command, mounted, small_disk
from harness import CASES, USER, Refused, Sandbox, make_base, program

from ansible_collections.pagesmith.innodb.plugins.module_utils import facts, session
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.instance import InstanceSpec
from ansible_collections.pagesmith.innodb.plugins.module_utils.session import Login

SECRET = "a secret that nobody may see"


@pytest.fixture(scope="module")
def server() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        sandbox.sql((CASES / "shop.sql").read_text())
        sandbox.restart()
        yield sandbox


@contextmanager
def unchanged(server: Sandbox) -> Iterator[None]:
    """Files, processes and data of the server are the same at the end of the block."""
    pids, files = server.servers(), server.snapshot()
    with server.connect() as connection:
        content = read_content(connection)
    yield
    assert server.servers() == pids
    assert server.snapshot() == files
    with server.connect() as connection:
        require_equal(content, read_content(connection))


def error_of(server: Sandbox, size: str = "8k", **options: Any) -> InnodbError:
    """The error of a migration that can't even be judged: what failed, the state, the remedy."""
    with unchanged(server), pytest.raises(InnodbError) as caught:
        server.migrate(size, **options)
    error = caught.value
    assert error.failed and error.state and error.remedy, str(error)
    assert SECRET not in str(error) + repr(error)
    return error


def blockers_of(server: Sandbox, size: str = "8k", **options: Any) -> dict[str, str]:
    """The blockers of a migration by id, each with message and remedy."""
    with unchanged(server), pytest.raises(Refused) as caught:
        server.migrate(size, **options)
    for blocker in caught.value.blockers:
        assert blocker.object and blocker.message and blocker.remedy
    return {blocker.id: f"{blocker.message} {blocker.remedy}" for blocker in caught.value.blockers}


def only(blockers: dict[str, str], name: str) -> str:
    assert list(blockers) == [name], blockers
    return blockers[name]


@pytest.mark.parametrize("size", ["9k", "8", "zero", "-8k", "128k"])
def test_wrong_page_size(server: Sandbox, size: str) -> None:
    error = error_of(server, size)
    assert size in error.failed and "16k" in error.remedy


def test_wrong_password(server: Sandbox) -> None:
    server.sql("CREATE USER keyed@localhost IDENTIFIED BY 'right'; GRANT ALL ON *.* TO keyed@localhost")
    error = error_of(server, login=Login(user="keyed", password=SECRET))
    assert "keyed" in error.failed and "innodb_login" in error.remedy


def test_account_without_rights(server: Sandbox) -> None:
    server.sql("CREATE USER limited@localhost IDENTIFIED BY 'x'; GRANT SELECT, RELOAD, SUPER ON *.* TO limited@localhost")
    blockers = blockers_of(server, login=Login(user="limited", password="x"))
    assert "limited@localhost" in blockers["privileges"]


def test_driver_missing(server: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "HAS_PYMYSQL", False)
    assert "PyMySQL" in error_of(server).failed


def test_initialisation_program_missing(server: Sandbox) -> None:
    """The program is hidden in a mount name space of the migration's own."""
    tool = os.path.realpath(program("mariadb-install-db"))
    script = 'mount --bind /dev/null "$1" && shift && exec "$@"'
    runner = str(Path(__file__).resolve().parent / "run_migration.py")
    with unchanged(server):
        said = command("unshare", "--mount", "sh", "-c", script, "sh", tool, sys.executable, runner, server.base, "8k")
    assert "mariadb-install-db is missing" in said and "Install the package" in said


def test_option_file_missing(server: Sandbox) -> None:
    missing = str(server.base / "nowhere.cnf")
    error = error_of(server, spec=InstanceSpec(defaults_file=missing, manager="process"))
    assert missing in error.failed


@contextmanager
def option_file(server: Sandbox, name: str, text: str) -> Iterator[Path]:
    """One more file in the included directory, which a running server does not see."""
    path = server.include / name
    path.write_text(text)
    try:
        yield path
    finally:
        path.unlink()


def test_option_file_that_the_server_does_not_take(server: Sandbox) -> None:
    with option_file(server, "typo.cnf", "[mysqld]\ninnodb_pagesize=8k\n"):
        assert "innodb_pagesize" in error_of(server).failed


def test_option_file_that_includes_what_is_not_there(server: Sandbox) -> None:
    with option_file(server, "more.cnf", "[mysqld]\n!include /nonexistent/file.cnf\n"):
        assert "/nonexistent/file.cnf" in error_of(server).failed


def test_option_set_later_elsewhere(server: Sandbox) -> None:
    with option_file(server, "zzz-later.cnf", "[mysqld]\ninnodb-page-size = 16k\n") as path:
        (blocker,) = [text for name, text in blockers_of(server).items() if name.startswith("option_overridden")]
        assert str(path) in blocker


def test_server_would_not_start_with_the_option_file(server: Sandbox) -> None:
    config = server.config(65536) + "innodb_buffer_pool_size=8M\n"
    blockers = blockers_of(server, "64k", config=config)
    assert "innodb_buffer_pool_size" in str(blockers)


def test_no_data_directory(server: Sandbox) -> None:
    other = server.base / "other.cnf"
    empty = server.base / "empty"
    empty.mkdir()
    shutil.chown(empty, USER, USER)
    other.write_text(f"[mysqld]\ndatadir={empty}\nsocket={server.base}/other.sock\n!includedir {server.include}\n")
    blockers = blockers_of(server, spec=InstanceSpec(defaults_file=str(other), manager="process"))
    assert {"data_directory", "server_down"} <= set(blockers)
    assert str(empty) in blockers["data_directory"]


def test_prepared_transaction(server: Sandbox) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        for statement in ("XA START 'x'", "INSERT INTO shop.visits VALUES ('1999-01-01', 1)", "XA END 'x'", "XA PREPARE 'x'"):
            cursor.execute(statement)
        assert "XA" in blockers_of(server)["prepared_xa"]
        cursor.execute("XA ROLLBACK 'x'")


def test_long_transaction(server: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "LONG_TRANSACTION_SECONDS", 1)
    with server.connect(autocommit=False) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM shop.customer FOR UPDATE")
        number = connection.thread_id()
        time.sleep(2.5)
        assert f"connection {number}" in only(blockers_of(server), "long_transaction")


def test_engine_that_is_not_known(server: Sandbox) -> None:
    server.sql("INSTALL SONAME 'ha_sphinx'")
    server.sql("CREATE TABLE shop.search (id BIGINT UNSIGNED NOT NULL, w INT NOT NULL, q VARCHAR(9) NOT NULL, INDEX (q)) ENGINE=SPHINX")
    try:
        blocker = only(blockers_of(server), "engine of shop.search")
        assert "SPHINX" in blocker and "shop.search" in blocker
    finally:
        server.sql("DROP TABLE shop.search; UNINSTALL SONAME 'ha_sphinx'")


def test_table_whose_engine_is_gone(server: Sandbox) -> None:
    """Without its plugin the server does not even list the table, but its file is there."""
    server.sql("INSTALL SONAME 'ha_archive'; CREATE TABLE shop.old (id INT) ENGINE=ARCHIVE; UNINSTALL SONAME 'ha_archive'")
    try:
        blocker = only(blockers_of(server), "orphan shop/old.ARZ")
        assert "old.ARZ" in blocker
    finally:
        server.sql("INSTALL SONAME 'ha_archive'; DROP TABLE shop.old; UNINSTALL SONAME 'ha_archive'")


def test_table_that_cannot_be_read(server: Sandbox) -> None:
    server.sql("CREATE TABLE shop.damaged (id INT) ENGINE=MyISAM; FLUSH TABLES")
    (server.datadir / "shop" / "damaged.MYI").write_bytes(b"no index")
    try:
        with pytest.raises(Refused) as caught:
            server.migrate("8k")
        assert any(blocker.object == "shop.damaged" and blocker.remedy for blocker in caught.value.blockers)
    finally:
        server.sql("DROP TABLE shop.damaged")


def test_symbolic_link_among_the_schemas(server: Sandbox) -> None:
    target, link = server.base / "elsewhere", server.datadir / "linked"
    target.mkdir()
    shutil.chown(target, USER, USER)
    link.symlink_to(target)
    try:
        server.sql("CREATE TABLE linked.t (id INT PRIMARY KEY)")
        assert str(link) in only(blockers_of(server), "symbolic_link")
    finally:
        server.sql("DROP TABLE linked.t")
        link.unlink()


def test_immutable_directory(server: Sandbox) -> None:
    command("chattr", "+i", server.base)
    try:
        assert "immutable" in blockers_of(server)["unwritable"]
    finally:
        command("chattr", "-i", server.base)


def test_read_only_directory_of_option_files(server: Sandbox) -> None:
    with mounted(server.include, server.include, "--bind"):
        command("mount", "-o", "remount,bind,ro", server.include)
        assert "read-only" in only(blockers_of(server), "unwritable")


def test_directory_of_an_image_layer() -> None:
    base, upper, work = make_base(), make_base(), make_base()
    shutil.chown(upper, USER, USER)
    try:
        with Sandbox(base=base) as server:
            server.stop()
            with mounted(Path("overlay"), base, "-t", "overlay", "-o", f"lowerdir={base},upperdir={upper},workdir={work}"):
                server.start()
                assert "image" in only(blockers_of(server), "unwritable")
                server.stop()
            server.start()
    finally:
        for path in (base, upper, work):
            shutil.rmtree(path)


def test_option_files_without_a_directory(server: Sandbox) -> None:
    text = server.option_file.read_text()
    server.option_file.write_text(text.replace("!includedir", "#"))
    try:
        assert "!includedir" in only(blockers_of(server), "option_files")
    finally:
        server.option_file.write_text(text)


def test_server_down(server: Sandbox) -> None:
    server.stop()
    try:
        files = server.snapshot()
        with pytest.raises(Refused) as caught:
            server.migrate("8k")
        assert [blocker.id for blocker in caught.value.blockers] == ["server_down"]
        assert (server.snapshot(), server.servers()) == (files, [])
    finally:
        server.start()


def test_several_reasons_in_one_answer(server: Sandbox) -> None:
    with option_file(server, "zzz-later.cnf", "[mysqld]\ninnodb_page_size=16k\n"):
        blockers = blockers_of(server, "64k", login=Login(user="limited", password="x"))
    assert "privileges" in blockers and any(name.startswith("option_overridden") for name in blockers)


def test_broken_view_is_no_obstacle(server: Sandbox) -> None:
    server.sql("CREATE TABLE shop.gone (id INT); CREATE VIEW shop.broken AS SELECT * FROM shop.gone; DROP TABLE shop.gone")
    with unchanged(server):
        assert server.plan("8k").outcome == "migrate"


def test_disk_too_small() -> None:
    with small_disk(700 << 20) as base, Sandbox(base=base) as server:
        assert str(base) in only(blockers_of(server), "space")


def test_files_of_a_fixed_size() -> None:
    """A system tablespace that may not grow is too small for large pages, and so is a small buffer pool."""
    with Sandbox(settings={"innodb_data_file_path": "ibdata1:12M", "innodb_buffer_pool_size": "8M"}) as server:
        assert "innodb_buffer_pool_size" in blockers_of(server, "64k")["buffer_pool"]
        server.settings["innodb_buffer_pool_size"] = "64M"
        server.write_options()
        server.restart()
        assert "innodb_data_file_path" in only(blockers_of(server, "64k"), "rehearsal")


def test_attempt_by_hand_that_was_left_half_done() -> None:
    """Directory renamed, new one made, option changed, and nothing restored: not a server that is there already."""
    with Sandbox() as server:
        server.sql("CREATE DATABASE app; CREATE TABLE app.t (id INT PRIMARY KEY)")
        server.stop()
        old = server.base / "data.old"
        server.datadir.rename(old)
        with option_file(server, "size.cnf", "[mysqld]\ninnodb_page_size=8k\n"):
            server.initialise()
            server.start()
            for size in ("8k", "4k"):
                blockers = blockers_of(server, size)
                assert str(old) in blockers["manual_attempt"]


def test_unknown_program_of_the_server(server: Sandbox) -> None:
    spec = InstanceSpec(defaults_file=str(server.option_file), manager="process", program="/nonexistent/mariadbd")
    assert "/nonexistent/mariadbd" in error_of(server, spec=spec).failed

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The collections of objects and of tables in tests/cases: migrated where they fit, refused before the fence where they do not."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from content import differences, read_content, require_equal
from harness import CASES, USER, Refused, Sandbox

OBJECTS = (CASES / "objects-mariadb.sql").read_text()
FITS = (CASES / "fits.sql").read_text()
# Plugins that the objects need, and what in the text of a line tells that it needs one.
PLUGINS = {
    "auth_ed25519": "identified via ed25519",
    "ha_archive": "engine=archive",
    "ha_blackhole": "engine=blackhole",
    "ha_connect": "engine=connect",
    "ha_federatedx": "engine=federated",
    "ha_spider": "engine=spider",
}
SOURCE = "16k"
SIZES = ("4k", "8k", "32k", "64k")
HISTORY = "table app.svt history"
MEMORY = "table app.eng_mem content"
OPTIONS = "table app.opts creation"


def load_objects(server: Sandbox) -> None:
    """The objects, but for the lines whose plugin this host does not have."""
    directory = server.base / "external"
    directory.mkdir()
    shutil.chown(directory, USER, USER)
    plugins = server.sql("SELECT @@plugin_dir").strip()
    text = OBJECTS.replace("@EXTERNAL_DIR@", str(directory))
    for plugin, mark in PLUGINS.items():
        if shutil.os.path.exists(f"{plugins}/{plugin}.so"):
            server.sql(f"INSTALL SONAME '{plugin}'")
        else:
            text = "".join(line for line in text.splitlines(keepends=True) if mark not in line)
    if "identified via ed25519" not in text:
        text = text.replace(" to u2@'%'", " to u1@localhost")
    server.sql(text)


@pytest.fixture(scope="module")
def objects() -> Iterator[Sandbox]:
    """A server with every kind of object, which goes from size to size."""
    with Sandbox() as server:
        load_objects(server)
        yield server


def read(server: Sandbox) -> dict:
    with server.connect() as connection:
        return read_content(connection)


def require_equal_but(server: Sandbox, before: dict, *allowed: str) -> None:
    """Everything is the same but what was allowed, and the number of the transaction that is the beginning of svt's one row."""
    after = read(server)
    changed = {line.split(":")[0] for line in differences(before, after)}
    assert changed <= {"table app.svt rows", *allowed}
    assert server.sql("SELECT id, v FROM app.svt") == "1\t2\n"


def refusal(server: Sandbox, size: str, *allowed: str) -> dict[str, str]:
    """Blockers by id, each with all its texts; the server must be none the worse for it."""
    before, pids = read(server), server.servers()
    with pytest.raises(Refused) as caught:
        server.migrate(size, allowed)
    assert server.servers() == pids
    require_equal(before, read(server))
    for blocker in caught.value.blockers:
        assert blocker.object and blocker.message and blocker.remedy
    return {blocker.id: f"{blocker.object} {blocker.message} {blocker.remedy}" for blocker in caught.value.blockers}


def test_objects_to_8k(objects: Sandbox) -> None:
    refused = refusal(objects, "8k")
    assert set(refused) == {HISTORY, MEMORY}
    assert "app.svt" in refused[HISTORY] and HISTORY in refused[HISTORY]
    assert "app.eng_mem" in refused[MEMORY] and "1 rows" in refused[MEMORY]
    assert set(refusal(objects, "8k", MEMORY)) == {HISTORY}, "what was not allowed is refused still"
    before, current = read(objects), objects.sql("SELECT id, v FROM app.svt")
    objects.migrate("8k", [HISTORY, MEMORY])
    # Only what was allowed is lost: the rows of the one, the history of the other, whose current row has a new beginning.
    lost = [line.split(":")[0] for line in differences(before, read(objects))]
    assert lost == ["table app.eng_mem rows", "table app.svt rows"]
    assert objects.sql("SELECT COUNT(*) FROM app.eng_mem") == "0\n"
    assert objects.sql("SELECT id, v FROM app.svt") == current
    assert objects.page_size() == 8192


@pytest.mark.parametrize(("size", "reason"), [("4k", "cannot be larger than 4"), ("32k", "page_size > 16k")])
def test_objects_beyond_8k_are_refused(objects: Sandbox, size: str, reason: str) -> None:
    refused = refusal(objects, size, HISTORY, MEMORY)
    assert set(refused) == {OPTIONS}
    assert "app.opts" in refused[OPTIONS] and reason in refused[OPTIONS]


def test_objects_to_4k_with_the_allowed_difference(objects: Sandbox) -> None:
    before = read(objects)
    objects.migrate("4k", [HISTORY, MEMORY, OPTIONS])
    require_equal_but(objects, before, "table app.opts properties")
    assert objects.page_size() == 4096


def test_objects_to_64k_without_the_table(objects: Sandbox) -> None:
    assert OPTIONS in refusal(objects, "64k", HISTORY, MEMORY)
    objects.sql("DROP TABLE app.opts")
    before = read(objects)
    objects.migrate("64k", [HISTORY, MEMORY])
    require_equal_but(objects, before)
    assert objects.page_size() == 65536


class Table(NamedTuple):
    """A table of fits.sql: its name, the statement, and by size the number of the server's error, or ok."""

    name: str
    statement: str
    verdicts: dict[str, str]


def parse_fits() -> list[Table]:
    tables = []
    for verdicts, statement in re.findall(r"^-- MariaDB (.*)\n-- MySQL .*\n(create table .*;)$", FITS, re.MULTILINE):
        name = re.match(r"create table (\w+)", statement).group(1)
        tables.append(Table(name, statement, dict(part.split("=") for part in verdicts.split())))
    assert len(tables) == FITS.count("create table ")
    # What the source itself refuses can't be there.
    return [table for table in tables if table.verdicts[SOURCE] == "ok"]


@pytest.fixture(scope="module")
def fits() -> Iterator[Sandbox]:
    with Sandbox() as server:
        for table in parse_fits():
            server.sql(f"CREATE DATABASE {table.name}; USE {table.name}; {table.statement}")
        yield server


@pytest.mark.parametrize("size", SIZES)
def test_verdict_of_the_plan(fits: Sandbox, size: str) -> None:
    expected = {f"table {table.name}.{table.name} creation": table.verdicts[size] for table in parse_fits()}
    expected = {name: error for name, error in expected.items() if error != "ok"}
    plan = fits.plan(size)
    blockers = {blocker.id: blocker.message for blocker in plan.blockers}
    assert blockers.keys() == expected.keys()
    for name, error in expected.items():
        assert f"error {error}" in blockers[name]


@pytest.mark.parametrize("size", ["8k", "4k", "64k"])
def test_what_fits_is_migrated(fits: Sandbox, size: str) -> None:
    """From size to size; what does not fit is dropped on the way."""
    schemas = fits.sql("SHOW DATABASES").split()
    for table in parse_fits():
        if table.verdicts[size] != "ok" and table.name in schemas:
            fits.sql(f"DROP DATABASE {table.name}")
        elif table.name in schemas:
            columns = fits.sql(f"SELECT COUNT(*) FROM information_schema.columns WHERE table_schema='{table.name}'")
            assert int(columns) > 0
    before = read(fits)
    fits.migrate(size)
    require_equal(before, read(fits))

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Engines from their banners, and the table of traits: no gaps, no overlaps."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.engines import MARIADB, MYSQL, PERCONA, ROWS, Engine, parse_banner
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES

BANNERS = {
    "/usr/libexec/mysqld  Ver 10.5.23-MariaDB for Linux on x86_64 (MariaDB Server)": (MARIADB, (10, 5, 23)),
    "/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n": (MARIADB, (10, 11, 19)),
    "mariadbd  Ver 11.8.9-MariaDB-log from Debian for debian-linux-gnu on x86_64 (-- Please help get to 10k stars)": (MARIADB, (11, 8, 9)),
    "/usr/sbin/mysqld  Ver 5.6.51 for linux-glibc2.12 on x86_64 (MySQL Community Server (GPL))": (MYSQL, (5, 6, 51)),
    "/usr/sbin/mysqld  Ver 8.0.42 for Linux on x86_64 (MySQL Community Server - GPL)": (MYSQL, (8, 0, 42)),
    "/usr/sbin/mysqld  Ver 9.7.0 for Linux on x86_64 (MySQL Community Server - GPL)": (MYSQL, (9, 7, 0)),
    "/usr/sbin/mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28, Revision 47601f19)": (PERCONA, (8, 0, 36)),
    # The banner begins with the program's path, which may name anything.
    "/opt/mariadb-old/mysql/bin/mysqld  Ver 8.0.42 for Linux on x86_64 (MySQL Community Server - GPL)": (MYSQL, (8, 0, 42)),
    "/opt/percona/bin/mysqld  Ver 8.4.5 for Linux on x86_64 (MySQL Community Server - GPL)": (MYSQL, (8, 4, 5)),
}
MARIADB_VERSIONS = [(10, 5, 23), (10, 6, 0), (10, 11, 19), (11, 4, 0), (11, 8, 9), (12, 0, 1)]
MYSQL_ENGINES = [
    Engine(name, version, "")
    for name, version in ((MYSQL, (5, 6, 51)), (MYSQL, (5, 7, 44)), (MYSQL, (8, 0, 42)), (MYSQL, (9, 7, 0)), (PERCONA, (8, 0, 36)))
]
TRAITS = sorted({row.name for row in ROWS})


def matching_rows(name: str, engine: Engine) -> list:
    return [row for row in ROWS if row.name == name and engine.name in row.engines and row.since <= engine.version < row.until]


@pytest.mark.parametrize(("banner", "expected"), list(BANNERS.items()))
def test_parse_banner(banner, expected):
    engine = parse_banner(banner)
    assert (engine.name, engine.version) == expected
    assert engine.banner == banner.strip()


@pytest.mark.parametrize("banner", ["", "bash: mysqld: command not found", "postgres (PostgreSQL) 15.6", "Ver 8"])
def test_parse_banner_refuses(banner):
    with pytest.raises(InnodbError, match="not the version of a known server"):
        parse_banner(banner)


@pytest.mark.parametrize("version", MARIADB_VERSIONS, ids=str)
@pytest.mark.parametrize("trait", TRAITS)
def test_every_trait_has_one_row_for_each_mariadb(trait, version):
    assert len(matching_rows(trait, Engine(MARIADB, version, ""))) == 1


@pytest.mark.parametrize("engine", MYSQL_ENGINES, ids=lambda engine: engine.title)
@pytest.mark.parametrize("trait", TRAITS)
def test_no_trait_has_two_rows_for_a_mysql(trait, engine):
    assert len(matching_rows(trait, engine)) <= 1


@pytest.mark.parametrize(
    ("name", "version", "largest"),
    [
        (MYSQL, (5, 6, 24), 16384),
        (MYSQL, (5, 7, 5), 16384),
        (MYSQL, (5, 7, 6), 65536),
        (PERCONA, (5, 5, 62), 16384),
        (PERCONA, (8, 0, 36), 65536),
    ],
)
def test_page_sizes_of_older_servers(name, version, largest):
    assert max(Engine(name, version, "").trait("page_sizes")) == largest


def test_mysql_5_5_has_one_page_size_and_no_option_for_it():
    with pytest.raises(InnodbError, match="'page_sizes' is not known"):
        Engine(MYSQL, (5, 5, 62), "").trait("page_sizes")


@pytest.mark.parametrize("version", MARIADB_VERSIONS, ids=str)
def test_mariadb_is_supported(version):
    assert Engine(MARIADB, version, "").supported


@pytest.mark.parametrize("engine", MYSQL_ENGINES, ids=lambda engine: engine.title)
def test_mysql_is_supported_where_it_was_run(engine):
    assert engine.supported == (engine.name == MYSQL and engine.version[:2] == (9, 7))


@pytest.mark.parametrize("version", [(8, 0, 42), (8, 4, 5), (9, 2, 0), (9, 7, 4), (9, 9, 0)], ids=str)
@pytest.mark.parametrize("name", [MYSQL, PERCONA])
@pytest.mark.parametrize("trait", TRAITS)
def test_every_trait_has_one_row_for_each_mysql_with_a_dictionary(trait, name, version):
    assert len(matching_rows(trait, Engine(name, version, ""))) == 1


@pytest.mark.parametrize(
    ("name", "version", "sizes"),
    [
        (MARIADB, (10, 5, 23), PAGE_SIZES),
        (MYSQL, (5, 6, 51), (4096, 8192, 16384)),
        (MYSQL, (5, 7, 5), (4096, 8192, 16384)),
        (MYSQL, (5, 7, 6), PAGE_SIZES),
        (PERCONA, (8, 0, 36), PAGE_SIZES),
    ],
)
def test_page_sizes(name, version, sizes):
    assert Engine(name, version, "").trait("page_sizes") == sizes


@pytest.mark.parametrize("engine", [Engine(MARIADB, (10, 11, 19), ""), *MYSQL_ENGINES], ids=lambda engine: engine.title)
def test_every_page_size_of_an_engine_has_a_minimum_pool(engine):
    assert set(engine.trait("page_sizes")) <= set(engine.trait("minimum_pool_mib"))


@pytest.mark.parametrize(("version", "loadable"), [((10, 10, 7), False), ((10, 11, 0), True), ((11, 8, 9), True)], ids=str)
def test_history_is_inserted_where_it_is_loadable(version, loadable):
    engine = Engine(MARIADB, version, "")
    assert engine.trait("history_loadable") is loadable
    assert ("system_versioning_insert_history" in engine.trait("load_session")) is loadable


@pytest.mark.parametrize(
    ("name", "title"), [(MARIADB, "MariaDB 10.11.19"), (MYSQL, "MySQL 10.11.19"), (PERCONA, "Percona Server 10.11.19")]
)
def test_unknown_trait_names_the_engine(name, title):
    engine = Engine(name, (10, 11, 19), "")
    assert engine.title == title
    with pytest.raises(InnodbError, match=f"{title} is not supported: 'colour'"):
        engine.trait("colour")

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Servers whose definitions lie in their dictionary: privileges, files that nobody knows, what may be deleted for what is carried."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import data_directory, dictionary_facts
from ansible_collections.pagesmith.innodb.plugins.module_utils.engines import MARIADB, MYSQL, STATIC_PRIVILEGES, Engine
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError

NEW, OLD = Engine(MYSQL, (9, 7, 4), ""), Engine(MARIADB, (10, 11, 19), "")
STATIC = f"GRANT {', '.join(sorted(STATIC_PRIVILEGES))} ON *.* TO `root`@`localhost` WITH GRANT OPTION"
DYNAMIC = "GRANT BACKUP_ADMIN,XA_RECOVER_ADMIN ON *.* TO `root`@`localhost`"
ALL = "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost`"


@pytest.mark.parametrize(
    ("engine", "grants", "enough"),
    [
        (OLD, [ALL], True),
        (OLD, ["GRANT SELECT ON *.* TO `u`@`%`"], False),
        (NEW, [STATIC, DYNAMIC], True),
        (NEW, [STATIC], False),
        (NEW, [STATIC.replace("FILE, ", ""), DYNAMIC], False),
        (NEW, [STATIC.replace("*.*", "`app`.*"), DYNAMIC], False),
        (NEW, [STATIC, DYNAMIC, "REVOKE SELECT ON `mysql`.* FROM `root`@`localhost`"], False),
    ],
)
def test_privileges(engine, grants, enough):
    assert dictionary_facts.has_privileges(grants, engine) is enough


def test_files_that_the_server_does_not_know(tmp_path):
    files = ("known.ibd", "lost.ibd", "m_401.sdi", "m.MYD", "m.MYI", "gone.MYD", "p_7.sdi", "p#p#a.ARZ")
    (tmp_path / "app").mkdir()
    for name in files:
        (tmp_path / "app" / name).touch()
    (tmp_path / "#innodb_temp").mkdir()
    (tmp_path / "#innodb_temp" / "x.ibd").touch()
    known = {str(tmp_path.resolve() / "app" / "known.ibd"), "/srv/tables/app/far.ibd"}
    assert dictionary_facts.orphaned_files(known, str(tmp_path)) == ["app/gone.MYD", "app/lost.ibd"]
    assert dictionary_facts.external_files(known, str(tmp_path)) == ["/srv/tables/app/far.ibd"]


def test_what_a_new_server_made_is_deleted_in_a_build_alone(tmp_path):
    build = tmp_path / "data.pagesmith-new"
    build.mkdir()
    for directory in (tmp_path, build):
        (directory / "auto.cnf").touch()
        (directory / "ibdata1").touch()
    data_directory.remove_files(str(build), ["*.cnf"])
    assert [path.name for path in build.iterdir()] == ["ibdata1"]
    with pytest.raises(InnodbError, match="not a directory that a migration built"):
        data_directory.remove_files(str(tmp_path), ["*.cnf"])
    assert (tmp_path / "auto.cnf").exists()

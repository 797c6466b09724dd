# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The rehearsal of schemas that are in wide use, with the data they come with. tests/schemas/run fetches them and runs this."""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration"))

from harness import Sandbox, run  # noqa: E402

from ansible_collections.pagesmith.innodb.plugins.module_utils import candidates, scratch  # noqa: E402
from ansible_collections.pagesmith.innodb.plugins.module_utils.instance import find_instance  # noqa: E402
from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import plan_paths, read_layout  # noqa: E402

FILES = ROOT / ".cache" / "schemas"
SIZES = (4096, 8192, 16384, 32768, 65536)
SAMPLE_BYTES = 64 << 20
ZABBIX = "zabbix-server-mysql/usr/share/zabbix-server-mysql/"
SCHEMAS = {
    "zabbix": (f"{ZABBIX}schema.sql.gz", f"{ZABBIX}images.sql.gz", f"{ZABBIX}data.sql.gz"),
    "roundcube": ("roundcube-core/usr/share/dbconfig-common/data/roundcube/install/mysql",),
    "icingadb": ("icingadb/usr/share/icingadb/schema/mysql/schema.sql",),
    "icinga2": ("icinga2-ido-mysql/usr/share/icinga2-ido-mysql/schema/mysql.sql",),
}


def text_of(path: Path) -> str:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()


@pytest.fixture(scope="module")
def result() -> Iterator[dict[str, Any]]:
    """What the rehearsal says of a server that has all of them."""
    with Sandbox() as server:
        for name, files in SCHEMAS.items():
            # utf8mb4_bin is what Zabbix asks for.
            server.sql(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
            for file in files:
                server.sql(text_of(FILES / file), name)
        options = server.options()
        instance = find_instance(run, options.spec)
        paths = plan_paths(read_layout(instance), "rehearsal")
        with scratch.scratch_directory(str(server.base)) as directory:
            yield candidates.rehearse_candidates(run, instance, options.login, paths, SIZES, SAMPLE_BYTES, directory)


def refused(result: dict[str, Any], size: int, schema: str) -> dict[str, str]:
    """The tables of a schema that are refused at this page size, with the server's errors."""
    problems = result["page_sizes"][str(size)]["problems"]
    return {each["object"]: each["after"] for each in problems if each["object"].startswith(f"table {schema}.")}


@pytest.mark.parametrize("schema", ["roundcube", "icinga2"])
@pytest.mark.parametrize("size", [8192, 16384, 32768, 65536])
def test_schemas_that_fit(result, schema, size):
    assert refused(result, size, schema) == {}


@pytest.mark.parametrize("schema", ["zabbix", "icingadb"])
@pytest.mark.parametrize("size", [16384, 32768, 65536])
def test_schemas_that_fit_16k_and_more(result, schema, size):
    assert refused(result, size, schema) == {}


def test_icingadb_does_not_fit_8k(result):
    """Names of comments and downtimes are keys of 548 characters of four bytes; those of Icinga 2's older database are shorter."""
    found = refused(result, 8192, "icingadb")
    assert set(found) == {"table icingadb.comment", "table icingadb.downtime"}
    assert all("max key length is 1536" in error for error in found.values())


def refused_by_a_server(size: str, name: str, text: str) -> set[str]:
    """The tables of a schema of which a server with this page size refuses a statement, with nothing of the collection between."""
    found = set()
    with Sandbox(size=size) as server:
        server.sql(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
        connection = pymysql.connect(unix_socket=str(server.socket), user="root", database=name)
        with connection, connection.cursor() as cursor:
            for statement in re.findall(r"^CREATE .*?;$", text, re.MULTILINE | re.DOTALL):
                try:
                    cursor.execute(statement)
                except pymysql.Error:
                    found.add(re.search(r"(?:TABLE|ON) `(\w+)`", statement)[1])
    return {f"table {name}.{table}" for table in found}


def test_zabbix_does_not_fit_8k(result):
    """What is told is what a server with such pages says when it is given the schema itself."""
    found = refused(result, 8192, "zabbix")
    assert set(found) == refused_by_a_server("8k", "zabbix", text_of(FILES / SCHEMAS["zabbix"][0]))
    assert set(found) == {"table zabbix.config", "table zabbix.items", "table zabbix.problem_tag"}
    assert "Row size too large" in found["table zabbix.config"]
    assert all("max key length is 1536" in found[f"table zabbix.{name}"] for name in ("items", "problem_tag"))

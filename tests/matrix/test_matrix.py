# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every server that can be run here, at every page size, with the file that the role renders for it: it starts, its log has no
warning that we caused, and it has the values that were asked for. And the table of options says what these servers do.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2
import pytest
from servers import SERVERS, DidNotStart, Instance, Server, variables
from storage import Disk

from ansible_collections.pagesmith.innodb.plugins.filter.server_options import FilterModule
from ansible_collections.pagesmith.innodb.plugins.module_utils.block_device import storage
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_choices import least_pool_bytes
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_question import FLASH, ROTATING
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_rows import (
    BUILD,
    DEPRECATED,
    FATAL,
    IGNORED,
    OPTIONS,
    SERVERS_RUN,
    WORKS,
    find_span,
)
from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES
from ansible_collections.pagesmith.innodb.plugins.module_utils.server_config import CONSEQUENCE, asked_for, compare, complaints
from ansible_collections.pagesmith.innodb.plugins.module_utils.server_options import plan_options

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "roles/nvme_config/templates"
MIB = 1 << 20
SMALL_MIB, LARGE_MIB = 256, 4096
#: Memory in MiB, kind of storage, bytes of a sector: each value of each with each of the others. Of the large pool little is touched.
HOSTS = {
    "small-rotating-512": (SMALL_MIB, ROTATING, 512),
    "large-rotating-4096": (LARGE_MIB, ROTATING, 4096),
    "small-flash-4096": (SMALL_MIB, FLASH, 4096),
    "large-flash-512": (LARGE_MIB, FLASH, 512),
    "small-unknown-4096": (SMALL_MIB, None, 4096),
    "large-unknown-512": (LARGE_MIB, None, 512),
}
NEIGHBORS = {ROTATING: "1", FLASH: "0"}


@functools.cache
def engine_of(server: Server) -> Any:
    return server.engine()


def render(server: Server, page_size: int, facts: Mapping[str, Any], wishes: Mapping[str, Any]) -> str:
    """The file as the role's template has it. facts: as the module instance_info tells them."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), trim_blocks=True, keep_trailing_newline=True)
    environment.filters.update({f"pagesmith.innodb.{name}": function for name, function in FilterModule().filters().items()})
    given = {"nvme_config_facts": facts, "nvme_config_size": page_size, "nvme_config_wishes": wishes}
    return environment.get_template("pagesmith.cnf.j2").render(given)


def facts_of(server: Server, memory_mib: int, path: Path) -> dict[str, Any]:
    return {"banner": engine_of(server).banner, "memory_bytes": memory_mib * MIB, "storage": {"datadir": storage(str(path))}}


@pytest.fixture(params=SERVERS, ids=lambda server: server.name)
def server(request: pytest.FixtureRequest) -> Server:
    assert request.param.available(), f"{request.param.name} is missing: run tests/matrix/run, which fetches it"
    return request.param


def baseline(server: Server, place: Path) -> set[str]:
    """Warnings of the server without a file of ours."""
    instance = Instance(server, place)
    instance.initialise()
    with instance.running():
        return instance.warnings()


@pytest.fixture(scope="session")
def known_warnings() -> dict[str, set[str]]:
    return {}


def prove(server: Server, base: Path, content: str, known_warnings: dict[str, set[str]]) -> dict[str, str]:
    """Start a new server with the file: no complaint that we caused, all values as asked. Its variables."""
    if server.name not in known_warnings:
        known_warnings[server.name] = baseline(server, base / "baseline")
    instance = Instance(server, base / "instance")
    instance.set_drop_in(content)
    instance.initialise()
    with instance.running() as connection:
        values = variables(connection)
    settings = asked_for(content, ["mysqld"])
    assert compare(settings, values) == []
    assert complaints(instance.log, {setting.name for setting in settings}) == []
    ours = {line for line in instance.warnings() if not CONSEQUENCE.search(line)}
    assert ours - known_warnings[server.name] == set()
    return values


def require_possible(server: Server, page_size: int) -> bool:
    """Whether this server can have these pages; where not, that it is refused beforehand."""
    if page_size in engine_of(server).trait("page_sizes"):
        return True
    with pytest.raises(InnodbError, match="can't have"):
        plan_options(engine_of(server), {"page_size": page_size}, {})
    return False


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_the_rendered_file(server, page_size, host, disks, place, known_warnings):
    memory, kind, sector = HOSTS[host]
    if not require_possible(server, page_size):
        return
    base = place[sector]
    base.mkdir()
    disks[sector].set_rotating(kind != FLASH)
    facts = facts_of(server, memory, base)
    assert facts["storage"]["datadir"]["physical_sector_bytes"] == sector
    # Of a virtual disk which says that it rotates this is not believed: somebody must say so.
    content = render(server, page_size, facts, {"storage": ROTATING if kind == ROTATING else "auto"})
    values = prove(server, base, content, known_warnings)
    assert int(values["innodb_page_size"]) == page_size
    assert int(values["innodb_buffer_pool_size"]) == memory * MIB // 2
    assert kind is None or values["innodb_flush_neighbors"] == NEIGHBORS[kind]


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_the_least_buffer_pool(server, page_size, place, known_warnings):
    """On a host with next to no memory the pool is what the page size needs, and the server starts with that."""
    if not require_possible(server, page_size):
        return
    base = place[512]
    base.mkdir()
    values = prove(server, base, render(server, page_size, facts_of(server, 8, base), {}), known_warnings)
    assert int(values["innodb_buffer_pool_size"]) == least_pool_bytes(engine_of(server), page_size)


def test_mysql_5_6_makes_another_page_size_than_it_is_asked_for(place):
    """Why the choice refuses it beforehand."""
    server = next(server for server in SERVERS if server.name == "MySQL 5.6")
    instance = Instance(server, place[512] / "instance")
    instance.set_drop_in("[mysqld]\ninnodb_page_size=32k\n")
    instance.initialise()
    with instance.running() as connection:
        assert variables(connection)["innodb_page_size"] == "16384"
    assert "adjusted to 16384" in instance.log


def test_the_table_says_which_servers_were_run(server):
    assert engine_of(server).version[:2] in [version[:2] for version in SERVERS_RUN[server.engine_name]]


@pytest.fixture(scope="module", params=SERVERS, ids=lambda server: server.name)
def probed(request: pytest.FixtureRequest, disks: dict[int, Disk]) -> Iterator[Instance]:
    """An instance for many starts."""
    base = disks[512].mount / "probed"
    instance = Instance(request.param, base)
    instance.initialise()
    yield instance
    shutil.rmtree(base)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_the_table_says_what_the_server_does(probed, option):
    """Each option of the table, also those that no file of ours has: the server starts or not, and complains or not."""
    probed.set_drop_in(f"[mysqld]\n{option.name}={option.probe}\n")
    probed.clear_log()
    try:
        with probed.running():
            state = IGNORED if complaints(probed.log, [option.name]) else WORKS
    except DidNotStart:
        assert complaints(probed.log, [option.name]), probed.log
        state = FATAL
    expected = find_span(option.name, engine_of(probed.server)).state
    allowed = {DEPRECATED: (WORKS, IGNORED), BUILD: (WORKS, FATAL)}.get(expected, (expected,))
    assert state in allowed, probed.log

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The rehearsal: the real schema in a private throw-away server at the target page size, and that server's own verdict."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from . import data_directory
from .census import Census, Difference, compare, read_definitions
from .durable import private_directory
from .instance import Instance
from .layout import Paths
from .logical_restore import create_schema
from .preflight import MIB
from .private_server import PrivateServer, private_options
from .processes import Run
from .session import Login, Session
from .tables import Table

#: What a rehearsal takes from the host while the real server runs beside it.
SCRATCH_OPTIONS = (
    "--innodb-log-file-size=16M",
    "--key-buffer-size=1M",
    "--aria-pagecache-buffer-size=8M",
    "--max-connections=20",
    "--table-open-cache=100",
)
DIRECTORY_CLAUSE = re.compile(r" (?:DATA|INDEX) DIRECTORY=?\s*'(?:[^'\\]|\\.|'')*'")


def scratch_options(instance: Instance, size: int) -> list[str]:
    """Options of the throw-away server: the instance's own, but for its size and its place."""
    return [*private_options(instance), *SCRATCH_OPTIONS, pool_option(instance, size), f"--innodb-page-size={size}"]


def pool_option(instance: Instance, size: int) -> str:
    """As small a buffer pool as pages of size bytes work well with, for a server beside the live one."""
    return f"--innodb-buffer-pool-size={2 * instance.engine.trait('minimum_pool_mib')[size] * MIB}"


def scratch_paths(paths: Paths, directory: str) -> Paths:
    """The same layout in a directory of the rehearsal's own."""
    outside = tuple(replace(entry, build=os.path.join(directory, f"{entry.option}.pagesmith-new")) for entry in paths.outside)
    return replace(paths, build=os.path.join(directory, "data.pagesmith-new"), outside=outside, external=())


def rehearse(
    run: Run,
    instance: Instance,
    paths: Paths,
    size: int,
    directory: str,
    tables: list[Table],
    plugins: list[dict[str, Any]],
    source: Census,
    allowed: Iterable[str],
) -> list[Difference]:
    """Load the definitions in source into a server with pages of this size, and return what it refused or changed.

    It needs a few seconds and about 150 MiB in directory, which is made and removed. Rows are not loaded.
    """
    scratch = scratch_paths(paths, directory)
    allowed = set(allowed)
    try:
        if os.path.isdir(directory):
            data_directory.remove_build(scratch)
        private_directory(directory, *instance.owner())
        data_directory.build(run, instance, scratch, size, [*SCRATCH_OPTIONS, pool_option(instance, size)])
        options = [*scratch_options(instance, size), *scratch.build_options()]
        with (
            PrivateServer(
                instance,
                scratch.build,
                os.path.join(directory, "run"),
                options,
                Login(user="root"),
                title="the rehearsal's server",
            ) as server,
            server.session() as session,
        ):
            refused = create_schema(session, plugins, tables, source, allowed, in_place=False)
            return [difference for difference in refused + _changed(session, tables, source, refused) if difference.id not in allowed]
    finally:
        data_directory.remove_build(scratch)
        os.rmdir(directory)


def _changed(session: Session, tables: list[Table], source: Census, refused: list[Difference]) -> list[Difference]:
    """Definitions that came out different, of the tables that were made by statements."""
    missing = {difference.object for difference in refused}
    carried = [table for table in tables if table.kind in ("rows", "volatile") and f"table {table.title}" not in missing]
    names = {f"table {table.title}" for table in carried} | {name for name in source if name.startswith("schema ")}
    before = {name: _comparable(aspects) for name, aspects in source.items() if name in names}
    after = {name: _comparable(aspects) for name, aspects in read_definitions(session, carried).items()}
    return compare(before, after)


def _comparable(aspects: dict[str, Any]) -> dict[str, Any]:
    """Aspects without what can't be the same in an empty server in another place: directories, counters."""
    comparable = {name: value for name, value in aspects.items() if name != "state"}
    comparable["definition"] = DIRECTORY_CLAUSE.sub("", re.sub(r" AUTO_INCREMENT=\d+", "", aspects["definition"]))
    return comparable

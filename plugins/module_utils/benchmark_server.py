# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The private servers that a benchmark measures: the host's own settings, but for the page size, the pool and what would disturb others."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .benchmark_plan import Plan, Variant
from .instance import Instance
from .layout import Paths
from .option_rows import USABLE, find_span
from .option_values import MIB, parse_bytes
from .private_server import PrivateServer, private_options
from .session import Login

#: The log that a server has when nobody sets it, and the largest that a benchmark gives it.
USUAL_LOG_BYTES = 96 * MIB
LARGEST_LOG_BYTES = 512 * MIB
#: Chunks of the pool: with larger ones a server rounds a small pool up to the host's own.
SMALL_CHUNK = "1M"
CHUNKS = 1000
SPARE_CONNECTIONS = 20
#: Pages that a server keeps free, in parts of a small pool. The servers' own default is a number of pages: a small pool of large pages
#: would be kept half empty by it, which no pool of a usual size is.
FREE_SHARE = 32
LEAST_FREE_PAGES = 100
USUAL_FREE_PAGES = 1024
STOP_SECONDS = 600
#: What a server takes besides InnoDB's pool is small, and nothing runs that is not measured.
MODEST_OPTIONS = (
    "--key-buffer-size=1M",
    "--loose-aria-pagecache-buffer-size=8M",
    "--loose-query-cache-type=0",
    "--loose-query-cache-size=0",
    "--loose-innodb-buffer-pool-instances=1",
    "--loose-innodb-dedicated-server=0",
    "--loose-wsrep-on=OFF",
    "--large-pages=0",
    "--secure-file-priv=",
)
DIRECT_OPTION = "innodb_flush_method"


def log_bytes(instance: Instance) -> int:
    """The size of the host's own log, within limits."""
    given = [instance.options.get(name) for name in ("innodb_redo_log_capacity", "innodb_log_file_size")]
    own = next((parse_bytes(value) for value in given if value and parse_bytes(value)), USUAL_LOG_BYTES)
    return min(own, LARGEST_LOG_BYTES)


def direct_options(instance: Instance) -> tuple[str, ...]:
    """What keeps InnoDB's data out of the file cache."""
    span = find_span(DIRECT_OPTION, instance.engine)
    return ("--innodb-flush-method=O_DIRECT",) if span and span.state in USABLE else ()


def free_pages(pool_bytes: int, page_size: int) -> int:
    """Pages that the server keeps free: as many bytes at each page size."""
    return min(max(pool_bytes // FREE_SHARE // page_size, LEAST_FREE_PAGES), USUAL_FREE_PAGES)


def common_options(instance: Instance, plan: Plan) -> list[str]:
    """Options that all servers of a plan have; they win over the host's option files."""
    chunk = [f"--loose-innodb-buffer-pool-chunk-size={SMALL_CHUNK}"] if plan.pool_bytes < CHUNKS * MIB else []
    return [
        *private_options(instance),
        *MODEST_OPTIONS,
        *chunk,
        f"--innodb-buffer-pool-size={plan.pool_bytes}",
        instance.engine.trait("log_size_option").format(bytes=plan.log_bytes),
        *direct_options(instance),
        f"--max-connections={max(plan.threads) + SPARE_CONNECTIONS}",
    ]


def server(instance: Instance, scratch: Paths, directory: str, plan: Plan, variant: Variant, more: Sequence[str] = ()) -> PrivateServer:
    """The server of a variant on what scratch_data() made."""
    options = [
        *common_options(instance, plan),
        f"--innodb-page-size={variant.page_size}",
        f"--innodb-lru-scan-depth={free_pages(plan.pool_bytes, variant.page_size)}",
        *scratch.build_options(),
        *variant.options,
        *more,
    ]
    title = f"the benchmark's server ({variant.name})"
    return PrivateServer(instance, scratch.build, os.path.join(directory, "run"), options, Login(user="root"), STOP_SECONDS, title)


@contextmanager
def thrown_away(started: PrivateServer) -> Iterator[PrivateServer]:
    """The server runs in the block; when that fails nobody waits for a clean shutdown, since its files are deleted."""
    with started:
        try:
            yield started
        except BaseException:
            started.kill()
            raise

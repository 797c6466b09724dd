# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which option a server of which engine and version has: a table of data.

The table covers MariaDB from 10.5, MySQL from 5.6 and Percona Server from 5.5 on. A span says what happens from its version on, up to
the next span of the same engine. What stands in C(run) was seen on real servers (tests/matrix/run proves it again);
everything else comes from manuals and release notes and was not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .engines import ANY, MARIADB, MYSQL, PERCONA, Engine, Version

#: What becomes of a server whose option file has the option.
WORKS = "works"
DEPRECATED = "works, deprecated"
IGNORED = "warns, no effect"
FATAL = "does not start"
BUILD = "depends on the build"
#: States in which a line in the option file does what it says; with BUILD, the trial on the host says whether.
USABLE = (WORKS, DEPRECATED, BUILD)

#: What the role does with an option that is usable and that nobody asked for: choose a value; nothing, since the server's default is
#: right; nothing, since it is only for those who ask.
CHOSEN = "chosen"
DEFAULT = "default is right"
REQUEST = "on request"

#: Servers that were really run.
SERVERS_RUN: dict[str, tuple[Version, ...]] = {
    MARIADB: ((10, 5, 23), (10, 11, 19), (11, 8, 9)),
    MYSQL: ((5, 6, 24), (9, 7, 4)),
    PERCONA: (),
}


class Span(NamedTuple):
    """From version since on. run: servers that were seen to be so. use: what the role does by itself."""

    since: Version
    state: str
    run: tuple[Version, ...] = ()
    use: str = CHOSEN


class Option(NamedTuple):
    """An option. spans: by engine, in the order of their versions; Percona Server is as MySQL where nothing else is said.

    probe: a value with which tests start real servers.
    """

    name: str
    probe: str
    spans: Mapping[str, tuple[Span, ...]]

    def of(self, engine: str) -> tuple[Span, ...]:
        if engine == PERCONA and PERCONA not in self.spans:
            # A fork: what was seen on MySQL is likely, and was not run.
            return tuple(span._replace(run=()) for span in self.spans[MYSQL])
        return self.spans[engine]


M105, M1011, M118 = SERVERS_RUN[MARIADB]
ALL_MARIADB = SERVERS_RUN[MARIADB]
M56, M97 = SERVERS_RUN[MYSQL]
ALL_MYSQL = SERVERS_RUN[MYSQL]


def both(state: str, use: str = CHOSEN) -> dict[str, tuple[Span, ...]]:
    """The same in every version of every engine."""
    return {MARIADB: (Span(ANY, state, ALL_MARIADB, use),), MYSQL: (Span(ANY, state, ALL_MYSQL, use),)}


NOT_IN_MARIADB = (Span(ANY, FATAL, ALL_MARIADB),)
NOT_IN_MYSQL = (Span(ANY, FATAL, ALL_MYSQL),)

OPTIONS = (
    # Which sizes there are is a trait of the engine. XtraDB of 5.5 has it as well, MySQL of 5.5 has not.
    Option("innodb_page_size", "16k", both(WORKS)),
    Option("innodb_buffer_pool_size", "32M", both(WORKS)),
    Option(
        "innodb_buffer_pool_instances",
        "1",
        {
            MARIADB: (Span(ANY, IGNORED, ALL_MARIADB),),
            # From 8.4 on the server counts processors and memory itself.
            MYSQL: (Span(ANY, WORKS, (M56,)), Span((8, 4), WORKS, (M97,), DEFAULT)),
        },
    ),
    Option(
        "innodb_flush_method",
        "O_DIRECT",
        {MARIADB: (Span(ANY, WORKS, (M105, M1011)), Span((11, 0), DEPRECATED, (M118,), REQUEST)), MYSQL: (Span(ANY, WORKS, ALL_MYSQL),)},
    ),
    # What took the place of innodb_flush_method in MariaDB.
    Option(
        "innodb_data_file_buffering",
        "OFF",
        {MARIADB: (Span(ANY, FATAL, (M105, M1011)), Span((11, 0, 1), WORKS, (M118,))), MYSQL: NOT_IN_MYSQL},
    ),
    # The server finds the block size of its log itself, and buffers the log where it can't.
    Option(
        "innodb_log_file_buffering",
        "OFF",
        {MARIADB: (Span(ANY, FATAL, (M105,)), Span((10, 8, 4), WORKS, (M1011, M118), DEFAULT)), MYSQL: NOT_IN_MYSQL},
    ),
    Option(
        "innodb_flush_neighbors",
        "0",
        {MARIADB: (Span(ANY, WORKS, ALL_MARIADB),), MYSQL: (Span(ANY, FATAL), Span((5, 6), WORKS, ALL_MYSQL))},
    ),
    # The name that XtraDB of 5.5 has for it.
    Option(
        "innodb_flush_neighbor_pages",
        "none",
        {MARIADB: NOT_IN_MARIADB, MYSQL: NOT_IN_MYSQL, PERCONA: (Span(ANY, WORKS), Span((5, 6), FATAL))},
    ),
    Option("innodb_io_capacity", "200", both(WORKS)),
    Option(
        "innodb_io_capacity_max",
        "20000",
        {MARIADB: (Span(ANY, WORKS, ALL_MARIADB),), MYSQL: (Span(ANY, FATAL), Span((5, 6), WORKS, ALL_MYSQL))},
    ),
    # MariaDB serves I/O from one pool of threads; the numbers only bound the requests in flight, 256 for each, which is plenty.
    Option(
        "innodb_read_io_threads",
        "4",
        {
            MARIADB: (Span(ANY, WORKS, ALL_MARIADB, DEFAULT),),
            # From 8.4 on it is half the processors, at least 4.
            MYSQL: (Span(ANY, WORKS, (M56,)), Span((8, 4), WORKS, (M97,), DEFAULT)),
        },
    ),
    Option(
        "innodb_write_io_threads",
        "4",
        {MARIADB: (Span(ANY, WORKS, ALL_MARIADB, DEFAULT),), MYSQL: (Span(ANY, WORKS, ALL_MYSQL),)},
    ),
    Option(
        "innodb_log_file_size",
        "48M",
        {
            MARIADB: (Span(ANY, WORKS, ALL_MARIADB),),
            MYSQL: (Span(ANY, WORKS, (M56,)), Span((8, 0, 30), DEPRECATED, (), REQUEST), Span((9, 7), FATAL, (M97,))),
            # 5.5 does not start when the files there have another size.
            PERCONA: (Span(ANY, WORKS, (), REQUEST), Span((5, 6), WORKS), Span((8, 0, 30), DEPRECATED, (), REQUEST), Span((9, 7), FATAL)),
        },
    ),
    Option(
        "innodb_log_files_in_group",
        "2",
        {
            MARIADB: (Span(ANY, IGNORED, ALL_MARIADB),),
            MYSQL: (Span(ANY, WORKS, (M56,), DEFAULT), Span((8, 0, 30), DEPRECATED, (), REQUEST), Span((9, 7), FATAL, (M97,))),
        },
    ),
    Option(
        "innodb_redo_log_capacity",
        "104857600",
        {MARIADB: NOT_IN_MARIADB, MYSQL: (Span(ANY, FATAL, (M56,)), Span((8, 0, 30), WORKS, (M97,)))},
    ),
    Option(
        "innodb_log_write_ahead_size",
        "4096",
        {
            # Away in 10.8, where the server began to find the block size itself; back in the releases of August 2024.
            MARIADB: (
                Span(ANY, WORKS, (M105,)),
                Span((10, 8), FATAL),
                Span((10, 11, 9), WORKS, (M1011,), DEFAULT),
                Span((11, 0), FATAL),
                Span((11, 1, 6), WORKS, (), DEFAULT),
                Span((11, 2), FATAL),
                Span((11, 2, 5), WORKS, (), DEFAULT),
                Span((11, 3), FATAL),
                Span((11, 4, 3), WORKS, (), DEFAULT),
                Span((11, 5), FATAL),
                Span((11, 5, 2), WORKS, (M118,), DEFAULT),
            ),
            MYSQL: (Span(ANY, FATAL, (M56,)), Span((5, 7, 4), WORKS, (M97,))),
        },
    ),
    # XtraDB alone has it, and does not start when the log there was written with another one.
    Option(
        "innodb_log_block_size",
        "4096",
        {MARIADB: NOT_IN_MARIADB, MYSQL: NOT_IN_MYSQL, PERCONA: (Span(ANY, WORKS, (), REQUEST), Span((5, 7), FATAL))},
    ),
    Option("innodb_doublewrite", "ON", both(WORKS)),
    Option(
        "innodb_doublewrite_files",
        "2",
        {MARIADB: NOT_IN_MARIADB, MYSQL: (Span(ANY, FATAL, (M56,)), Span((8, 0, 20), WORKS, (M97,), DEFAULT))},
    ),
    Option(
        "innodb_doublewrite_pages",
        "128",
        {MARIADB: NOT_IN_MARIADB, MYSQL: (Span(ANY, FATAL, (M56,)), Span((8, 0, 20), WORKS, (M97,), DEFAULT))},
    ),
    # On by default: the server itself leaves the doublewrite buffer out on the few devices whose promise it can verify.
    Option("innodb_use_atomic_writes", "ON", {MARIADB: (Span(ANY, WORKS, ALL_MARIADB, DEFAULT),), MYSQL: NOT_IN_MYSQL}),
    Option(
        "innodb_purge_threads",
        "4",
        {
            MARIADB: (Span(ANY, WORKS, ALL_MARIADB, DEFAULT),),
            MYSQL: (Span(ANY, WORKS), Span((5, 6), WORKS, (M56,)), Span((5, 7), WORKS, (M97,), DEFAULT)),
            # 5.5 has at most one.
            PERCONA: (Span(ANY, WORKS, (), REQUEST), Span((5, 6), WORKS), Span((5, 7), WORKS, (), DEFAULT)),
        },
    ),
    Option(
        "innodb_lru_scan_depth",
        "1024",
        {MARIADB: (Span(ANY, WORKS, ALL_MARIADB, DEFAULT),), MYSQL: (Span(ANY, FATAL), Span((5, 6), WORKS, ALL_MYSQL))},
    ),
    Option(
        "innodb_page_cleaners",
        "1",
        {MARIADB: (Span(ANY, IGNORED, ALL_MARIADB),), MYSQL: (Span(ANY, FATAL, (M56,)), Span((5, 7, 4), WORKS, (M97,), DEFAULT))},
    ),
    Option(
        "innodb_numa_interleave",
        "OFF",
        {
            # Debian's 10.5 is built without it.
            MARIADB: (Span(ANY, BUILD, ALL_MARIADB),),
            MYSQL: (Span(ANY, FATAL, (M56,)), Span((5, 6, 27), BUILD, (M97,))),
        },
    ),
    # It chooses pool, log and flush method from the machine's memory and would contradict every line here.
    Option(
        "innodb_dedicated_server",
        "OFF",
        {MARIADB: NOT_IN_MARIADB, MYSQL: (Span(ANY, FATAL, (M56,)), Span((8, 0, 3), WORKS, (M97,), REQUEST))},
    ),
    Option("large_pages", "OFF", both(WORKS, REQUEST)),
    Option("ignore_db_dirs", "lost+found", {MARIADB: (Span(ANY, WORKS, ALL_MARIADB),), MYSQL: NOT_IN_MYSQL}),
    # Options that nothing here writes: a server that does not have them is not given them either.
    Option("innodb_adaptive_hash_index", "OFF", both(WORKS, REQUEST)),
    Option("innodb_use_native_aio", "ON", both(WORKS, REQUEST)),
    Option(
        "innodb_change_buffering",
        "none",
        {
            MARIADB: (Span(ANY, WORKS, (M105, M1011), REQUEST), Span((11, 0), IGNORED, (M118,))),
            MYSQL: (Span(ANY, WORKS, ALL_MYSQL, REQUEST),),
        },
    ),
    Option(
        "innodb_file_format",
        "Barracuda",
        {
            MARIADB: (Span(ANY, IGNORED, ALL_MARIADB),),
            MYSQL: (Span(ANY, WORKS, (M56,), REQUEST), Span((5, 7, 7), DEPRECATED, (), REQUEST), Span((8, 0), FATAL, (M97,))),
        },
    ),
    Option(
        "innodb_large_prefix",
        "ON",
        {
            MARIADB: (Span(ANY, IGNORED, ALL_MARIADB),),
            MYSQL: (Span(ANY, WORKS, (M56,), REQUEST), Span((5, 7, 7), DEPRECATED, (), REQUEST), Span((8, 0), FATAL, (M97,))),
        },
    ),
    Option(
        "innodb_checksums",
        "ON",
        {
            MARIADB: (Span(ANY, FATAL, ALL_MARIADB),),
            MYSQL: (Span(ANY, WORKS, (M56,), REQUEST), Span((5, 7), DEPRECATED, (), REQUEST), Span((8, 0), FATAL, (M97,))),
        },
    ),
    Option(
        "innodb_support_xa",
        "ON",
        {
            MARIADB: (Span(ANY, FATAL, ALL_MARIADB),),
            MYSQL: (Span(ANY, WORKS, (M56,), REQUEST), Span((5, 7, 10), DEPRECATED, (), REQUEST), Span((8, 0), FATAL, (M97,))),
        },
    ),
    Option(
        "innodb_additional_mem_pool_size",
        "8M",
        {MARIADB: (Span(ANY, FATAL, ALL_MARIADB),), MYSQL: (Span(ANY, DEPRECATED, (M56,), REQUEST), Span((5, 7, 4), FATAL, (M97,)))},
    ),
    Option(
        "innodb_thread_concurrency",
        "0",
        {
            MARIADB: (Span(ANY, DEPRECATED, (M105,), REQUEST), Span((10, 6), IGNORED, (M1011, M118))),
            MYSQL: (Span(ANY, WORKS, ALL_MYSQL, REQUEST),),
        },
    ),
    Option("innodb_mtflush_threads", "8", {MARIADB: NOT_IN_MARIADB, MYSQL: NOT_IN_MYSQL}),
)

#: Options of which every line adds to those before it.
LISTS = ("ignore_db_dirs", "plugin_load_add")


def find_option(name: str, options: Iterable[Option] = OPTIONS) -> Option | None:
    """The row of an option; None when the table does not know it."""
    return next((option for option in options if option.name == name), None)


def find_span(name: str, engine: Engine, options: Iterable[Option] = OPTIONS) -> Span | None:
    """What becomes of an option in this engine and version; None when the table does not know it."""
    option = find_option(name, options)
    if option is None:
        return None
    return [span for span in option.of(engine.name) if span.since <= engine.version][-1]


def verified(name: str, engine: Engine) -> bool:
    """Whether a server of this very series was started with the option."""
    span = find_span(name, engine)
    return span is not None and engine.version[:2] in [server[:2] for server in span.run]

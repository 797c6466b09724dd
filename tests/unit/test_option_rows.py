# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The table of options is complete and in order, and says of itself what was run."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.engines import ANY, MARIADB, MYSQL, PERCONA, Engine
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_choices import RULES
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_rows import (
    BUILD,
    CHOSEN,
    DEFAULT,
    DEPRECATED,
    FATAL,
    IGNORED,
    OPTIONS,
    REQUEST,
    SERVERS_RUN,
    WORKS,
    find_option,
    find_span,
    verified,
)
from ansible_collections.pagesmith.innodb.plugins.module_utils.server_options import choose

ENGINES = (MARIADB, MYSQL, PERCONA)
#: The versions that the table is for: the ends of its range, and a release between any two changes.
VERSIONS = {
    MARIADB: ("10.5.23", "10.6.20", "10.8.3", "10.11.8", "10.11.19", "11.0.1", "11.4.5", "11.8.9", "12.2.1"),
    MYSQL: ("5.6.24", "5.7.44", "8.0.19", "8.0.29", "8.0.40", "8.4.3", "9.0.1", "9.7.4"),
    PERCONA: ("5.5.62", "5.6.51", "5.7.44", "8.0.40", "8.4.3"),
}
SERVERS = [Engine(name, tuple(map(int, text.split("."))), "") for name, texts in VERSIONS.items() for text in texts]


def each_span():
    for option in OPTIONS:
        for engine in ENGINES:
            yield option.name, engine, option.of(engine)


def test_every_option_is_known_for_every_engine_from_its_first_version_on():
    assert [(name, engine) for name, engine, spans in each_span() if spans[0].since != ANY] == []


def test_spans_are_in_the_order_of_their_versions():
    for name, engine, spans in each_span():
        versions = [span.since for span in spans]
        assert versions == sorted(set(versions)), (name, engine)


def test_words_are_those_of_the_table():
    for name, engine, spans in each_span():
        assert {span.state for span in spans} <= {WORKS, DEPRECATED, IGNORED, FATAL, BUILD}, (name, engine)
        assert {span.use for span in spans} <= {CHOSEN, DEFAULT, REQUEST}, (name, engine)


def test_no_option_stands_twice():
    names = [option.name for option in OPTIONS]
    assert len(names) == len(set(names))


def test_every_server_that_was_run_is_marked_where_it_belongs():
    """A span that is marked with a server must be the one that holds for it, and none may be left out."""
    for name, engine, spans in each_span():
        marked = [server for span in spans for server in span.run]
        assert sorted(marked) == sorted(SERVERS_RUN[engine]), (name, engine)
        for span in spans:
            for server in span.run:
                assert find_span(name, Engine(engine, server, "")) == span, (name, engine, server)


@pytest.mark.parametrize(
    "name, version, expected",
    [(MARIADB, (10, 11, 19), True), (MARIADB, (10, 6, 1), False), (MYSQL, (9, 7, 4), True), (PERCONA, (8, 0, 40), False)],
)
def test_what_was_run_is_marked(name, version, expected):
    assert verified("innodb_page_size", Engine(name, version, "")) is expected


def test_an_option_that_the_table_does_not_know():
    assert find_span("no_such_option", SERVERS[0]) is None and not verified("no_such_option", SERVERS[0])


@pytest.mark.parametrize("engine", SERVERS, ids=lambda engine: engine.title)
@pytest.mark.parametrize("storage", ["flash", "rotating", None])
@pytest.mark.parametrize("memory_mib", [256, 4096, 262144])
@pytest.mark.parametrize("sector", [512, 4096, None])
def test_a_rendered_file_has_only_what_this_server_takes(engine, storage, memory_mib, sector):
    """The review of files for servers that can't be run: no line is ignored, deprecated or fatal, or may be missing in a build."""
    for page_size in engine.trait("page_sizes"):
        facts = {
            "page_size": page_size,
            "memory_bytes": memory_mib << 20,
            "storage": storage,
            "physical_sector_bytes": sector,
            "datadir_is_mount_point": True,
        }
        choices = choose(engine, facts, {})
        assert len(choices) >= 3
        for choice in choices:
            span = find_span(choice.name, engine)
            assert (span.state, span.use) == (WORKS, CHOSEN), choice.line


def test_every_rule_has_its_option():
    assert [rule.name for rule in RULES if find_option(rule.name) is None] == []


def test_every_option_that_is_chosen_somewhere_has_a_rule():
    ruled = {rule.name for rule in RULES} | {"ignore_db_dirs"}
    usable = {name for name, _engine, spans in each_span() for span in spans if span.use == CHOSEN and span.state in (WORKS, DEPRECATED)}
    assert usable - ruled == set()

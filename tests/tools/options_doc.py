# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Writes docs/options.md and the table of variables in the README of nvme_config, from the role's argument specs and the table of options.

python tests/tools/options_doc.py            writes them
python tests/tools/options_doc.py --check    writes nothing, and fails when one of them is stale
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
ROLE = ROOT / "roles/nvme_config"
DOCUMENT = ROOT / "docs/options.md"
README = ROLE / "README.md"
PREFIX = "nvme_config_"
COMMAND = "python tests/tools/options_doc.py"
BEGIN, END = f"<!-- variables: written by {COMMAND} -->", "<!-- end of variables -->"
TITLES = {"mariadb": "MariaDB", "mysql": "MySQL", "percona": "Percona Server"}

BYTES = "bytes, with K, M, G, T"
PER_SECOND = "operations per second"
UNITS = {
    "page_size": BYTES,
    "buffer_pool_size": BYTES,
    "memory_share": "share, 0 to 0.9",
    "buffer_pool_instances": "number",
    "io_capacity": PER_SECOND,
    "io_capacity_max": PER_SECOND,
    "measured_iops": PER_SECOND,
    "read_io_threads": "threads",
    "write_io_threads": "threads",
    "log_size": BYTES,
    "log_write_size": BYTES,
    "purge_threads": "threads",
    "lru_scan_depth": "pages",
    "page_cleaners": "threads",
}
#: Variables that several options depend on, besides the one that each option is asked for with.
ALSO = {
    "memory_share": ("innodb_buffer_pool_size",),
    "storage": (
        "innodb_flush_neighbors",
        "innodb_flush_neighbor_pages",
        "innodb_io_capacity",
        "innodb_io_capacity_max",
        "innodb_read_io_threads",
        "innodb_write_io_threads",
        "innodb_purge_threads",
        "innodb_lru_scan_depth",
    ),
    "flush_method": ("innodb_data_file_buffering",),
    "measured_iops": ("innodb_io_capacity", "innodb_io_capacity_max"),
}

HEAD = f"""# Options

<!-- Written by {COMMAND}: change the argument specs of the role or plugins/module_utils/option_rows.py instead. -->

What the role [nvme_config](../roles/nvme_config/README.md) can be told, and which option exists in which server. Rows marked with a version
under *run on* were seen on real servers; `tests/matrix/run` sees them again. All others come from manuals and release notes and **were not
run**: MariaDB 10.6, 11.4 and 12, MySQL 5.7 to 8.4, and all of Percona Server. There the trial on a scratch data directory, which the role
makes on every host before it writes anything, has the last word.

## Variables
"""
OPTIONS_HEAD = """
## Options by engine and version

*From* is the version from which on a row holds, up to the next row of the same engine; "all" is the first version supported (MariaDB 10.5,
MySQL 5.6, Percona Server 5.5). *By itself* says what the role does when nobody asks for the option.

| option | engine | from | the server | by itself | run on |
|---|---|---|---|---|---|
"""


def module(name: str) -> Any:
    return importlib.import_module(f"ansible_collections.pagesmith.innodb.plugins.module_utils.{name}")


def plain(text: str) -> str:
    """Ansible's markup as Markdown."""
    text = re.sub(r"\b[MP]\(pagesmith\.innodb\.(\w+)(?:#\w+)?\)", r"`\1`", text)
    return re.sub(r"\b[VOC]\(([^)]*)\)", r"`\1`", text).replace("|", "\\|")


def variables() -> dict[str, dict[str, Any]]:
    specs = yaml.safe_load((ROLE / "meta/argument_specs.yml").read_text(encoding="utf-8"))
    return specs["argument_specs"]["main"]["options"]


def default_of(details: dict[str, Any]) -> str:
    default = details["default"]
    if default == "":
        return "empty"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def type_of(details: dict[str, Any]) -> str:
    choices = details.get("choices")
    return details["type"] + (f": {', '.join(f'`{choice}`' for choice in choices)}" if choices else "")


def version(numbers: Iterable[int]) -> str:
    return ".".join(map(str, numbers)) or "all"


def options_of(variable: str) -> list[str]:
    """Options that a variable without its prefix decides about."""
    asked = [rule.name for rule in module("option_choices").RULES if rule.wish == variable]
    return list(dict.fromkeys([*asked, *ALSO.get(variable, ())]))


def where(option: Any) -> str:
    """Engines and versions that have an option."""
    usable = module("option_rows").USABLE
    parts = []
    for engine, title in TITLES.items():
        spans = option.of(engine)
        ends = [span.since for span in spans[1:]] + [None]
        ranges = [(span.since, end) for span, end in zip(spans, ends) if span.state in usable]
        joined: list[list[Any]] = []
        for since, end in ranges:
            if joined and joined[-1][1] == since:
                joined[-1][1] = end
            else:
                joined.append([since, end])
        texts = [_range(since, end) for since, end in joined]
        if texts:
            parts.append(f"{title} {', '.join(texts)}")
    return "; ".join(parts)


def _range(since: tuple, end: tuple | None) -> str:
    if not since:
        return f"before {version(end)}" if end else "all"
    return f"{version(since)} up to before {version(end)}" if end else f"from {version(since)}"


def variable_rows(names: Iterable[str]) -> Iterator[str]:
    find = module("option_rows").find_option
    for name in names:
        details, short = variables()[name], name[len(PREFIX) :]
        touched = "<br>".join(f"`{option}` ({where(find(option))})" for option in options_of(short)) or "-"
        meaning = " ".join(plain(text) for text in details["description"])
        yield f"| `{name}` | {type_of(details)} | {default_of(details)} | {UNITS.get(short, '-')} | {meaning} | {touched} |"


def option_rows() -> Iterator[str]:
    rows = module("option_rows")
    for option in rows.OPTIONS:
        for engine, title in TITLES.items():
            if engine == rows.PERCONA and engine not in option.spans:
                yield f"| `{option.name}` | {title} | all | as MySQL of the same version | | |"
                continue
            for span in option.of(engine):
                run = ", ".join(version(server) for server in span.run)
                use = span.use if span.state in rows.USABLE else ""
                yield f"| `{option.name}` | {title} | {version(span.since)} | {span.state} | {use} | {run} |"


def document() -> str:
    table = ["| variable | type | default | unit | meaning | options it decides about, and where they exist |", "|---|---|---|---|---|---|"]
    return HEAD + "\n" + "\n".join([*table, *variable_rows(variables())]) + "\n" + OPTIONS_HEAD + "\n".join(option_rows()) + "\n"


def readme(text: str) -> str:
    """The README with its table of variables as it has to be."""
    before, _begin, rest = text.partition(BEGIN)
    _old, _end, after = rest.partition(END)
    assert after, f"{README} has not the lines {BEGIN} and {END}"
    rows = [
        f"| `{name}` | {type_of(details)} | {default_of(details)} | {plain(details['description'][0])} |"
        for name, details in variables().items()
    ]
    table = "\n".join(["| variable | type | default | meaning |", "|---|---|---|---|", *rows])
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


def stale() -> dict[Path, str]:
    """Files that are not as they have to be, with the right content."""
    wanted = {DOCUMENT: document(), README: readme(README.read_text(encoding="utf-8"))}
    return {path: text for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text}


def main(arguments: list[str]) -> int:
    sys.path.insert(0, str(ROOT / "tests"))
    importlib.import_module("conftest").pytest_configure()
    found = stale()
    for path, text in found.items():
        if "--check" in arguments:
            print(f"{path.relative_to(ROOT)} is stale: run {COMMAND}")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(ROOT)} was written")
    return 1 if found and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

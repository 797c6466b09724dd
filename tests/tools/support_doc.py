# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Writes docs/support.md from the table of traits.

python tests/tools/support_doc.py            writes it
python tests/tools/support_doc.py --check    writes nothing, and fails when it is stale
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/support.md"
COMMAND = "python tests/tools/support_doc.py"
#: The versions that the table shows: the first of each series that distributions carry.
VERSIONS = {
    "mariadb": ((10, 3, 39), (10, 4, 34), (10, 5, 0), (10, 6, 0), (10, 11, 0), (11, 4, 0), (11, 8, 0), (12, 0, 0)),
    "mysql": ((5, 6, 0), (5, 7, 9), (8, 0, 30), (8, 4, 0), (9, 7, 0)),
    "percona": ((5, 7, 9), (8, 0, 30), (8, 4, 0)),
}
STATES = {
    (True, True): "migrated; run by the tests",
    (True, False): "migrated, by the data of its neighbours; **not run**",
    (False, False): "refused, with its rows of data at hand; **not run**",
}
REFUSED = "refused: unknown to the table of traits"
INTRODUCTION = f"""# Which servers

<!-- Written by {COMMAND} from plugins/module_utils/engines.py: change that instead. -->

Whether a page size migration is carried out is decided by the version of the server program. What is not known is refused before
anything is touched; servers that are refused can be looked at by `pagesmith.innodb.instance_info`, as far as their data go.

| server | page sizes | migration |
|---|---|---|
"""


def rows(engines: ModuleType) -> list[str]:
    lines = []
    for name, versions in VERSIONS.items():
        for version in versions:
            engine = engines.Engine(name, version, "")
            series = ".".join(map(str, version[:2]))
            title = engine.title.replace(engine.version_text, series)
            lines.append(f"| {title} | {sizes(engines, engine)} | {state(engines, engine)} |")
    return lines


def sizes(engines: ModuleType, engine: object) -> str:
    return ", ".join(f"{size // 1024}k" for size in engine.trait("page_sizes"))


def state(engines: ModuleType, engine: object) -> str:
    unknown = [name for name in {row.name for row in engines.ROWS} if not engine.knows(name)]
    if unknown:
        return REFUSED
    return STATES[engine.supported, engine.trait("evidence") == engines.RUN]


def text(engines: ModuleType) -> str:
    return INTRODUCTION + "\n".join(rows(engines)) + "\n"


def main(engines: ModuleType) -> int:
    wanted = text(engines)
    if "--check" in sys.argv[1:]:
        return int(not DOCUMENT.exists() or DOCUMENT.read_text(encoding="utf-8") != wanted)
    DOCUMENT.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))
    import conftest

    conftest.pytest_configure()
    from ansible_collections.pagesmith.innodb.plugins.module_utils import engines as table

    sys.exit(main(table))

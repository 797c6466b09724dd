# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a running server tells of itself where definitions lie in its dictionary: files, and what would not be carried."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from .engines import Engine
from .session import Session

#: Files with rows of engines other than InnoDB. MySQL keeps the definition of such a table in a file with its name and a number.
DATA_SUFFIXES = (".MYD", ".MYI", ".CSV", ".CSM", ".ARZ", ".MRG")
DEFINITION = re.compile(r"(.+)_\d+\.sdi$")


def has_privileges(grants: Iterable[str], engine: Engine) -> bool:
    """Whether an account with these lines of SHOW GRANTS may see and carry everything; a partial revoke takes it away."""
    granted: set[str] = set()
    for grant in grants:
        if grant.startswith("REVOKE "):
            return False
        match = re.match(r"GRANT (.+) ON \*\.\* TO", grant)
        if match:
            granted.update(part.strip() for part in match.group(1).split(","))
    return engine.trait("all_privileges") <= granted


def find_hazards(session: Session, engine: Engine) -> list[dict[str, str]]:
    """What the server holds that would not be carried: id, object, message and remedy of each."""
    found = []
    for hazard in engine.trait("hazards"):
        for row in session.rows(hazard.query):
            name = str(next(iter(row.values())))
            found.append({"id": hazard.id, "object": name, "message": hazard.message.format(name=name), "remedy": hazard.remedy})
    return found


def tablespace_files(session: Session, datadir: str) -> set[str]:
    """Real paths of all files of InnoDB that the server knows."""
    rows = session.rows("SELECT path FROM information_schema.innodb_datafiles")
    rows += session.rows("SELECT file_name AS path FROM information_schema.files WHERE file_type='TABLESPACE'")
    return {os.path.realpath(os.path.join(datadir, row["path"])) for row in rows}


def external_files(files: Iterable[str], datadir: str) -> list[str]:
    """Tablespaces outside the data directory."""
    inside = os.path.realpath(datadir) + os.sep
    return sorted(path for path in files if not path.startswith(inside))


def orphaned_files(files: set[str], datadir: str) -> list[str]:
    """Files of tables in schemas' directories that the server does not know, by path in the data directory."""
    found = []
    real = os.path.realpath(datadir)
    for entry in sorted(os.scandir(real), key=lambda item: item.name):
        if not entry.is_dir(follow_symlinks=False) or entry.name[0] in "#." or not os.access(entry.path, os.R_OK):
            continue
        names = sorted(os.listdir(entry.path))
        defined = {match.group(1) for match in map(DEFINITION.match, names) if match}
        for name in names:
            path = os.path.join(entry.path, name)
            unknown = name.endswith(".ibd") and path not in files
            if unknown or (name.endswith(DATA_SUFFIXES) and re.split(r"#[Pp]#|\.", name)[0] not in defined):
                found.append(os.path.relpath(path, real))
    return found

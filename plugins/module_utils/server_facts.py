# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which build of a server runs, with which InnoDB settings, where each is set, and whether all agree on the page size."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import page_size
from .errors import InnodbError
from .facts import Limited, Omitted
from .option_file import Options

PREFIX = "innodb_"
PAGE_SIZE = "innodb_page_size"
DEFAULT_PAGE_SIZE = 16384

#: What servers call the place that gave a variable its value.
SET_AT_RUN_TIME = ("SQL", "DYNAMIC")
COMMAND_LINE = ("COMMAND-LINE", "COMMAND_LINE")
BUILT_IN = ("COMPILE-TIME", "COMPILED", "AUTO")

RUN_TIME = "set while the server runs"
COMMAND_LINE_TITLE = "the command line of the server"


def innodb_only(variables: Mapping[str, str | None]) -> dict[str, str | None]:
    return {name: value for name, value in sorted(variables.items()) if name.startswith(PREFIX)}


def origins(
    variables: Mapping[str, str | None], options: Options, told: Mapping[str, tuple[str, str | None]] | None = None
) -> dict[str, dict[str, Any]]:
    """Where each variable got its value. Pure.

    told: by variable what the running server says of it, its word for the place and the option file if it names one. Without, the lines
    of the option files and the command line tell, which is what a start would give.
    """
    lines = {setting.name: setting for setting in options.settings}
    found = {}
    for name, value in variables.items():
        place, path = (told or {}).get(name, ("", None))
        line = lines.get(name)
        entry: dict[str, Any] = {"value": value}
        if place in SET_AT_RUN_TIME:
            entry.update(file=None, line=None, place=RUN_TIME)
        elif place in COMMAND_LINE or (not place and name in options.arguments):
            entry.update(file=None, line=None, place=COMMAND_LINE_TITLE)
        elif place in BUILT_IN or (not place and line is None):
            entry["default"] = True
        elif line is not None and (path is None or os.path.realpath(path) == os.path.realpath(line.file)):
            entry.update(file=line.file, line=line.line or None)
        else:
            # A file that was changed since the start, or that the server wrote itself.
            entry.update(file=path, line=None)
        found[name] = entry
    return found


def told_origins(limited: Limited) -> dict[str, tuple[str, str | None]] | None:
    """What the server says of the place of each InnoDB variable; None where it keeps no account of that."""
    statement = limited.engine.trait("variable_origins")
    if statement is None:
        return None
    rows = limited.rows(statement)
    return {row["name"].lower(): (row["origin"], row["path"] or None) for row in rows if row["name"].lower().startswith(PREFIX)}


def asked_page_size(options: Options) -> int | None:
    """The page size in bytes that a start would use by option files and command line; None when the value is no page size."""
    value = options.arguments.get(PAGE_SIZE) or options.get(PAGE_SIZE)
    if value is None:
        return DEFAULT_PAGE_SIZE
    try:
        return page_size.parse(value)
    except InnodbError:
        return None


def page_size_notes(options: Options, files: int | None, server: int | None, server_down: bool) -> list[str]:
    """What does not agree about the page size, nothing when all does. files and server: the page sizes they have, in bytes. Pure."""
    notes = []
    asked = asked_page_size(options)
    lines = options.where(PAGE_SIZE)
    place = f"{lines[-1].file} line {lines[-1].line}" if lines else "the default, which no option file changes,"
    if PAGE_SIZE in options.arguments:
        place = COMMAND_LINE_TITLE
    if asked is None:
        notes.append(f"{place} asks for '{options.get(PAGE_SIZE)}', which is no page size")
    if files is None:
        notes.append("the files of the system tablespace are missing or not understood, so their page size is not known")
    if server and files and server != files:
        notes.append(f"the server runs with {server} bytes, its files have {files}: which files it uses is not clear")
    real = server or files
    if asked and real and asked != real:
        consequence = "the server will not start" if server_down else "the server will not start again"
        notes.append(f"{place} asks for {asked} bytes, the data directory has {real}: {consequence}")
    return notes


def server_facts(
    limited: Limited | None, omitted: Omitted, variables: Mapping[str, str | None], options: Options, files: int | None
) -> dict[str, Any]:
    """The subset server. limited: None when the server is down; then the variables are those that a start would use."""
    told = None
    uptime = None
    if limited is None:
        omitted["server.uptime_seconds"] = omitted["server.vendor_build"] = "the server is not running"
        variables = innodb_only(options.values)
    else:
        with omitted.part("server.origins"):
            told = told_origins(limited)
        with omitted.part("server.uptime_seconds"):
            uptime = int(limited.row("SHOW GLOBAL STATUS LIKE 'Uptime'")["value"])
    server = int(variables[PAGE_SIZE] or 0) if limited else None
    notes = page_size_notes(options, files, server, limited is None)
    own = innodb_only(variables)
    comment, version = variables.get("version_comment"), variables.get("version")
    return {
        "vendor_build": f"{version} ({comment})" if limited else None,
        "uptime_seconds": uptime,
        "variables": own,
        "origins": origins(own, options, told),
        "page_size_agrees": not notes,
        "page_size_notes": notes,
    }

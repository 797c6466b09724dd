# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What tables there are, how large they are and how near to limits; from dictionaries, statistics and files, without opening tables.

Rows and bytes of InnoDB tables are those of its persistent statistics, which the server keeps within some percent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from . import table_files
from .dictionary import Definition, decode_names, read_definitions, read_prefixes, read_strung, with_prefixes
from .facts import Limited, Omitted
from .page_size import PAGE_SIZES
from .size_limits import COMPRESSED, KEY_LIMITS, NEAR_SHARE, Declared, near_limits
from .table_files import FULLTEXT, SYSTEM_DIRECTORIES, Scan, TableFiles, without_partition
from .tables import stray_directories, user_schemas

#: Below this a table's space is a matter of whole pages per index and not of its rows: eight pages of 64k.
SMALL_TABLE_BYTES = 512 << 10
LARGEST_SHOWN = 20
NEAR_LIMITS_SHOWN = 1000
#: At most so many tables are opened to learn of which columns only a beginning is in a key.
OPENED_AT_MOST = 1000
STATISTICS_PARTS = 128


@dataclass
class Table:
    """One table, its partitions together. Sizes in bytes; None where it is not known. file_bytes: what its files take on the disk."""

    table: str
    engine: str
    row_format: str | None = None
    key_block_size: int | None = None
    compressed: bool = False
    encrypted: bool | None = None
    rows: int | None = None
    data_bytes: int | None = None
    index_bytes: int | None = None
    free_bytes: int | None = None
    file_bytes: int | None = None
    average_row_bytes: int | None = None
    widest_key_bytes: int | None = None
    declared_row_bytes: int | None = None
    large_objects: bool | None = None

    @property
    def bytes(self) -> int:
        return (self.data_bytes or 0) + (self.index_bytes or 0)


def schema_facts(limited: Limited, omitted: Omitted, datadir: str, page_size: int, list_limit: int) -> dict[str, Any]:
    """The subset schema of a running server. list_limit: number of tables that are told one by one."""
    found: list[Table] = []
    result: dict[str, Any] = {"schemas": None, "objects": None, "near_limits": None, "near_limits_omitted": 0}
    files = Scan({}, [])
    with omitted.part("schema.files"):
        files = scan_or_note(datadir, limited.deadline, omitted)
    with omitted.part("schema.schemas"):
        result["schemas"] = [name for name in user_schemas(limited) if name not in SYSTEM_DIRECTORIES]
    with omitted.part("schema.objects"):
        result["objects"] = count_objects(limited, files)
    definitions: list[Definition] = []
    with omitted.part("schema.tables"):
        definitions = read_definitions(limited, omitted)
        sizes = {}
        with omitted.part("schema.statistics"):
            sizes = read_statistics(limited)
        found += innodb_tables(definitions, sizes, files, page_size)
        note_missing(omitted, definitions, sizes)
    with omitted.part("schema.compression"):
        mark_compressed(limited, found)
    with omitted.part("schema.encryption"):
        mark_encrypted(limited, found, definitions)
    with omitted.part("schema.other_engines"):
        known = {(definition.directory, definition.stem) for definition in definitions}
        found += other_tables(limited, omitted, files, known)
    if "schema.tables" in omitted:
        # Nothing, and not zero: the tables of other engines alone would be taken for the whole.
        return {**result, **dict.fromkeys(summary([], 0))}
    if "schema.columns" in omitted:
        return {**result, **summary(found, list_limit), "large_objects": None}
    with omitted.part("schema.near_limits"):
        near = declare(limited, omitted, found, definitions, list_limit)
        result["near_limits"], result["near_limits_omitted"] = near[:NEAR_LIMITS_SHOWN], max(0, len(near) - NEAR_LIMITS_SHOWN)
    return {**result, **summary(found, list_limit)}


def schema_of_files(datadir: str, deadline: float, omitted: Omitted, list_limit: int) -> dict[str, Any]:
    """The subset schema with the server down: what the files tell."""
    omitted["schema.rows"] = omitted["schema.row_formats"] = omitted["schema.near_limits"] = omitted["schema.objects"] = (
        "the server is not running"
    )
    files = Scan({}, [])
    with omitted.part("schema.files"):
        files = scan_or_note(datadir, deadline, omitted)
    tables = []
    for (directory, stem), each in files.tables.items():
        if each.engine and not FULLTEXT.match(stem):
            tables.append(_of_files(f"{table_files.decoded(directory)}.{table_files.decoded(stem)}", each))
    untold = dict.fromkeys(("objects", "near_limits", "near_limits_omitted", "rows", "by_row_format", "large_objects", "encrypted"))
    return {**summary(tables, list_limit), "schemas": [table_files.decoded(name) for name in files.schemas], **untold}


def scan_or_note(datadir: str, deadline: float, omitted: Omitted) -> Scan:
    """The files of the tables; nothing, and a note, where this user may not look."""
    try:
        return table_files.scan(datadir, deadline)
    except OSError as error:
        omitted["schema.files"] = f"{error.filename} can't be read: {error.strerror}"
        return Scan({}, [])


def _of_files(title: str, files: TableFiles) -> Table:
    key_block_size, paged = table_files.compression_of_file(files.paths[0]) if files.paths else (None, False)
    return Table(
        table=title,
        engine=files.engine or "unknown",
        row_format="Compressed" if key_block_size else None,
        key_block_size=key_block_size,
        compressed=bool(key_block_size) or paged or files.engine == "ARCHIVE",
        data_bytes=files.data,
        index_bytes=None if files.engine == "InnoDB" else files.index,
        file_bytes=files.allocated,
    )


def count_objects(limited: Limited, files: Scan) -> dict[str, int]:
    """How many objects of each kind there are, apart from tables and from what belongs to the server itself."""
    own = "', '".join(SYSTEM_DIRECTORIES)
    asked = {"routines": "routine_schema", "events": "event_schema"}
    if limited.engine.trait("definitions_in_dictionary"):
        asked.update(views="table_schema", triggers="trigger_schema")
        counts = {}
    else:
        counts = {"views": len(files.views()), "triggers": files.triggers}
    for kind, column in asked.items():
        row = limited.row(f"SELECT COUNT(*) AS n FROM information_schema.{kind} WHERE {column} NOT IN ('{own}')")
        counts[kind] = int(row["n"])
    counts["accounts"] = int(limited.row("SELECT COUNT(DISTINCT grantee) AS n FROM information_schema.user_privileges")["n"])
    return counts


@dataclass
class Statistics:
    """InnoDB's persistent statistics of a table: rows, and pages of its clustered and its other indexes."""

    rows: int = 0
    data_pages: int = 0
    index_pages: int = 0


def read_statistics(limited: Limited) -> dict[tuple[str, str], Statistics]:
    """By schema and table, partitions together."""
    found: dict[tuple[str, str], Statistics] = defaultdict(Statistics)
    values = ("database_name", "n_rows", "clustered_index_size", "sum_of_other_index_sizes", "table_name")
    for schema, rows, data_pages, index_pages, name in read_strung(
        limited, values, "mysql.innodb_table_stats", f"CRC32(table_name) MOD {STATISTICS_PARTS}"
    ):
        each = found[schema, without_partition(name)]
        each.rows += int(rows)
        each.data_pages += int(data_pages)
        each.index_pages += int(index_pages)
    return dict(found)


def stored_bytes(limited: Limited, page_size: int) -> int:
    """Bytes of all InnoDB tables and indexes by their statistics. Tables whose pages are compressed count as if they were not."""
    row = limited.row("SELECT SUM(clustered_index_size + sum_of_other_index_sizes) AS pages FROM mysql.innodb_table_stats")
    return int(row["pages"] or 0) * page_size


def innodb_tables(
    definitions: Iterable[Definition], statistics: Mapping[tuple[str, str], Statistics], files: Scan, page_size: int
) -> Iterator[Table]:
    """Definitions, statistics and files together. Without statistics the bytes are those of the files."""
    fulltext = fulltext_bytes(files)
    for each in definitions:
        own = files.tables.get((each.directory, each.stem))
        own = own if own and own.engine == "InnoDB" else None
        extra = [fulltext[number] for number in each.numbers if number in fulltext]
        extra_bytes, extra_allocated = sum(item.data for item in extra), sum(item.allocated for item in extra)
        table = Table(
            table=each.title,
            engine="InnoDB",
            row_format=each.row_format,
            key_block_size=each.key_block_size,
            compressed=each.compressed,
            large_objects=each.structure.large_objects,
            file_bytes=own.allocated + extra_allocated if own else None,
        )
        known = statistics.get((each.schema, each.table))
        physical = each.key_block_size or page_size
        if known:
            table.rows = known.rows
            table.data_bytes = known.data_pages * physical
            table.index_bytes = known.index_pages * physical + extra_bytes
            table.average_row_bytes = table.data_bytes // known.rows if known.rows else None
            table.free_bytes = max(0, own.data - (known.data_pages + known.index_pages) * physical) if own else None
        elif own:
            table.data_bytes, table.index_bytes = own.data, extra_bytes
        yield table


def fulltext_bytes(files: Scan) -> dict[int, TableFiles]:
    """Files of fulltext indexes, together, by the number of the table that has the index."""
    found: dict[int, TableFiles] = {}
    for (_directory, stem), each in files.tables.items():
        match = FULLTEXT.match(stem)
        if match:
            entry = found.setdefault(int(match.group(1), 16), TableFiles("InnoDB"))
            entry.data += each.data
            entry.allocated += each.allocated
    return found


def note_missing(omitted: Omitted, definitions: Iterable[Definition], statistics: Mapping[tuple[str, str], Statistics]) -> None:
    without = sum((each.schema, each.table) not in statistics for each in definitions if not each.sequence)
    if without and "schema.statistics" not in omitted:
        omitted["schema.statistics"] = f"{without} tables have no persistent statistics: no rows are told, and the bytes of their files"


def mark_encrypted(limited: Limited, tables: Iterable[Table], definitions: Iterable[Definition]) -> None:
    """Ask InnoDB which tablespaces are encrypted."""
    statement = limited.engine.trait("encrypted_spaces")
    if statement is None:
        return
    spaces = {int(row["space"]) for row in limited.rows(statement)}
    for table, definition in zip(tables, definitions):
        table.encrypted = not spaces.isdisjoint(definition.spaces)


def mark_compressed(limited: Limited, tables: Iterable[Table]) -> None:
    """Where the server has a dictionary of all tables, the compression of pages stands only there."""
    if not limited.engine.trait("definitions_in_dictionary"):
        return
    rows = limited.rows(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE engine='InnoDB'"
        " AND create_options LIKE '%COMPRESSION=%' AND create_options NOT LIKE '%COMPRESSION=_none_%'"
    )
    compressed = {f"{row['table_schema']}.{row['table_name']}" for row in rows}
    for table in tables:
        table.compressed = table.compressed or table.table in compressed


def other_tables(limited: Limited, omitted: Omitted, files: Scan, known: set[tuple[str, str]]) -> list[Table]:
    """Tables of other engines: by the endings of their files; the server is asked for those that have none."""
    if limited.engine.trait("definitions_in_dictionary"):
        return other_tables_in_dictionary(limited, files)
    strays = set(stray_directories(limited))
    views = files.views()
    others = {
        (directory, stem): each
        for (directory, stem), each in files.tables.items()
        if each.engine != "InnoDB" and (directory, stem) not in known | views and directory not in strays
    }
    names = decode_names(limited, omitted, {part for key in others for part in key})
    found: list[Table] = []
    asked: dict[str, dict[str, str]] = defaultdict(dict)
    for (directory, stem), each in others.items():
        title = f"{names[directory]}.{names[stem]}"
        if each.engine:
            found.append(_of_files(title, each))
        else:
            asked[names[directory]][names[stem]] = title
    for schema, titles in asked.items():
        found += _engines_of(limited, schema, titles)
    return found


def _engines_of(limited: Limited, schema: str, titles: Mapping[str, str]) -> list[Table]:
    """Tables of which there is a definition alone. The engine alone is asked, so that none of them is opened."""
    marks = ", ".join(["%s"] * len(titles))
    rows = limited.rows(
        f"SELECT table_name, engine FROM information_schema.tables WHERE table_schema=%s AND table_name IN ({marks})", (schema, *titles)
    )
    return [Table(titles[row["table_name"]], row["engine"] or "unknown") for row in rows if row["table_name"] in titles]


def other_tables_in_dictionary(limited: Limited, files: Scan) -> list[Table]:
    """The same where the server has a dictionary of all tables."""
    own = "', '".join((*SYSTEM_DIRECTORIES, "information_schema"))
    by_name = {(table_files.decoded(directory), table_files.decoded(stem)): each for (directory, stem), each in files.tables.items()}
    found = []
    for row in limited.rows(
        "SELECT table_schema, table_name, engine FROM information_schema.tables"
        f" WHERE table_type='BASE TABLE' AND engine<>'InnoDB' AND table_schema NOT IN ('{own}')"
    ):
        each = by_name.get((row["table_schema"], row["table_name"]))
        title = f"{row['table_schema']}.{row['table_name']}"
        found.append(_of_files(title, each) if each and each.engine else Table(title, row["engine"]))
    return found


def declare(
    limited: Limited, omitted: Omitted, tables: Iterable[Table], definitions: list[Definition], list_limit: int
) -> list[dict[str, Any]]:
    """Complete tables by what their declarations allow, and tell which come near a limit."""
    by_title = {table.table: table for table in tables}
    shown = {table.table for table in sorted(by_title.values(), key=lambda table: -table.bytes)[:list_limit]}
    floor = NEAR_SHARE * min(KEY_LIMITS[limited.engine.name].values())
    # Those that may pass a limit before those that are only shown.
    doubtful = [each for each in definitions if each.structure.doubtful_above(floor)]
    doubtful += [
        each for each in definitions if each.title in shown and each.structure.doubtful and not each.structure.doubtful_above(floor)
    ]
    prefixes: dict[str, dict[tuple[str, str], int]] = {}
    with omitted.part("schema.key_prefixes"):
        prefixes = read_prefixes(limited, doubtful[:OPENED_AT_MOST])
    unasked = {each.title for each in doubtful if each.title not in prefixes}
    if unasked and "schema.key_prefixes" not in omitted:
        omitted["schema.key_prefixes"] = f"the keys of {len(unasked)} tables are not judged: at most {OPENED_AT_MOST} tables are opened"
    for each in definitions:
        table, own = by_title[each.title], each.structure
        table.declared_row_bytes = own.row_bytes(each.row_format.lower())
        if prefixes.get(each.title):
            table.widest_key_bytes = own.widest(with_prefixes(own.keys, prefixes[each.title]))
        elif each.title not in unasked:
            table.widest_key_bytes = own.widest_key
    declared = [
        Declared(table.table, (table.row_format or "").lower(), table.key_block_size, table.declared_row_bytes, table.widest_key_bytes)
        for table in by_title.values()
    ]
    return near_limits(limited.engine.name, PAGE_SIZES, declared)


def summary(tables: list[Table], list_limit: int) -> dict[str, Any]:
    """Totals, shares and the largest tables. Pure."""
    innodb = [table for table in tables if table.engine == "InnoDB"]
    ordered = sorted(tables, key=lambda table: (-table.bytes, table.table))
    total = sum(table.bytes for table in tables)
    small = [table for table in innodb if table.bytes < SMALL_TABLE_BYTES]
    large = [table for table in innodb if table.large_objects]
    large_bytes = sum(table.data_bytes or 0 for table in large)
    innodb_data = sum(table.data_bytes or 0 for table in innodb)
    return {
        "tables": len(tables),
        "bytes": total,
        "data_bytes": sum(table.data_bytes or 0 for table in tables),
        "index_bytes": sum(table.index_bytes or 0 for table in tables),
        "file_bytes": sum(table.file_bytes or 0 for table in tables),
        "rows": sum(table.rows or 0 for table in tables),
        "by_engine": grouped(tables, "engine"),
        "by_row_format": grouped([table for table in innodb if table.row_format], "row_format"),
        "small_tables": {"tables": len(small), "share": share(len(small), len(innodb))},
        "large_objects": {"tables": len(large), "bytes": large_bytes, "share": share(large_bytes, innodb_data)},
        "compressed": {
            "tables": sum(table.compressed for table in innodb),
            "key_block_sizes": counted(table.key_block_size for table in innodb if (table.row_format or "").lower() == COMPRESSED),
        },
        "encrypted": {"tables": sum(bool(table.encrypted) for table in innodb)},
        "largest": [{"table": table.table, "bytes": table.bytes, "engine": table.engine} for table in ordered[:LARGEST_SHOWN]],
        "table_list": [asdict(table) for table in ordered[:list_limit]],
        "table_list_omitted": max(0, len(ordered) - list_limit),
    }


def grouped(tables: Iterable[Table], key: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for table in tables:
        entry = found.setdefault(getattr(table, key), {"tables": 0, "bytes": 0})
        entry["tables"] += 1
        entry["bytes"] += table.bytes
    return found


def counted(values: Iterable[Any]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for value in values:
        found[str(value)] += 1
    return dict(found)


def share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0

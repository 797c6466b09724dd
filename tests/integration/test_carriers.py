# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rows of every type of column go by the files of a MyISAM table and are the same afterwards, and what goes as text is named here."""

from __future__ import annotations

import re

import pytest
from content import read_content, require_equal
from disks import small_disk
from harness import Sandbox
from test_cases import HISTORY, MEMORY, load_objects, parse_fits, require_equal_but

from ansible_collections.pagesmith.innodb.plugins.module_utils import carriers, manifest

LONG = "REPEAT('é€ ', 20000)"
#: Types, and values that are at an end, that print otherwise than they are, or that no client could write.
TYPES = {
    "TINYINT": ["-128", "127", "0"],
    "SMALLINT UNSIGNED": ["0", "65535"],
    "MEDIUMINT ZEROFILL": ["0", "7"],
    "INT": ["-2147483648", "2147483647"],
    "BIGINT UNSIGNED": ["0", "18446744073709551615"],
    "DECIMAL(65,30)": ["12345678901234567890.123456789012345678901234567890", "-0.000000000000000000000000000001"],
    "DECIMAL(3,0) UNSIGNED": ["0", "999"],
    "FLOAT": ["1e0/3", "1.17549435e-38", "3.4028234e38", "-0e0", "16777217"],
    "FLOAT(7,3)": ["1.125", "-9999.999"],
    "DOUBLE": ["1e0/3", "5e-324", "1.7976931348623157e308", "-0e0"],
    "BIT(1)": ["b'0'", "b'1'"],
    "BIT(17)": ["b'1'", "b'11111111111111111'"],
    "BIT(64)": ["0", "0x0A0D09005C27221A"],
    "DATE": ["'0000-00-00'", "'2020-02-31'", "'2020-00-00'", "'9999-12-31'", "'1000-01-01'"],
    "DATETIME": ["'0000-00-00 00:00:00'", "'2021-02-30 23:59:59'", "'9999-12-31 23:59:59'"],
    "DATETIME(6)": ["'0000-00-00 00:00:00'", "'9999-12-31 23:59:59.999999'"],
    "TIMESTAMP": [
        "'0000-00-00 00:00:00'",
        "'1970-01-01 00:00:01'",
        "'2024-10-27 00:30:00'",
        "'2024-10-27 01:30:00'",
        "'2038-01-19 03:14:07'",
    ],
    "TIMESTAMP(6)": ["'0000-00-00 00:00:00'", "'2024-10-27 00:30:00.000001'", "'2038-01-19 03:14:07.999999'"],
    "TIME(6)": ["'-838:59:59.999999'", "'838:59:59.999999'", "'00:00:00.000001'"],
    "YEAR": ["1901", "2155", "0"],
    "CHAR(0)": ["''"],
    "CHAR(60)": ["''", "'é€😀'", "' a'", "'a'", "'tab\\tnl\\nnul\\0bs\\\\'"],
    "CHAR(255) CHARACTER SET ucs2": ["''", "'é€'", "REPEAT('x', 255)"],
    "CHAR(20) CHARACTER SET utf32": ["''", "'é€😀'"],
    "VARCHAR(60)": ["''", "'é€😀  '", "'NULL'", "'\\\\N'"],
    "VARCHAR(16000)": ["''", "REPEAT('é', 16000)"],
    "VARCHAR(1000) COMPRESSED": ["''", "REPEAT('z', 900)", "'short'"],
    "BINARY(16)": ["''", "X'20202020'", "X'00FF0A0D095C2720'", "REPEAT(' ', 16)"],
    "VARBINARY(300)": ["''", "X'E9E8000D0A2000'", "REPEAT(X'20', 300)"],
    "TINYTEXT": ["''", "'é  '"],
    "TEXT": ["''", f"{LONG[:-6]}5000)"],
    "TEXT COMPRESSED": ["''", f"{LONG[:-6]}5000)"],
    "MEDIUMTEXT": ["''", LONG],
    "LONGTEXT": ["''", LONG, "REPEAT('x', 3000000)"],
    "TINYBLOB": ["''", "X'00'"],
    "BLOB": ["''", "X'00FF27225C0A0D1A008BFFC3A9'"],
    "MEDIUMBLOB COMPRESSED": ["''", "REPEAT(X'00FF', 40000)"],
    "LONGBLOB": ["''", "REPEAT(X'00FF0A', 1000000)"],
    "ENUM('a','b','ç','')": ["1", "2", "3", "4", "0"],
    "SET('x','y','z')": ["0", "1", "7"],
    "JSON": ['\'{"a": [1, 2.50, "é"],  "b":null}\'', "'1'"],
    "GEOMETRY": ["ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))', 4326)", "POINT(1.1, 2.2)"],
    "POINT": ["POINT(-1e300, 5e-324)"],
    "LINESTRING": ["ST_GeomFromText('LINESTRING(0 0,1 1)')"],
    "POLYGON": ["ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))')"],
    "MULTIPOINT": ["ST_GeomFromText('MULTIPOINT(0 0,1 1)')"],
    "MULTILINESTRING": ["ST_GeomFromText('MULTILINESTRING((0 0,1 1),(2 2,3 3))')"],
    "MULTIPOLYGON": ["ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)))')"],
    "GEOMETRYCOLLECTION": ["ST_GeomFromText('GEOMETRYCOLLECTION(POINT(0 0))')"],
    "INET6": ["'::'", "'2001:db8::1'", "'::ffff:10.0.0.1'"],
    "INET4": ["'0.0.0.0'", "'255.255.255.255'"],
    "UUID": ["'00000000-0000-0000-0000-000000000000'", "'123e4567-e89b-12d3-a456-426655440000'", "'ffffffff-ffff-7fff-bfff-ffffffffffff'"],
    "VECTOR(3)": ["VEC_FromText('[1,2.5,-3]')", "X'00000000000000000000807F'"],
}
SINCE = {"INET4": (10, 10), "UUID": (10, 7), "VECTOR(3)": (11, 7)}
OTHERS = """
SET sql_mode='NO_AUTO_VALUE_ON_ZERO', foreign_key_checks=0;
CREATE SEQUENCE other.s;
CREATE TABLE other.empty (a INT);
CREATE TABLE other.zero (id INT AUTO_INCREMENT PRIMARY KEY, v INT); INSERT INTO other.zero VALUES (0, 1), (9, 2);
CREATE TABLE other.without_key (a INT NOT NULL, b VARCHAR(5)); INSERT INTO other.without_key VALUES (1, 'a'), (1, 'a'), (2, NULL);
CREATE TABLE other.generated (g INT AS (a + 1) STORED, a INT, v INT AS (a * 2) VIRTUAL, i INT INVISIBLE NOT NULL DEFAULT 7, KEY (v));
INSERT INTO other.generated (a, i) VALUES (1, 2), (3, 4);
CREATE TABLE other.defaults (id INT PRIMARY KEY DEFAULT (NEXTVAL(other.s)), j JSON DEFAULT JSON_OBJECT('a', id),
  t TEXT DEFAULT (REPEAT('x', id)),
  at DATETIME DEFAULT NOW() ON UPDATE NOW(), ts TIMESTAMP NOT NULL, c INT CHECK (c > 0), CONSTRAINT d CHECK (c < 100));
INSERT INTO other.defaults (c, ts) VALUES (1, '0000-00-00 00:00:00'), (2, '2001-01-01 00:00:00');
CREATE TABLE other.child (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES other.missing (id));
INSERT INTO other.child VALUES (1, 99);
CREATE TABLE other.parts (id INT NOT NULL, v VARCHAR(9), PRIMARY KEY (id)) PARTITION BY HASH (id) PARTITIONS 3;
INSERT INTO other.parts SELECT seq, seq FROM other.seq_1_to_100;
CREATE TABLE other.`we``ird # ñ` (`co``l, ñ` INT PRIMARY KEY); INSERT INTO other.`we``ird # ñ` VALUES (5);
CREATE TABLE other.wide (id INT PRIMARY KEY, a VARBINARY(30000) NOT NULL, b VARBINARY(30000) NOT NULL, c VARBINARY(5520) NOT NULL);
INSERT INTO other.wide VALUES (1, REPEAT('a', 30000), REPEAT('b', 30000), REPEAT('c', 5520)), (2, '', '', ' ');
"""
#: What goes as text because of its engine. What does so because of its history is among the objects of test_objects().
AS_TEXT = """
CREATE TABLE text.aria (id INT PRIMARY KEY, v TEXT) ENGINE=Aria; INSERT INTO text.aria VALUES (1, 'a');
CREATE TABLE text.myisam (id INT PRIMARY KEY, v TEXT) ENGINE=MyISAM; INSERT INTO text.myisam VALUES (1, 'a');
CREATE TABLE text.csv (id INT NOT NULL) ENGINE=CSV; INSERT INTO text.csv VALUES (1);
"""


@pytest.fixture
def from_the_first_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carriers, "BINARY_FROM_BYTES", 0)


def version(server: Sandbox) -> tuple[int, ...]:
    return tuple(int(part) for part in server.sql("SELECT VERSION()").split("-")[0].split("."))


def type_tables(server: Sandbox) -> str:
    """Tables of each type, one that takes NULL and one that does not, with all values."""
    known = [kind for kind in TYPES if version(server) >= SINCE.get(kind, ())]
    statements = ["CREATE DATABASE types; SET sql_mode='ALLOW_INVALID_DATES', time_zone='+00:00'"]
    for number, kind in enumerate(known):
        for suffix, null, first in (("", "NULL", ["NULL"]), ("_not_null", "NOT NULL", [])):
            values = ", ".join(f"({value})" for value in [*first, *TYPES[kind]])
            name = f"types.t{number}{suffix}"
            statements.append(f"CREATE TABLE {name} (id INT AUTO_INCREMENT PRIMARY KEY, v {kind} {null}) CHARACTER SET utf8mb4")
            statements.append(f"INSERT INTO {name} (v) VALUES {values}")
    return ";\n".join(statements) + ";\n"


def charset_table(server: Sandbox) -> str:
    """A table with texts of every character set that the server has."""
    names = server.sql("SELECT character_set_name FROM information_schema.character_sets ORDER BY 1").split()
    kinds = {"c": "CHAR(20)", "v": "VARCHAR(20)", "t": "TEXT"}
    columns = [f"{key}_{name} {kind} CHARACTER SET {name}" for name in names for key, kind in kinds.items()]
    values = ["CONVERT('aé€\\\\\t\n ' USING utf8mb4)"] * len(columns)
    create = f"CREATE TABLE types.charsets (id INT PRIMARY KEY, {', '.join(columns)})"
    return f"SET sql_mode=''; {create};\nINSERT INTO types.charsets VALUES (1, {', '.join(values)}), (2{', NULL' * len(columns)});\n"


def carriers_of(server: Sandbox) -> dict[str, str]:
    """The carrier of each table in the dump that was kept."""
    directory = server.work_path() / "dump"
    found = manifest.read(str(directory))
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir() if path.is_file()} == {0o600}
    return {file.table: file.carrier for file in found.files if file.carrier}


def moved(server: Sandbox, size: str, *allowed: str) -> dict[str, str]:
    """Migrate, and return the carriers of the user's tables; all content must be the same."""
    server.restart()
    with server.connect() as connection:
        before = read_content(connection)
    server.migrate(size, allowed, dump_keep=True)
    if allowed:
        require_equal_but(server, before, "table app.eng_mem rows")
    else:
        with server.connect() as connection:
            require_equal(before, read_content(connection))
    return {name: carrier for name, carrier in carriers_of(server).items() if not name.startswith(("mysql.", "sys."))}


def test_every_type(sandbox: Sandbox, from_the_first_byte: None) -> None:
    sandbox.sql(type_tables(sandbox) + charset_table(sandbox))
    found = moved(sandbox, "8k")
    known = [kind for kind in TYPES if version(sandbox) >= SINCE.get(kind, ())]
    assert len(found) == 2 * len(known) + 1
    assert set(found.values()) == {carriers.BINARY}


def test_every_kind_of_table(sandbox: Sandbox, from_the_first_byte: None) -> None:
    sandbox.sql(f"CREATE DATABASE other; CREATE DATABASE text; CREATE DATABASE pagesmith_rows; {OTHERS} {AS_TEXT}")
    found = moved(sandbox, "64k")
    assert {name: carrier for name, carrier in found.items() if name.startswith("text.")} == dict.fromkeys(
        ("text.aria", "text.csv", "text.myisam"), carriers.TEXT
    )
    others = {carrier for name, carrier in found.items() if name.startswith("other.")}
    assert others == {carriers.BINARY}
    assert sandbox.sql("SHOW DATABASES LIKE 'pagesmith%'") == "pagesmith_rows\n"


def test_objects(sandbox: Sandbox, from_the_first_byte: None) -> None:
    load_objects(sandbox)
    found = moved(sandbox, "8k", HISTORY, MEMORY)
    text = {name for name, carrier in found.items() if carrier == carriers.TEXT}
    assert text == {f"app.{name}" for name in ("eng_aria", "eng_csv", "eng_myisam", "opts", "pcomp", "sv", "svp", "svt")} | (
        text & {"app.eng_archive"}
    )


def test_wide_rows_and_many_columns(sandbox: Sandbox, from_the_first_byte: None) -> None:
    """The tables of fits.sql with a full row each: sixty columns of 255 bytes, a hundred and fifty texts, and InnoDB's 1017 columns."""
    tables = [table for table in parse_fits() if table.verdicts["32k"] == "ok"]
    sandbox.sql("CREATE DATABASE fits")
    for table in tables:
        columns = re.findall(r"(\w+) (int|char|varchar|varbinary|text|geometry)\b", table.statement)
        values = [{"int": "1", "geometry": "POINT(1, 2)"}.get(kind, f"REPEAT('{column[0]}', 190)") for column, kind in columns]
        sandbox.sql(f"USE fits; {table.statement} INSERT INTO {table.name} VALUES ({', '.join(values)})")
    many = ", ".join(f"c{number} INT" for number in range(1016))
    sandbox.sql(f"CREATE TABLE fits.many (id INT PRIMARY KEY, {many}); INSERT INTO fits.many (id, c0, c1015) VALUES (1, 2, 3)")
    found = moved(sandbox, "32k")
    assert set(found.values()) == {carriers.BINARY}


def test_options_of_a_site(from_the_first_byte: None) -> None:
    """No links, another engine than MyISAM, short pointers, and the dump on another file system."""
    settings = {"symbolic-links": 0, "enforce_storage_engine": "InnoDB", "myisam_data_pointer_size": 2, "myisam_use_mmap": 1}
    with small_disk(2 << 30) as disk, Sandbox(settings=settings) as server:
        server.sql("CREATE DATABASE a; CREATE TABLE a.t (id INT PRIMARY KEY, v VARCHAR(200))")
        server.sql("INSERT INTO a.t SELECT seq, REPEAT(seq, 20) FROM a.seq_1_to_5000")
        server.work = disk / "work"
        assert moved(server, "8k") == {"a.t": carriers.BINARY}


def test_small_tables_go_as_text(sandbox: Sandbox) -> None:
    """What is in use in its files tells that a table is large: the server's estimate is that of an empty one."""
    sandbox.sql("CREATE DATABASE a; CREATE TABLE a.small (id INT PRIMARY KEY); INSERT INTO a.small VALUES (1)")
    sandbox.sql(
        "CREATE TABLE a.large (id INT PRIMARY KEY, v VARCHAR(200)) STATS_AUTO_RECALC=0;"
        "INSERT INTO a.large SELECT seq, REPEAT('x', 200) FROM a.seq_1_to_30000"
    )
    assert moved(sandbox, "8k") == {"a.small": carriers.TEXT, "a.large": carriers.BINARY}
    assert "pagesmith_rows" not in sandbox.sql("SHOW DATABASES")

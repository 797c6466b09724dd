# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The data of the benchmark, made inside the server from a sequence of numbers.

Nothing is random: every value is a function of the row's number (CRC32, MD5 and SHA1 of it), so that two runs have the same data.
Run as a program, it prints the SQL; the option is the scale, 1 being about 1.1 GB of tablespaces with 16k pages.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Callable

SCHEMAS = ("sb", "skew", "small")
SYSBENCH_TABLES = 8
SMALL_TABLES = 100
HEAD = (
    "SET NAMES utf8mb4; SET time_zone='+00:00', unique_checks=0, foreign_key_checks=0,"
    " sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_UNSIGNED_SUBTRACTION';\n"
    "USE sb;\n"  # sequences of numbers are tables of whatever schema is in use
)

BIG = """
CREATE TABLE skew.big (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL, b INT, amount DECIMAL(14,4) NOT NULL, created DATETIME NOT NULL,
  upd TIMESTAMP NULL DEFAULT NULL, state ENUM('new','open','done','gone') NOT NULL, bits BIT(4), v VARCHAR(40) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
INSERT INTO skew.big SELECT seq, CRC32(seq) & 0x7fffffff, IF(seq%7=0, NULL, seq%1000),
  (CAST(CRC32(CONCAT('m', seq)) AS SIGNED) - 2147483648) / 10000, '2001-01-01' + INTERVAL (seq*311) SECOND,
  IF(seq%5=0, NULL, FROM_UNIXTIME(1000000000 + seq*97)), 1 + seq%4, IF(seq%11=0, NULL, seq & 15),
  CONCAT('row ', LEFT(MD5(seq), 8 + seq%24)) FROM seq_1_to_{rows};
"""

LOBS = r"""
CREATE TABLE skew.lobs (
  id INT NOT NULL PRIMARY KEY, name VARCHAR(60) NOT NULL, doc LONGTEXT, raw LONGBLOB
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
INSERT INTO skew.lobs SELECT seq, CONCAT('lob ', SHA1(seq)),
  IF(seq%2, LEFT(REPEAT(CONCAT(SHA1(seq), ' é€\t', MD5(seq), '\n'), 400), 18000 + CRC32(seq)%14000), NULL),
  IF(seq%2, NULL, LEFT(REPEAT(CONCAT(UNHEX(SHA1(seq)), UNHEX(MD5(seq)), X'00090A0D1A5C27FF'), 700), 20000 + CRC32(seq)%14000))
  FROM seq_1_to_{rows};
"""

SECONDARY_KEYS = """
CREATE TABLE skew.secidx (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k1 INT NOT NULL, k2 BIGINT NOT NULL, k3 VARCHAR(40) NOT NULL, k4 DATE NOT NULL, k5 CHAR(16),
  payload VARCHAR(120) NOT NULL, KEY k1 (k1), KEY k2 (k2, k1), KEY k3 (k3), KEY k4 (k4, k5), UNIQUE KEY k5 (k5, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
INSERT INTO skew.secidx SELECT seq, CRC32(seq) & 0xfffff, CRC32(CONCAT('b', seq)) * 1000, SHA1(seq),
  '1990-01-01' + INTERVAL CRC32(CONCAT('d', seq))%12000 DAY, IF(seq%13=0, NULL, LEFT(MD5(seq), 16)),
  CONCAT(SHA1(CONCAT('p', seq)), SHA1(CONCAT('q', seq))) FROM seq_1_to_{rows};
"""

NO_PRIMARY_KEY = """
CREATE TABLE skew.nopk (a INT, b VARCHAR(60), c BIT(4), d DOUBLE, e FLOAT) ENGINE=InnoDB DEFAULT CHARSET=latin1;
INSERT INTO skew.nopk SELECT seq%50000, CONCAT('n ', MD5(seq%70000)), seq & 15, seq/7e0, seq/3e0 FROM seq_1_to_{rows};
"""

BINARY_KEY = """
CREATE TABLE skew.bin1 (
  id BINARY(16) NOT NULL PRIMARY KEY, l VARCHAR(50) CHARACTER SET latin1, u VARCHAR(50) CHARACTER SET utf8mb4, r VARBINARY(40)
) ENGINE=InnoDB;
INSERT INTO skew.bin1 SELECT UNHEX(MD5(seq)), CONCAT('latin é ü ', seq), CONCAT('utf8 € 😀 ', seq), UNHEX(SHA1(seq)) FROM seq_1_to_{rows};
"""

SYSBENCH = """
CREATE TABLE sb.sbtest{number} (
  id INT NOT NULL AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '',
  PRIMARY KEY (id), KEY k_{number} (k)
) ENGINE=InnoDB DEFAULT CHARSET={charset};
INSERT INTO sb.sbtest{number} SELECT seq, 1 + CRC32(CONCAT(seq, 'k{number}'))%250000, {c}, {pad} FROM seq_1_to_{rows};
"""

# One of every common type.
SMALL = r"""
CREATE TABLE small.t{number} (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, ti TINYINT, si SMALLINT UNSIGNED, mi MEDIUMINT, bi BIGINT UNSIGNED, f FLOAT,
  f2 FLOAT UNSIGNED, d DOUBLE, de DECIMAL(30,10), b1 BIT(1), b17 BIT(17), b64 BIT(64), c CHAR(10) CHARACTER SET latin1, v VARCHAR(100),
  bn BINARY(8), vb VARBINARY(50), tx TEXT, bl BLOB, js JSON, da DATE, dt DATETIME(6), ts TIMESTAMP(3) NULL, tm TIME(2), yr YEAR,
  en ENUM('a','b','ç'), se SET('x','y','z'), uu UUID, ip INET6, KEY (si), KEY (v(20)), UNIQUE KEY (bi)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
INSERT INTO small.t{number} SELECT seq, seq%256 - 128, seq*7%65536, seq*31 - 8000000, ~seq, seq/3e0, IF(seq%10, seq*1.1e10, NULL),
  SQRT(seq)*1e100, seq*1234567.0123456789, seq & 1, seq*97 & 131071, (seq<<50) | seq*16777619, CONCAT('ç', seq),
  CONCAT('tab\tnl\nbs\\ é😀 {number} ', seq), LEFT(UNHEX(MD5(seq)), 8), UNHEX(SHA1(seq)),
  ELT(1 + seq%5, '', NULL, 'NULL', '\\N', REPEAT('text ', seq%400)), REPEAT(X'00FF0A091A5C2227', seq%60), CONCAT('{{"a":', seq, '}}'),
  '1000-01-01' + INTERVAL seq*997 DAY, '1970-01-01' + INTERVAL seq*1234567.654321 SECOND, FROM_UNIXTIME(seq*54321.123),
  SEC_TO_TIME(seq*100.25 - 200000), 1901 + seq%255, 1 + seq%3, seq%8,
  CONCAT_WS('-', LEFT(MD5(seq), 8), SUBSTR(MD5(seq), 9, 4), CONCAT('1', SUBSTR(MD5(seq), 14, 3)), CONCAT('8', SUBSTR(MD5(seq), 18, 3)),
    RIGHT(MD5(seq), 12)), CONCAT('2001:db8::', LEFT(MD5(seq), 4)) FROM seq_1_to_{rows};
"""


def digit_groups(count: int, salt: str) -> str:
    """What sysbench fills its columns with: groups of eleven digits."""
    groups = (f"LPAD(CRC32(CONCAT(seq, '{salt}{group}')), 11, '0')" for group in range(count))
    return f"CONCAT_WS('-', {', '.join(groups)})"


def scripts(scale: float) -> list[str]:
    """Independent SQL scripts, the longest first."""

    def rows(count: int) -> int:
        return max(1, int(count * scale))

    result = [
        BIG.format(rows=rows(1_800_000)),
        LOBS.format(rows=rows(8_000)),
        SECONDARY_KEYS.format(rows=rows(300_000)),
        NO_PRIMARY_KEY.format(rows=rows(300_000)),
        BINARY_KEY.format(rows=rows(150_000)),
    ]
    for number in range(1, SYSBENCH_TABLES + 1):
        charset = "utf8mb4" if number % 2 else "latin1"
        c, pad = digit_groups(10, f"c{number}"), digit_groups(5, f"p{number}")
        result.append(SYSBENCH.format(number=number, charset=charset, c=c, pad=pad, rows=rows(250_000)))
    result.append("".join(SMALL.format(number=number, rows=rows(400)) for number in range(1, SMALL_TABLES + 1)))
    return result


def table_names() -> list[str]:
    skewed = [f"skew.{name}" for name in ("big", "lobs", "secidx", "nopk", "bin1")]
    sysbench = [f"sb.sbtest{number}" for number in range(1, SYSBENCH_TABLES + 1)]
    return [*skewed, *sysbench, *(f"small.t{number}" for number in range(1, SMALL_TABLES + 1))]


def schemas_script() -> str:
    return "".join(f"CREATE DATABASE {name};\n" for name in SCHEMAS)


def generate(sql: Callable[[str], object], scale: float, workers: int = 2) -> None:
    """Fill an empty server; sql(text) runs a script in a session of its own."""
    sql(schemas_script())
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda script: sql(HEAD + script), scripts(scale)))


if __name__ == "__main__":
    print(schemas_script() + HEAD + "".join(scripts(float(sys.argv[1]) if sys.argv[1:] else 1.0)))

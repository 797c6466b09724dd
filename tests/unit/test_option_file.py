# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Option files: reading them as the server does, and where our drop-in belongs."""

from __future__ import annotations

import os
import re

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils import option_file
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.option_file import Options, Reader

GROUPS = ["mysqld", "mariadb"]

#: Lines of the real output of mariadbd 10.11.19 --verbose --help.
HELP = """\
/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)

Usage: /usr/sbin/mariadbd [OPTIONS]

Default options are read from the following files in the given order:
/etc/my.cnf /etc/mysql/my.cnf ~/.my.cnf\x20
The following groups are read: mysqld server mysqld-10.11 mariadb mariadb-10.11 mariadbd mariadbd-10.11 client-server galera
The following options may be given as the first argument:
--print-defaults          Print the program argument list and exit.

  --alter-algorithm[=name]\x20
                      Specify the alter table algorithm. One of: DEFAULT, COPY,

Variables (--variable-name=value)
and boolean options {FALSE|TRUE}                             Value (after reading options)
------------------------------------------------------------ -------------
datadir                                                      /var/lib/mysql/
ft-boolean-syntax                                            + -><()~*:""&|
ft-stopword-file                                             (No default value)
init-connect                                                \x20
innodb-page-size                                             16384
log-bin-trust-function-creators                              FALSE

To see what variables a running server is using, type
'SELECT * FROM INFORMATION_SCHEMA.GLOBAL_VARIABLES' instead of 'mysqld --verbose --help' or 'mariadbd --verbose --help'.
"""


def no_include(kind: str, target: str) -> list:
    raise AssertionError(f"no include of the {kind} {target} was expected")


def parsed(text: str) -> list[tuple[str, str]]:
    return [(setting.name, setting.value) for setting in option_file.parse_text(text, "my.cnf", GROUPS, no_include)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("innodb_page_size=8k", ("innodb_page_size", "8k")),
        ("innodb-page-size = 8k", ("innodb_page_size", "8k")),
        ("  InnoDB-Page_Size\t=\t8k  ", ("innodb_page_size", "8k")),
        ("--innodb-page-size=8k", ("innodb_page_size", "8k")),
        ("loose-innodb_page_size=8k", ("innodb_page_size", "8k")),
        ("skip-innodb-doublewrite", ("innodb_doublewrite", "0")),
        ("loose_skip_innodb_doublewrite", ("innodb_doublewrite", "0")),
        ("disable-log-bin", ("log_bin", "0")),
        ("enable-log-bin", ("log_bin", "1")),
        ("skip-networking", ("skip_networking", "1")),
        ("skip-name-resolve=0", ("skip_name_resolve", "0")),
        ("log_bin", ("log_bin", "1")),
        ("log_bin =", ("log_bin", "")),
        ("port=3306 # the usual one", ("port", "3306")),
        ("datadir='/srv/a b'", ("datadir", "/srv/a b")),
        ('init_connect="SET @a=1 # no comment" # a comment', ("init_connect", "SET @a=1 # no comment")),
        ("sql_mode=''", ("sql_mode", "")),
        ("init_connect=SET @a=1", ("init_connect", "SET @a=1")),
    ],
)
def test_one_line(line, expected):
    assert parsed(f"[mysqld]\n{line}\n") == [expected]


def test_only_the_groups_of_the_server_count():
    text = "port=1\n[client]\nport=2\n[mysqld]\nport=3\n[ mariadb ] # ours too\nport=4\n[mysqldump]\nport=5\n"
    assert parsed(text) == [("port", "3"), ("port", "4")]


def test_comments_and_blank_lines_count_as_lines():
    settings = option_file.parse_text("# a\n; b\n\n[mysqld]\n  # c\nport=1\n", "my.cnf", GROUPS, no_include)
    assert settings == [option_file.Setting("port", "1", "my.cnf", 6)]


def test_includes_stand_in_their_place():
    asked = []

    def include(kind: str, target: str) -> list:
        asked.append((kind, target))
        return [option_file.Setting("port", kind, target, 1)]

    text = "[mysqld]\nport=1\n!include /etc/a.cnf\n!includedir  /etc/b.d/ \nport=2\n"
    settings = option_file.parse_text(text, "my.cnf", GROUPS, include)
    assert asked == [("file", "/etc/a.cnf"), ("directory", "/etc/b.d/")]
    assert [setting.value for setting in settings] == ["1", "file", "directory", "2"]


@pytest.fixture
def tree(tmp_path):
    """my.cnf that includes conf.d with two files, then last.d with one."""
    for name, content in {
        "my.cnf": f"[mysqld]\nport=1\n!includedir {tmp_path}/conf.d/\n!includedir {tmp_path}/last.d\n",
        "conf.d/50-server.cnf": "[mysqld]\nport=3\nmax_connections=50\n",
        "conf.d/10-first.cnf": "[mysqld]\nport=2\n",
        "conf.d/README": "[mysqld]\nport=99\n",
        "last.d/90-site.cnf": "[mariadb]\nport=4\n[client]\nport=98\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    return tmp_path


def read(root) -> Options:
    reader = Reader(GROUPS)
    settings = reader.read(str(root / "my.cnf"))
    return Options({}, settings, reader.files, reader.directories, [str(root / "my.cnf")], GROUPS)


def test_reader_reads_directories_in_the_order_of_names(tree):
    options = read(tree)
    assert [(setting.value, setting.line) for setting in options.where("port")] == [("1", 2), ("2", 2), ("3", 2), ("4", 2)]
    assert options.files == [str(tree / name) for name in ("my.cnf", "conf.d/10-first.cnf", "conf.d/50-server.cnf", "last.d/90-site.cnf")]
    assert options.directories == [f"{tree}/conf.d/", f"{tree}/last.d"]


def test_reader_refuses_a_missing_file_and_a_circle(tmp_path):
    with pytest.raises(InnodbError, match="can't be read: No such file"):
        Reader(GROUPS).read(str(tmp_path / "my.cnf"))
    circle = tmp_path / "circle.cnf"
    circle.write_text(f"!include {circle}\n")
    with pytest.raises(InnodbError, match="more than 10 levels deep"):
        Reader(GROUPS).read(str(circle))


def test_reader_takes_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "my.cnf"
    path.write_bytes(b"# caf\xe9\n[mysqld]\nport=1\n")
    assert [setting.value for setting in Reader(GROUPS).read(str(path))] == ["1"]


@pytest.mark.parametrize(
    ("suffix", "name"), [(None, "zz-pagesmith.cnf"), ("-two", "zz-pagesmith-two.cnf"), ("./../x", "zz-pagesmith-----x.cnf")]
)
def test_drop_in_lies_in_the_last_directory(tree, suffix, name):
    assert option_file.drop_in_path(read(tree), suffix) == f"{tree}/last.d/{name}"


def test_no_drop_in_without_a_directory():
    assert option_file.drop_in_path(Options({}), None) is None


@pytest.mark.parametrize("directory", ["conf.d/", "last.d"])
def test_reread_with_a_file_that_is_not_there_yet(tree, directory):
    drop_in = f"{tree}/{directory.rstrip('/')}/zz-pagesmith.cnf"
    found = [setting for setting in read(tree).reread({drop_in: "[mysqld]\nport=7\n"}) if setting.file == drop_in]
    assert [setting.value for setting in found] == ["7"]


def test_overridden_by_a_later_file(tree):
    options = read(tree)
    drop_in = f"{tree}/conf.d/zz-pagesmith.cnf"
    content = "[mysqld]\nport=7\nmax_connections=100\n"
    [(ours, winner)] = option_file.overridden(options, drop_in, content)
    assert (ours.value, winner.value, winner.file, winner.line) == ("7", "4", f"{tree}/last.d/90-site.cnf", 2)


def test_the_same_value_later_does_not_override(tree):
    assert option_file.overridden(read(tree), f"{tree}/conf.d/zz-pagesmith.cnf", "[mysqld]\nport=4\n") == []


def test_the_last_file_is_not_overridden_but_by_the_command_line(tree):
    options = read(tree)
    drop_in = option_file.drop_in_path(options, None)
    assert option_file.overridden(options, drop_in, "[mysqld]\nport=7\n") == []
    options.arguments["port"] = "8"
    [(ours, winner)] = option_file.overridden(options, drop_in, "[mysqld]\nport=7\n")
    assert (ours.file, winner.value, winner.line) == (drop_in, "8", 0)


def test_parse_help():
    files, groups, values = option_file.parse_help(HELP)
    assert files == ["/etc/my.cnf", "/etc/mysql/my.cnf", "~/.my.cnf"]
    assert groups[0] == "mysqld"
    assert groups[-1] == "galera"
    assert values == {
        "datadir": "/var/lib/mysql/",
        "ft_boolean_syntax": '+ -><()~*:""&|',
        "ft_stopword_file": None,
        "init_connect": "",
        "innodb_page_size": "16384",
        "log_bin_trust_function_creators": "FALSE",
    }


@pytest.mark.parametrize("missing", ["Default options are read", "The following groups are read", "-------------"])
def test_parse_help_refuses_other_output(missing):
    with pytest.raises(InnodbError, match="did not list its options"):
        option_file.parse_help("\n".join(line for line in HELP.splitlines() if missing not in line))


@pytest.mark.parametrize(
    ("file", "suffix", "expected"),
    [
        (None, None, []),
        ("/etc/my.cnf", None, ["--defaults-file=/etc/my.cnf"]),
        ("/etc/my.cnf", "-two", ["--defaults-file=/etc/my.cnf", "--defaults-group-suffix=-two"]),
    ],
)
def test_default_arguments(file, suffix, expected):
    assert option_file.default_arguments(file, suffix) == expected


@pytest.mark.parametrize(
    ("roots", "defaults_file", "expected"),
    [
        (["/etc/my.cnf"], None, ("/etc/my.cnf", "/etc/my.cnf.d")),
        (["/etc/my.cnf", os.path.expanduser("~/.my.cnf")], None, ("/etc/my.cnf", "/etc/my.cnf.d")),
        (["/srv/db.cnf"], "/srv/db.cnf", ("/srv/db.cnf", "/srv/db.cnf.d")),
        ([os.path.expanduser("~/.my.cnf")], None, None),
        ([], None, None),
    ],
)
def test_the_file_that_may_include_our_drop_in(roots, defaults_file, expected):
    assert option_file.include_directive(Options({}, roots=roots), defaults_file) == expected


def test_a_line_that_is_yet_to_be_written_counts(tmp_path):
    root, drop_in = tmp_path / "my.cnf", f"{tmp_path}/my.cnf.d/zz-pagesmith.cnf"
    root.write_text("[mysqld]\nport=1\n")
    options = Options({}, roots=[str(root)], groups=GROUPS)
    others = {str(root): f"[mysqld]\nport=1\n!includedir {tmp_path}/my.cnf.d\nport=9\n"}
    [(ours, winner)] = option_file.overridden(options, drop_in, "[mysqld]\nport=7\n", others)
    assert (ours.value, winner.value, winner.line) == ("7", "9", 4)


class Program:
    """A server program that says where it would work, as the real ones do, and remembers how it was asked."""

    def __init__(self, default: str = "/var/lib/mysql", variables: tuple[str, ...] = ()) -> None:
        self.default = default
        self.variables = variables
        self.asked: list[str] = []

    def __call__(self, command):
        given = [argument.partition("=")[2] for argument in command if argument.startswith("--datadir=")]
        datadir = given[-1] if given else self.default
        self.asked.append(datadir)
        own = [f"aria-log-dir-path {datadir}/", f"pid-file {datadir}/host.pid", f"tmpdir {datadir}-other"]
        lines = [f"datadir {datadir}/", *own, *self.variables]
        table = re.sub(r"(-{10,} -{10,}\n).*?\n\n", lambda match: match.group(1) + "\n".join(lines) + "\n\n", HELP, flags=re.DOTALL)
        return 0, table.replace("/etc/my.cnf /etc/mysql/my.cnf ~/.my.cnf", "/nowhere/my.cnf"), ""


@pytest.mark.parametrize(
    ("line", "arguments", "expected"),
    [
        ("datadir=/srv/a b/", [], "/srv/a b"),
        ("datadir=/srv/a", ["--datadir=/srv/b"], "/srv/b"),
        ("port=1", [], "/var/lib/mysql"),
    ],
)
def test_options_are_listed_without_touching_the_data_directory(tmp_path, line, arguments, expected):
    program, root = Program(), tmp_path / "my.cnf"
    root.write_text(f"[mysqld]\n{line}\n")
    options = option_file.read_options(program, "mariadbd", str(root), None, arguments)
    assert options.values["datadir"] == options.values["aria_log_dir_path"] == f"{expected}/"
    assert options.values["pid_file"] == f"{expected}/host.pid"
    scratch = program.asked[0]
    assert scratch != expected and not os.path.exists(scratch)
    assert options.values["tmpdir"] == f"{scratch}-other"


#: As MySQL 9.7.4 wrote it.
PERSISTED = """{"Version": 2,
"mysql_static_variables": {"innodb_read_io_threads": {"Value": "6", "Metadata": {"Host": "localhost", "User": "root", "Timestamp": 1}}},
"mysql_dynamic_variables": {"innodb_io_capacity": {"Value": "300", "Metadata": {"Host": "localhost", "User": "root", "Timestamp": 2}}},
"mysql_dynamic_parse_early_variables": {"max_connections": {"Value": "200", "Metadata": {"User": "root", "Timestamp": 3}}}}
"""
#: As MySQL before 8.0.29 had it.
PERSISTED_FIRST = """{"Version": 1, "mysql_server": {
"innodb_io_capacity": {"Value": "300", "Metadata": {"Timestamp": 2, "User": "root", "Host": "localhost"}},
"max_connections": {"Value": "200", "Metadata": {"Timestamp": 3, "User": "root", "Host": "localhost"}},
"mysql_server_static_options": {"innodb_read_io_threads": {"Value": "6", "Metadata": {"Timestamp": 1, "User": "root"}}}}}
"""


def options_with_persisted(tmp_path, text, loads="persisted-globals-load TRUE"):
    datadir, root = tmp_path / "data", tmp_path / "my.cnf"
    datadir.mkdir()
    (datadir / "mysqld-auto.cnf").write_text(text)
    root.write_text(f"[mysqld]\ndatadir={datadir}\ninnodb_io_capacity=900\n!includedir {tmp_path}/conf.d\n")
    program = Program(variables=("innodb-io-capacity 900", "innodb-read-io-threads 4", "max-connections 151", loads))
    return option_file.read_options(program, "mysqld", str(root), None, ["--innodb-read-io-threads=5"])


@pytest.mark.parametrize("text", [PERSISTED, PERSISTED_FIRST])
def test_persisted_variables_win_over_everything(tmp_path, text):
    options = options_with_persisted(tmp_path, text)
    names = ("innodb_io_capacity", "innodb_read_io_threads", "max_connections")
    assert [options.get(name) for name in names] == ["300", "6", "200"]
    assert options.where("innodb_io_capacity")[-1] == ("innodb_io_capacity", "300", f"{tmp_path}/data/mysqld-auto.cnf", 0)
    content = "[mysqld]\ninnodb_io_capacity=400\ninnodb_read_io_threads=7\nport=1\n"
    lost = option_file.overridden(options, f"{tmp_path}/conf.d/zz-pagesmith.cnf", content)
    assert [(winner.name, winner.value, os.path.basename(winner.file)) for _own, winner in lost] == [
        ("innodb_io_capacity", "300", "mysqld-auto.cnf"),
        ("innodb_read_io_threads", "6", "mysqld-auto.cnf"),
    ]


@pytest.mark.parametrize("loads", ["persisted-globals-load FALSE", "port 3306"])
def test_persisted_variables_that_the_server_does_not_load(tmp_path, loads):
    """MariaDB knows none, and a file of them may lie in a data directory that came from MySQL."""
    options = options_with_persisted(tmp_path, "not even JSON", loads)
    assert options.get("innodb_io_capacity") == "900" and options.where("innodb_io_capacity")[-1].value == "900"


@pytest.mark.parametrize("text", ["{broken", '["a list"]'])
def test_persisted_variables_that_cannot_be_read(tmp_path, text):
    with pytest.raises(InnodbError, match="mysqld-auto.cnf.*does not start"):
        options_with_persisted(tmp_path, text)


def test_a_server_that_does_not_tell_its_data_directory():
    with pytest.raises(InnodbError, match="default data directory.*Set datadir"):
        option_file.default_datadir(lambda _command: (1, "", "no such program"), "mariadbd")


#: Option files as packages install them, without their comments, and where our drop-in belongs.
HOSTS = {
    "MariaDB of Debian and Ubuntu": (
        {
            "mysql/my.cnf": "[client-server]\n!includedir /etc/mysql/conf.d/\n!includedir /etc/mysql/mariadb.conf.d/\n",
            "mysql/conf.d/mysqldump.cnf": "[mysqldump]\nquick\n",
            "mysql/mariadb.conf.d/50-server.cnf": "[mysqld]\ninnodb_buffer_pool_size=1G\n",
            "mysql/mariadb.conf.d/60-galera.cnf": "[galera]\n",
        },
        "mysql/my.cnf",
        "mysql/mariadb.conf.d/zz-pagesmith.cnf",
    ),
    "MySQL of Debian and Ubuntu": (
        {
            "mysql/my.cnf": "!includedir /etc/mysql/conf.d/\n!includedir /etc/mysql/mysql.conf.d/\n",
            "mysql/conf.d/mysql.cnf": "[mysql]\n",
            "mysql/mysql.conf.d/mysqld.cnf": "[mysqld]\ninnodb_buffer_pool_size=1G\n",
        },
        "mysql/my.cnf",
        "mysql/mysql.conf.d/zz-pagesmith.cnf",
    ),
    "RHEL, AlmaLinux, Rocky Linux": (
        {
            "my.cnf": "[client-server]\n!includedir /etc/my.cnf.d\n",
            "my.cnf.d/mariadb-server.cnf": "[mysqld]\ninnodb_buffer_pool_size=1G\n",
        },
        "my.cnf",
        "my.cnf.d/zz-pagesmith.cnf",
    ),
    "cPanel": ({"my.cnf": "[mysqld]\ninnodb_buffer_pool_size=1G\n"}, "my.cnf", None),
}


@pytest.mark.parametrize("host", HOSTS)
def test_the_drop_in_is_read_last_on_each_kind_of_host(tmp_path, host):
    files, root, expected = HOSTS[host]
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.replace("/etc/", f"{tmp_path}/"))
    options = option_file.read_options(Program(), "mysqld", str(tmp_path / root), None, [])
    found = option_file.drop_in_path(options, None)
    if expected is None:
        assert found is None and option_file.include_directive(options, str(tmp_path / root))[1] == f"{tmp_path}/my.cnf.d"
        return
    assert found == f"{tmp_path}/{expected}"
    assert options.reread({found: "[mysqld]\ninnodb_buffer_pool_size=2G\n"})[-1].value == "2G"
    assert option_file.overridden(options, found, "[mysqld]\ninnodb_buffer_pool_size=2G\n") == []

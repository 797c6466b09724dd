# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module server_config and the role nvme_config on a real private server: tried, written, restarted, read back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import Sandbox, run

from ansible_collections.pagesmith.innodb.plugins.module_utils import server_config
from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.instance import find_instance
from ansible_collections.pagesmith.innodb.plugins.module_utils.layout import plan_paths, read_layout
from ansible_collections.pagesmith.innodb.plugins.module_utils.work_directory import WorkDirectory

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20


class Host(Sandbox):
    """A private server with 16k pages, and Ansible to work on it."""

    def create(self) -> None:
        super().create()
        self.collections = self.base / "collections"
        link = self.collections / "ansible_collections/pagesmith"
        link.mkdir(parents=True)
        (link / "innodb").symlink_to(ROOT)

    @property
    def drop_in(self) -> Path:
        return self.include / f"zz-pagesmith{self.group_suffix}.cnf"

    def variable(self, name: str) -> str:
        return self.sql(f"SELECT @@GLOBAL.{name}").strip()

    def ansible(self, program: str, *arguments: str) -> subprocess.CompletedProcess:
        environment = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(self.collections),
            "ANSIBLE_LOCALHOST_WARNING": "False",
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "False",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_HOME": str(self.base / "ansible"),
            "LC_ALL": "C.UTF-8",
        }
        tool = os.path.join(os.path.dirname(sys.executable), program)
        interpreter = f"ansible_python_interpreter={sys.executable}"
        return subprocess.run([tool, *arguments, "-e", interpreter], capture_output=True, text=True, check=False, env=environment)

    @property
    def instance_option(self) -> dict:
        return {"defaults_file": str(self.option_file), "group_suffix": self.group_suffix or None, "manager": "process"}

    def configure(self, content: str, *flags: str, **options) -> dict:
        """The result of the module."""
        arguments = {"content": content, "work_dir": str(self.work), "instance": self.instance_option, **options}
        done = self.ansible("ansible", "localhost", "-m", "pagesmith.innodb.server_config", "-a", json.dumps(arguments), *flags)
        self.shown = done.stdout
        _head, arrow, result = done.stdout.partition("=> ")
        assert arrow, done.stdout + done.stderr
        return {**json.loads(result), "failed": done.returncode != 0}

    def problems(self, content: str, size: int = 16384) -> list[str]:
        instance = find_instance(run, self.options().spec)
        directory = f"{self.base}/trial"
        paths = plan_paths(read_layout(instance), "test")
        try:
            return server_config.candidate_problems(run, instance, paths, content, directory, size)
        finally:
            assert not os.path.exists(directory)

    def play(self, variables: dict, *flags: str) -> subprocess.CompletedProcess:
        """The role, with these variables."""
        playbook = self.base / "play.yml"
        tasks = [{"ansible.builtin.import_role": {"name": "pagesmith.innodb.nvme_config"}}]
        playbook.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
        variables = {"nvme_config_instance": self.instance_option, "nvme_config_work_dir": str(self.work), **variables}
        return self.ansible("ansible-playbook", str(playbook), "-e", json.dumps(variables), *flags)


@pytest.fixture(scope="module")
def shared():
    with Host() as server:
        yield server


@pytest.fixture
def host(shared):
    """The server as it was, without a file of ours."""
    yield shared
    files = list(shared.include.iterdir())
    for path in files:
        path.unlink()
    shutil.rmtree(shared.work, ignore_errors=True)
    if files or not shared.servers():
        shared.restart()


CONTENT = "[mysqld]\ninnodb_page_size=16k\ninnodb_io_capacity=2000\ninnodb_io_capacity_max=4000\n"


@pytest.mark.parametrize(
    "line, expected",
    [
        ("no_such_option=1", "no_such_option"),
        ("loose_no_such_option=1", "no_such_option"),
        ("innodb_flush_method=ALL_O_DIRECT", "ALL_O_DIRECT"),
        ("loose_innodb_flush_method=ALL_O_DIRECT", "ALL_O_DIRECT"),
        ("innodb_io_capacity=abc", "abc"),
        ("innodb_flush_neighbors=7", "adjusted to 2"),
        ("innodb_io_capacity_max=1000", "innodb_io_capacity_max"),
        ("innodb_page_cleaners=4", "was removed"),
        ("innodb_buffer_pool_size=4M", "innodb_buffer_pool_size"),
        ("innodb_buffer_pool_size=100T", "memory of this host"),
        ("!include /etc/mysql/my.cnf", "stand alone"),
    ],
)
def test_what_the_server_would_not_take_is_found(host, line, expected):
    if line.startswith("!"):
        with pytest.raises(InnodbError, match=expected):
            host.problems(CONTENT + line)
        return
    problems = host.problems(CONTENT + line + "\n")
    assert problems and expected in " ".join(problems), problems


@pytest.mark.parametrize("size", [4096, 8192, 16384, 32768, 65536])
def test_a_good_file_has_no_problem_at_any_page_size(host, size):
    more = "innodb_buffer_pool_size=512M\ninnodb_flush_method=O_DIRECT\nignore_db_dirs=.a\nignore_db_dirs=lost+found\nlog_bin=x\n"
    more += "skip_name_resolve\nlong_query_time=0.5\nsql_mode=TRADITIONAL\nmax_connections=500\n"
    assert host.problems(CONTENT.replace("16k", str(size)) + more, size) == []


def test_a_file_for_another_page_size_is_a_problem(host):
    assert "8k pages" in " ".join(host.problems(CONTENT, 8192))
    assert host.problems("[mysqld]\ninnodb_io_capacity=2000\n", 8192)


def test_the_file_that_is_replaced_does_not_count(host):
    host.drop_in.write_text("[mysqld]\ninnodb_flush_neighbors=7\n")
    assert host.problems(CONTENT) == []


def test_other_option_files_count(host):
    (host.include / "50.cnf").write_text("[mysqld]\ninnodb_io_capacity_max=1000\n")
    assert host.problems("[mysqld]\ninnodb_page_size=16k\ninnodb_io_capacity=2000\n")


def test_from_nothing_to_the_second_run(host):
    checked = host.configure(CONTENT, "--check", "--diff", restart=True)
    assert checked["changed"] and checked["restarted"] and not host.drop_in.exists()
    assert not host.work.exists()

    written = host.configure(CONTENT)
    assert written["changed"] and written["restart_pending"] and host.drop_in.read_text() == CONTENT
    assert host.variable("innodb_io_capacity") == "200"

    pending = host.configure(CONTENT)
    assert (pending["failed"], pending["changed"], pending["restart_pending"]) == (False, False, True)

    started = host.configure(CONTENT, restart=True)
    assert started["changed"] and started["restarted"] and not started["restart_pending"]
    assert host.variable("innodb_io_capacity") == "2000"

    second = host.configure(CONTENT, restart=True)
    assert (second["failed"], second["changed"], second["restarted"]) == (False, False, False)


def test_drift_is_a_failure(host):
    assert host.configure(CONTENT, restart=True)["changed"]
    host.sql("SET GLOBAL innodb_io_capacity=333")
    result = host.configure(CONTENT)
    assert result["failed"] and "innodb_io_capacity=2000 was adjusted to 333" in result["msg"] and not result["changed"]


def test_a_refused_file_is_not_written(host):
    pid = host.servers()
    result = host.configure(CONTENT + "no_such_option=1\n", restart=True)
    assert result["failed"] and "no_such_option" in result["msg"] and "Nothing was changed" in result["msg"]
    assert not host.drop_in.exists() and host.servers() == pid


def test_another_page_size_is_refused(host):
    result = host.configure(CONTENT.replace("16k", "8k"), restart=True)
    assert result["failed"] and "migration's job" in result["msg"] and not host.drop_in.exists()


def test_an_option_that_a_later_file_overrides_is_refused(host):
    later = host.include / "zzz.cnf"
    later.write_text("[mysqld]\n# here\ninnodb-io-capacity = 500\n")
    result = host.configure(CONTENT)
    assert result["failed"] and f"{later}:3 sets innodb_io_capacity=500" in result["msg"] and not host.drop_in.exists()
    later.write_text("[mysqld]\ninnodb_page_size = 16384\n")
    assert not host.configure(CONTENT)["failed"]


def test_a_server_that_does_not_start_gets_its_old_file_back(host):
    assert host.configure(CONTENT, restart=True)["changed"]
    # What a trial beside the live server can't find: the log of the live one would go where nobody can write.
    bad = CONTENT + "log_bin=/proc/nowhere/log\n"
    result = host.configure(bad, restart=True)
    assert result["failed"] and "The old file was put back, and the server runs" in result["msg"], result["msg"]
    assert host.drop_in.read_text() == CONTENT and host.servers()
    assert not host.configure(CONTENT)["failed"]


def test_a_server_that_is_down_is_configured_and_stays_down(host):
    host.stop()
    result = host.configure(CONTENT, restart=True)
    assert (result["failed"], result["changed"], result["running"], result["restarted"]) == (False, True, False, False)
    assert not host.servers()
    host.start()
    assert not host.configure(CONTENT)["changed"]


def test_nothing_is_done_while_a_migration_runs(host):
    instance = find_instance(run, host.options().spec)
    work = WorkDirectory(str(host.work), instance.name)
    work.create(instance.owner()[1])
    work.journal.record("8k-x", "plan", "note", {"target": 8192})
    result = host.configure(CONTENT)
    assert result["failed"] and "8k-x" in result["msg"] and not host.drop_in.exists()


def test_the_role(host):
    variables = {
        "nvme_config_storage": "flash",
        "nvme_config_buffer_pool_size": "64M",
        "nvme_config_extra_options": {"skip-name-resolve": None, "long_query_time": 0.5},
    }
    checked = host.play(variables, "--check", "--diff")
    assert checked.returncode == 0 and "+innodb_flush_neighbors=0" in checked.stdout and not host.drop_in.exists(), checked.stdout
    first = host.play({**variables, "nvme_config_restart": True})
    assert first.returncode == 0 and "changed=1" in first.stdout, first.stdout
    assert host.variable("innodb_buffer_pool_size") == str(64 * MIB)
    assert host.variable("skip_name_resolve") == "1"
    assert host.drop_in.read_text().endswith("long_query_time=0.5\n")
    second = host.play(variables)
    assert second.returncode == 0 and "changed=0" in second.stdout, second.stdout
    refused = host.play({**variables, "nvme_config_page_size": "8k"})
    assert refused.returncode != 0 and "migration's job" in refused.stdout


def test_an_instance_with_a_group_suffix():
    with Host(group_suffix="2") as host:
        content = "[mysqld2]\ninnodb_page_size=16k\ninnodb_io_capacity=700\n"
        result = host.configure(content, restart=True)
        assert result["changed"] and host.drop_in.read_text() == content, result
        assert host.variable("innodb_io_capacity") == "700"
        other = host.configure("[mysqld1]\ninnodb_io_capacity=700\n")
        assert other["failed"] and "sets nothing in a group" in other["msg"]


def untouched(directory: Path) -> dict[str, tuple]:
    """The directory and all that is in it, with what changes when it is touched."""
    found = {}
    for path in [directory, *directory.rglob("*")]:
        status = path.lstat()
        found[str(path)] = (status.st_mode, status.st_uid, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return found


def test_check_mode_leaves_the_data_directory_and_the_option_files_as_they_are(host):
    host.stop()
    before = untouched(host.datadir), untouched(host.include), host.option_file.stat()
    assert host.configure(CONTENT, "--check", restart=True)["changed"]
    assert (untouched(host.datadir), untouched(host.include), host.option_file.stat()) == before
    host.start()
    # A running server writes its files, but makes and removes none without being asked.
    status = host.datadir.stat()
    assert host.configure(CONTENT, "--check", restart=True)["restarted"]
    assert host.datadir.stat().st_mtime_ns == status.st_mtime_ns


class BareHost(Host):
    """A server with one option file that includes nothing, as on cPanel."""

    TEXT = "# by hand\n"

    @property
    def drop_in(self) -> Path:
        return Path(f"{self.option_file}.d/zz-pagesmith.cnf")

    def write_options(self) -> None:
        self.option_file.write_text(f"{self.option_text()}{self.TEXT}")


@pytest.fixture(scope="module")
def bare():
    with BareHost() as server:
        yield server


def test_a_host_whose_option_file_includes_no_directory(bare):
    original = bare.option_file.read_text()
    refused = bare.configure(CONTENT)
    assert refused["failed"] and f"'!includedir {bare.option_file}.d' at the end of {bare.option_file}" in refused["msg"]

    checked = bare.configure(CONTENT, "--check", "--diff", add_include=True, restart=True)
    assert checked["changed"] and f"+++ after: {bare.drop_in}" in bare.shown and f"+!includedir {bare.option_file}.d" in bare.shown
    assert bare.option_file.read_text() == original and not bare.drop_in.parent.exists()

    bad = bare.configure(CONTENT + "log_bin=/proc/nowhere/log\n", add_include=True, restart=True)
    assert bad["failed"] and "The file was removed again, and the server runs" in bad["msg"], bad["msg"]
    assert bare.option_file.read_text() == original and not bare.drop_in.exists()

    bare.option_file.chmod(0o664)
    written = bare.configure(CONTENT, add_include=True, restart=True)
    assert written["changed"] and bare.variable("innodb_io_capacity") == "2000", written
    assert bare.option_file.read_text() == f"{original}!includedir {bare.option_file}.d\n"
    assert bare.option_file.stat().st_mode & 0o777 == 0o664
    second = bare.configure(CONTENT, restart=True)
    assert (second["failed"], second["changed"]) == (False, False)


def test_a_directory_with_files_that_the_server_does_not_read_is_not_included(bare):
    bare.option_file.write_text(bare.option_text())
    bare.drop_in.parent.mkdir(exist_ok=True)
    stranger = bare.drop_in.parent / "50.cnf"
    stranger.write_text("[mysqld]\nport=3333\n")
    refused = bare.configure(CONTENT, add_include=True)
    assert refused["failed"] and str(stranger) in refused["msg"] and "!includedir" not in bare.option_file.read_text()
    stranger.unlink()

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The command line of a unit: through a shell, as Debian 13 has it, and while the process is not the server yet."""

from __future__ import annotations

import subprocess
import time

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.processes import command_line
from ansible_collections.pagesmith.innodb.plugins.module_utils.service import SystemdService, parse_exec_start

DEBIAN_13 = (
    "/bin/sh -c set -f; [ ! -e /usr/bin/galera_recovery ] && VAR= ||   VAR=`/usr/bin/galera_recovery`; [ $? -eq 0 ] || exit 1; "
    "  exec /usr/sbin/mariadbd $MYSQLD_OPTS $_WSREP_NEW_CLUSTER $VAR"
)


@pytest.mark.parametrize(
    "command, environment, expected",
    [
        (DEBIAN_13, "", ["/usr/sbin/mariadbd"]),
        (DEBIAN_13, '"MYSQLD_OPTS=--port=3307 --skip-networking"', ["/usr/sbin/mariadbd", "--port=3307", "--skip-networking"]),
        ("/bin/bash -c cd /srv && exec mysqld --defaults-file=/srv/my.cnf >/dev/null", "", ["mysqld", "--defaults-file=/srv/my.cnf"]),
        ("/bin/sh -c exec /opt/wrapper; exec /usr/sbin/mysqld ; true", "", ["/usr/sbin/mysqld"]),
        ("/bin/sh /opt/start-the-server", "", []),
    ],
)
def test_a_shell_before_the_server(command, environment, expected):
    text = f"{{ path={command.split()[0]} ; argv[]={command} ; ignore_errors=no ; start_time=[n/a] ; pid=0 }}"
    assert parse_exec_start(text, environment) == expected


def command_of_unit(name: str) -> tuple[list[str], list[str]]:
    """The command line of a unit whose main process calls itself by this name, and that of the process."""
    arguments = [name, "-c", "read -r _"]
    with subprocess.Popen(arguments, executable="/bin/sh", stdin=subprocess.PIPE) as process:
        while not command_line(process.pid):
            # For a moment the kernel has none.
            time.sleep(0.01)
        text = (
            f"Id=mariadb.service\nLoadState=loaded\nMainPID={process.pid}\nEnvironment=\n"
            "ExecStart={ path=/usr/sbin/mariadbd ; argv[]=/usr/sbin/mariadbd --user=mysql ; ignore_errors=no ; pid=0 }\n"
        )
        command = SystemdService(lambda _command: (0, text, ""), "mariadb.service").command()
        process.communicate()
    return command, arguments


def test_a_server_that_runs_is_asked_itself():
    command, arguments = command_of_unit("/usr/sbin/mariadbd")
    assert command == arguments


@pytest.mark.parametrize("name", ["(mariadbd)", "/usr/lib/systemd/systemd-executor", "/bin/sh"])
def test_a_process_that_is_not_the_server_yet(name):
    """What systemd has forked is called like this until it becomes the program; then there may be a shell in front of that."""
    assert command_of_unit(name)[0] == ["/usr/sbin/mariadbd", "--user=mysql"]

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The command line of a unit that starts the server through a shell, as Debian 13 does."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.service import parse_exec_start

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

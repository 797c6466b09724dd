# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Between AnsibleModule and the rest: options in, run_command handed down, typed errors into fail_json."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Any, Callable

from .errors import Ended, InnodbError
from .instance import InstanceSpec
from .session import Login

ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

INSTANCE_OPTIONS: dict[str, Any] = {
    "instance": {
        "type": "dict",
        "default": {},
        "options": {
            "defaults_file": {"type": "path"},
            "group_suffix": {"type": "str"},
            "service": {"type": "str"},
            "manager": {"type": "str", "choices": ["systemd", "process"]},
            "socket": {"type": "path"},
            "program": {"type": "path"},
        },
    },
}

LOGIN_OPTIONS: dict[str, Any] = {
    "login_user": {"type": "str"},
    "login_password": {"type": "str", "no_log": True},
    "login_host": {"type": "str"},
    "login_port": {"type": "int"},
    "login_unix_socket": {"type": "path"},
    "config_file": {"type": "path"},
    "ca_cert": {"type": "path", "aliases": ["ssl_ca"]},
    "client_cert": {"type": "path", "aliases": ["ssl_cert"]},
    "client_key": {"type": "path", "aliases": ["ssl_key"]},
    "check_hostname": {"type": "bool"},
    "connect_timeout": {"type": "int", "default": 30},
}


def instance_spec(params: dict[str, Any]) -> InstanceSpec:
    given = params["instance"] or {}
    return InstanceSpec(**{name: value for name, value in given.items() if value is not None})


def login(params: dict[str, Any]) -> Login:
    return Login(
        user=params["login_user"],
        password=params["login_password"],
        host=params["login_host"],
        port=params["login_port"],
        unix_socket=params["login_unix_socket"],
        config_file=params["config_file"],
        ca_cert=params["ca_cert"],
        client_cert=params["client_cert"],
        client_key=params["client_key"],
        check_hostname=params["check_hostname"],
        connect_timeout=params["connect_timeout"],
    )


def runner(module: Any) -> Callable[[Sequence[str]], tuple[int, str, str]]:
    """run_command of the module, with its output as the programs print it in English."""

    def run(command: Sequence[str]) -> tuple[int, str, str]:
        return module.run_command(list(command), environ_update={"LC_ALL": "C", "LANGUAGE": "C"})

    return run


def end_orderly(state: str = "") -> None:
    """Turn the signals that end a process into an error, so that what was begun is put back; only SIGKILL leaves that to the next run.

    state: in what state that leaves the host, where it is always the same.
    """

    def stop(number: int, _frame: Any) -> None:
        for each in ENDING_SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Ended(f"the module was told to end ({signal.Signals(number).name})", state)

    for each in ENDING_SIGNALS:
        signal.signal(each, stop)


def fail(module: Any, error: InnodbError, **result: Any) -> None:
    module.fail_json(msg=str(error), failed_because=error.failed, state_now=error.state, next_step=error.remedy, **result)

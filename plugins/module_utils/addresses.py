# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Addresses of this host, and of other hosts as this one resolves their names."""

from __future__ import annotations

import ipaddress
import os
import re
import socket


def parse_fib_trie(text: str) -> list[str]:
    """IPv4 addresses of this host in the kernel's routing table (/proc/net/fib_trie). Pure."""
    return sorted(set(re.findall(r"\|-- (\S+)\n\s+/32 host LOCAL", text)))


def parse_if_inet6(text: str) -> list[str]:
    """IPv6 addresses of this host (/proc/net/if_inet6). Pure."""
    return sorted({str(ipaddress.IPv6Address(int(line.split()[0], 16))) for line in text.splitlines()})


def local_addresses(proc: str = "/proc/net") -> list[str]:
    found = []
    for name, parse in (("fib_trie", parse_fib_trie), ("if_inet6", parse_if_inet6)):
        path = os.path.join(proc, name)
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                found += parse(file.read())
    return found


def addresses_of(host: str | None) -> list[str]:
    """Addresses of a host by its name; the name itself when nobody knows it."""
    if not host:
        return []
    try:
        return sorted({entry[4][0] for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)})
    except OSError:
        return [host]

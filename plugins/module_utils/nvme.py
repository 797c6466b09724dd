# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What an NVMe device says of itself through nvme-cli (1.12 to 2.16) beyond what /sys tells: LBA formats, volatile cache, atomic writes."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

Run = Callable[[Sequence[str]], "tuple[int, str, str]"]

SYSTEM_PROGRAMS = ("/usr/sbin", "/sbin", "/usr/local/sbin")
SMALLEST_SECTOR_BITS = 9
# Bits of the identify structures (NVM Command Set specification).
VOLATILE_CACHE_PRESENT = 0x1
NAMESPACE_HAS_ATOMIC_SIZES = 0x2


class Identity(NamedTuple):
    """Answers of a device; None where it gave none. notes: sentences on what could not be asked, and why."""

    lba_formats: list[dict[str, Any]] | None = None
    volatile_cache: bool | None = None
    atomic_write_unit_bytes: int | None = None
    notes: tuple[str, ...] = ()


def find_program() -> str | None:
    """Where nvme-cli lies. The PATH of a login that is not root's leaves out the directories it is installed in."""
    return shutil.which("nvme", path=os.pathsep.join([os.environ.get("PATH", ""), *SYSTEM_PROGRAMS]))


def identify(run: Run, program: str, device: str) -> Identity:
    """Ask a namespace (/dev/nvme0n1) for its own structure and its controller's. A refusal becomes a note, never an error."""
    namespace, refused_namespace = _ask(run, program, "id-ns", device)
    controller, refused_controller = _ask(run, program, "id-ctrl", device)
    formats = lba_formats(namespace)
    cache = _number(controller, "vwc")
    return Identity(
        lba_formats=formats or None,
        volatile_cache=None if cache is None else bool(cache & VOLATILE_CACHE_PRESENT),
        atomic_write_unit_bytes=_atomic_write_unit(namespace, controller, formats),
        notes=refused_namespace + refused_controller,
    )


def lba_formats(namespace: dict[str, Any]) -> list[dict[str, Any]]:
    """The formats of `nvme id-ns -o json`.

    index: what `nvme format --lbaf` takes. bytes: of a sector, metadata_bytes: beside each sector. relative_performance: 0 is the
    best and 3 the worst a device knows.
    """
    selected = _number(namespace, "flbas")
    if selected is not None:
        # The upper bits count since there may be more than 16 formats; they were zero before.
        selected = (selected & 0xF) | (selected >> 5 & 0x3) << 4
    listed = namespace.get("lbafs")
    found = []
    for position, each in enumerate(listed if isinstance(listed, list) else []):
        bits = _number(each, "ds")
        # A format that is listed without a size is not available.
        if bits is None or bits < SMALLEST_SECTOR_BITS:
            continue
        found.append(
            {
                "index": position,
                "bytes": 1 << bits,
                "metadata_bytes": _number(each, "ms") or 0,
                "in_use": position == selected,
                "relative_performance": _number(each, "rp"),
            }
        )
    return found


def _atomic_write_unit(namespace: dict[str, Any], controller: dict[str, Any], formats: list[dict[str, Any]]) -> int | None:
    """Bytes that reach the medium whole or not at all when the power fails, as the kernel reckons it (drivers/nvme/host/core.c)."""
    sector = next((each["bytes"] for each in formats if each["in_use"]), None)
    own = _number(namespace, "nawupf") if (_number(namespace, "nsfeat") or 0) & NAMESPACE_HAS_ATOMIC_SIZES else None
    sectors_less_one = own or _number(controller, "awupf")
    return None if sector is None or sectors_less_one is None else (sectors_less_one + 1) * sector


def _ask(run: Run, program: str, question: str, device: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    code, out, err = run([program, question, device, "-o", "json"])
    reason = (err.strip() or out.strip() or f"exit code {code}").split("\n")[0]
    try:
        # Some releases print warnings before the object.
        answer = json.loads(out[out.index("{") :]) if code == 0 else None
    except ValueError:
        answer, reason = None, "its answer is not JSON"
    if isinstance(answer, dict):
        return answer, ()
    return {}, (f"nvme {question} {device} gave nothing: {reason}",)


def _number(structure: Any, name: str) -> int | None:
    """A number of a structure; some releases print some numbers as text."""
    try:
        return int(structure[name])
    except (KeyError, TypeError, ValueError):
        return None

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""From 16k to 4k, to 64k and back to 16k: the same as at the start, and a run at the target changes nothing."""

from __future__ import annotations

from content import read_content, require_equal
from harness import CASES, Sandbox


def test_round_trip(sandbox: Sandbox) -> None:
    sandbox.sql((CASES / "shop.sql").read_text())
    sandbox.restart()
    with sandbox.connect() as connection:
        start = read_content(connection)
    for size in ("4k", "64k", "16k"):
        result = sandbox.migrate(size)
        assert result["outcome"] == "migrated"
        assert sandbox.page_size() == result["page_size_after"] == int(size[:-1]) * 1024
        with sandbox.connect() as connection:
            require_equal(start, read_content(connection))
    assert len(sandbox.kept()) == 3
    before = sandbox.snapshot()
    assert sandbox.migrate("16k")["outcome"] == "already"
    assert sandbox.snapshot() == before

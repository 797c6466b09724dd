# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Page sizes as a user writes them, and as they are printed."""

from __future__ import annotations

import pytest

from ansible_collections.pagesmith.innodb.plugins.module_utils.errors import InnodbError
from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES, label, parse


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4k", 4096),
        ("8K", 8192),
        (" 16k ", 16384),
        ("32 k", 32768),
        ("64kb", 65536),
        ("64KiB", 65536),
        ("8192", 8192),
        (16384, 16384),
    ],
)
def test_parse(text, size):
    assert parse(text) == size


@pytest.mark.parametrize("text", ["", "8", "k", "2k", "128k", "8m", "-8k", "8.0k", "16384k", 8193, None, True, "8k 16k"])
def test_parse_refuses(text):
    with pytest.raises(InnodbError) as caught:
        parse(text)
    assert f"'{text}' is no InnoDB page size" in str(caught.value)
    assert caught.value.remedy == "Choose one of 4k, 8k, 16k, 32k, 64k"


@pytest.mark.parametrize(("size", "text"), list(zip(PAGE_SIZES, ["4k", "8k", "16k", "32k", "64k"])))
def test_label_is_what_parse_takes(size, text):
    assert label(size) == text
    assert parse(text) == size

# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The errors of the collection: what failed, in what state the host is, what to do next."""

from __future__ import annotations

UNCHANGED = "Nothing was changed."


def sentence(text: str) -> str:
    """The text as one sentence: trimmed and closed by a full stop."""
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else text + "."


class InnodbError(Exception):
    """A failure told as a user needs it.

    failed: what failed, one sentence. state: what state the host is in. remedy: what to do next.
    refusal: it was not begun, because a condition of it is not met.
    """

    def __init__(self, failed: str, state: str = UNCHANGED, remedy: str = "", refusal: bool = False) -> None:
        self.refusal = refusal
        self.failed = failed
        self.state = state
        self.remedy = remedy
        super().__init__(" ".join(sentence(part) for part in (failed, state, remedy) if part))

    def with_state(self, state: str, remedy: str | None = None) -> InnodbError:
        """The same failure with another account of the state of the host."""
        return InnodbError(self.failed, state, self.remedy if remedy is None else remedy, self.refusal)


class Ended(InnodbError):
    """We were told to end, which says nothing about what was being done."""


def told_to_end(error: BaseException | None) -> bool:
    """Whether that is what an error, or one that it came from, is about; then it must not become a result."""
    while error:
        if isinstance(error, Ended):
            return True
        error = error.__cause__ or error.__context__
    return False


class StatementError(InnodbError):
    """A statement the server refused. code is the server's error number, 0 when the connection broke."""

    def __init__(self, failed: str, code: int, reason: str) -> None:
        super().__init__(failed, state="", remedy="")
        self.code = code
        self.reason = reason

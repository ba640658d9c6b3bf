"""Text of a user on a terminal."""

from __future__ import annotations

import pytest

from collectorfleet.display.plain import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("reward", "reward"),
        ("\u65e5\u672c\u3000\u8a9e", "\u65e5\u672c \u8a9e"),
        # A joined emoji, and a word with a joiner that prevents a ligature.
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),
        ("\u0645\u06cc\u200c\u0634\u0648\u062f", "\u0645\u06cc\u200c\u0634\u0648\u062f"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\u202ereversed", "\\u202ereversed"),
        ("\ud83d", "\\ud83d"),
    ],
)
def test_what_could_control_a_terminal_is_escaped_and_nothing_else(text: str, shown: str) -> None:
    assert plain(text) == shown

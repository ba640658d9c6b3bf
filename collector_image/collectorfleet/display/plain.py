"""Make text from users and other programs safe to show on a terminal. Pure."""

from __future__ import annotations

import re
from typing import Final

# The tab, and escape sequences that set color, weight or underline.
_HARMLESS: Final = re.compile(r"(\x1b\[[0-9;]*m|\t)")
_RESET: Final = "\x1b[0m"
# These characters occur inside words and emoji. They do not move other text.
_JOINERS: Final = "\u200c\u200d"


def plain(text: str) -> str:
    """Return ``text`` in one line, with an escape for each character that is not printable.

    Printed unchanged, an escape sequence could clear the screen or hide a line, and half of a surrogate pair would
    raise an error.
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def plain_with_colors(line: str) -> str:
    """Return a line of a log like :func:`plain`, but keep the line's colors and tabs.

    The colors end with the line. If a progress bar redraws its line, only the newest state is returned.
    """
    newest = line.rstrip("\r").rpartition("\r")[2]
    shown = "".join(part if at % 2 else plain(part) for at, part in enumerate(_HARMLESS.split(newest)))
    return shown + _RESET if "\x1b" in shown else shown


def _shown(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode()

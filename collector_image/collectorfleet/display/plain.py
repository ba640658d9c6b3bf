"""Make text from users and other programs safe to show on a terminal. Pure."""

from __future__ import annotations


def plain(text: str) -> str:
    """Return ``text`` in one line, with an escape for each character that is not printable.

    An escape sequence could clear the screen or hide a line. Half of a surrogate pair cannot be encoded.
    """
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode()

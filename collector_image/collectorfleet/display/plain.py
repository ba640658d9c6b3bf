"""Text that somebody else wrote, as a terminal may show it. Pure."""

from __future__ import annotations


def plain(text: str) -> str:
    """Return ``text`` in one line, with each character that is not printable as an escape.

    An escape sequence could clear the screen or hide a line; half a surrogate pair cannot be encoded.
    """
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode()

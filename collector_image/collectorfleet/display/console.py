"""The terminal, as rich draws on it."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console


def console(file: TextIO | None = None) -> Console:
    """Return a console on ``file``, by default stdout, that draws text as it is.

    What the user's code prints below a table is drawn by the console, too: not as markup, as emoji or as Python.
    """
    return Console(file=file, markup=False, emoji=False, highlight=False)

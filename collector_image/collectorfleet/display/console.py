"""Make the console that the library rich draws on."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console


def console(file: TextIO | None = None) -> Console:
    """Return a console that draws text unchanged on ``file``, by default on stdout.

    While a table is live, the console also draws the output of the user's code. The console interprets no markup and no
    emoji names, and it highlights nothing.
    """
    return Console(file=file, markup=False, emoji=False, highlight=False)

"""Print lines that contain text of users, manifests and clusters. Such text must not control the terminal."""

from __future__ import annotations

import sys

from collectorfleet.display.plain import plain


def print_line(line: object, *, flush: bool = False) -> None:
    """Print ``line`` on stdout, with an escape for each character that is not printable."""
    print(plain(str(line)), flush=flush)


def print_path(path: object) -> None:
    """Print ``path`` on stdout. On a terminal, print it like :func:`print_line`. For a program, print it unchanged."""
    print(plain(str(path)) if sys.stdout is not None and sys.stdout.isatty() else path)


def print_problem(line: object) -> None:
    """Print ``line`` on stderr, with an escape for each character that is not printable."""
    print(plain(str(line)), file=sys.stderr, flush=True)

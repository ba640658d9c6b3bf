"""Types of arguments that name files. A shell passes an unset variable as "", which is not the current folder."""

from __future__ import annotations

import argparse
from pathlib import Path


def path(text: str) -> Path:
    """Return the path. Raises ArgumentTypeError if the text is empty."""
    return Path(name(text))


def name(text: str) -> str:
    """Return the name of a file, a folder or a run. Raises ArgumentTypeError if the text is empty."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty; write a name")
    return text

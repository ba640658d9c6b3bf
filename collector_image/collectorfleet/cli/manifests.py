"""Manifests that are named on the command line: a file, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from collectorfleet_api.manifests.files import Manifests, load_file, load_manifests

STDIN: Final = "-"


def read(file: str) -> Manifests | None:
    """None, and a sentence on stderr, where the file cannot be read."""
    try:
        return load_manifests(sys.stdin.read()) if file == STDIN else load_file(Path(file))
    except OSError as error:
        print(f"error: {file}: {error.strerror}", file=sys.stderr)
        return None


def path_of(file: str) -> Path:
    """Where what stands beside the manifests is looked for."""
    return Path("stdin") if file == STDIN else Path(file)

"""Manifests that are named on the command line: a file, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from collectorfleet.cli.pods import pod_problems
from collectorfleet_api.manifests.files import Manifests, load_file, load_stream

STDIN: Final = "-"
_SHOWN: Final = 3  # objects


def read(file: str) -> Manifests | None:
    """Return what the file holds. Print a sentence on stderr and return None if it cannot be read."""
    try:
        if file == STDIN:
            return load_stream(sys.stdin.buffer, "stdin", pod_problems)
        return load_file(Path(file), pod_problems)
    except IsADirectoryError:
        wrong = "a folder; name the files in it"
    except OSError as error:
        wrong = error.strerror or str(error)
    print(f"error: {file}: {wrong}", file=sys.stderr)
    return None


def without_fleet(found: Manifests) -> str:
    """Return the sentence about manifests that hold no fleet: which objects they hold instead."""
    if not found.objects:
        return "no Kubernetes object in it; name a file with a CollectorFleet"
    named = [f"{obj['kind']} {(obj.get('metadata') or {}).get('name')}" for obj in found.objects]
    shown = ", ".join(named[:_SHOWN]) + (f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else "")
    return f"no CollectorFleet in it, but {shown}"


def path_of(file: str) -> Path:
    """Return where what stands beside the manifests is looked for."""
    return Path("stdin") if file == STDIN else Path(file)

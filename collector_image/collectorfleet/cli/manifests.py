"""Read the manifests that the command line names: a file, a folder with fleet.yaml, or standard input."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from collectorfleet.cli.pods import pod_problems
from collectorfleet.cli.printing import print_problem
from collectorfleet_api.counts import counted
from collectorfleet_api.manifests.files import Manifests, Severity, load_file, load_stream

STDIN: Final = "-"
# The manifest's name in a folder.
MANIFEST: Final = "fleet.yaml"
_SHOWN: Final = 3  # number of objects that a message names
# More than the problems of one fleet.
_MOST_FINDINGS: Final = 200


def read(file: str) -> Manifests | None:
    """Return the manifests in ``file``. Print an error on stderr and return None if the file cannot be read."""
    try:
        if file == STDIN:
            if sys.stdin is None:  # closed by the caller
                raise OSError(errno.EBADF, "standard input is closed; name a file, or write to standard input")
            return load_stream(sys.stdin.buffer, "stdin", pod_problems)
        return load_file(path_of(file), pod_problems)
    except OSError as error:
        print_problem(f"error: {path_of(file)}: {error.strerror or error}")
        return None


def print_findings(found: Manifests, file: str, show: Callable[[object], None] = print_problem) -> None:
    """Print the first findings about the manifests in ``file``, with a line for the number of the others.

    If there are too many problems, errors are shown and warnings are left out, because errors decide the exit code.
    """
    shown = found.findings
    if len(shown) > _MOST_FINDINGS:
        kept = [*found.errors, *(one for one in shown if one.severity is not Severity.ERROR)][:_MOST_FINDINGS]
        shown = sorted(kept, key=lambda one: one.line)
    for finding in shown:
        show(finding)
    if (others := len(found.findings) - _MOST_FINDINGS) > 0:
        show(f"{path_of(file)}: not shown: {counted(others, 'more problem')}; correct the problems above first")


def without_fleet(found: Manifests) -> str:
    """Return the message for manifests without a fleet.

    The message names the first objects in the manifests.
    """
    if not found.objects:
        return "the file has no Kubernetes object; name a file with a CollectorFleet"
    named = [_named(obj) for obj in found.objects]
    shown = ", ".join(named[:_SHOWN]) + (f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else "")
    return f"the file has no CollectorFleet, only {shown}"


def _named(obj: dict[str, Any]) -> str:
    """Return the kind of an object, with its name if it has one."""
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"{obj['kind']} {name}" if name else str(obj["kind"])


def path_of(file: str) -> Path:
    """Return the path of the manifests. The command looks for the fleet's code in the same folder.

    For a folder, return the path of its fleet.yaml. For standard input, return ``stdin`` in the working directory.
    """
    path = Path("stdin") if file == STDIN else Path(file)
    # Unlike Path.is_dir, isdir raises no error for a name that is too long. Opening the file raises the error.
    return path / MANIFEST if os.path.isdir(path) else path

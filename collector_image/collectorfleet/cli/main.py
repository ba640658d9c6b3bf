"""The entry points: ``collectorfleet``, ``kubectl cfleet`` and what completes the latter.

This module imports as little as it can, because it decides what Ctrl-C does during the other imports.
"""

from __future__ import annotations

import sys

from collectorfleet.cli import signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

_PLUGIN: Final = "kubectl cfleet"


def main(arguments: Sequence[str] | None = None, *, prog: str = "collectorfleet") -> int:
    """Run one command; returns the exit code.

    Without ``arguments`` it uses ``sys.argv`` and handles the signals of the process.
    """
    if arguments is None:
        signals.end_at_once()
    from collectorfleet.cli import program

    if arguments is None:
        return program.run_in_own_process(sys.argv[1:], prog)
    return program.run(arguments, prog)


def kubectl_plugin() -> int:
    """``kubectl-cfleet``, which kubectl runs for ``kubectl cfleet``."""
    return main(prog=_PLUGIN)


def complete_kubectl_plugin() -> int:
    """``kubectl_complete-cfleet``, which kubectl asks what may stand in the place of the last argument."""
    signals.end_at_once()
    from collectorfleet.cli import completion

    return completion.complete(sys.argv[1:], _PLUGIN)

"""The entry points of ``collectorfleet``, of ``kubectl cfleet`` and of the completion for ``kubectl cfleet``.

This module imports as little as possible. It sets the signal handlers that are active during all other imports.
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
    """Run one command and return its exit code.

    Without ``arguments``, run the command of ``sys.argv`` and handle the signals of the process.
    """
    if arguments is None:
        signals.end_at_once()
    from collectorfleet.cli import program

    if arguments is None:
        return program.run_in_own_process(sys.argv[1:], prog)
    return program.run(arguments, prog)


def kubectl_plugin() -> int:
    """Run ``kubectl-cfleet``, which kubectl starts for ``kubectl cfleet``. Return the exit code."""
    return main(prog=_PLUGIN)


def complete_kubectl_plugin() -> int:
    """Run ``kubectl_complete-cfleet``, which kubectl starts to complete the last argument. Return the exit code."""
    signals.end_at_once()
    from collectorfleet.cli import completion

    return completion.complete(sys.argv[1:], _PLUGIN)

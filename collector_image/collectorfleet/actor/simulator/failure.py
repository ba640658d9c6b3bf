"""Describe the failure of a simulator in one sentence with its last lines of output. No I/O."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from collectorfleet.actor.origin import Origin, mark
from collectorfleet.signal_names import signal_name

_LAST_LINES: Final = 5
_LONGEST_LINE: Final = 120
_LONGEST_NAME: Final = 80


class SimulatorFailed(RuntimeError):
    """A simulator did not start, has ended, or does not answer.

    The driver treats this as an error of the environment.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        mark(self, Origin.ENVIRONMENT)


@dataclass(frozen=True)
class Exit:
    """How a simulator ended.

    If a signal ended the simulator, ``code`` is negative, as in Python's ``subprocess``. If ``code`` is None, ``how``
    describes the end.
    """

    code: int | None
    tail: Sequence[str] = field(default_factory=tuple)
    how: str = ""

    def __str__(self) -> str:
        if self.code is None:
            return self.how
        if self.code >= 0:
            return f"exited with code {self.code}"
        hint = ", perhaps for lack of memory (collectors.resources.memory)" if self.code == -signal.SIGKILL else ""
        return f"was ended by {signal_name(-self.code)}{hint}"


def name_of(arguments: Sequence[str]) -> str:
    """Return the name that messages use for a simulator: its program without arguments.

    Arguments are left out because they may be secrets.
    """
    program = arguments[0]
    return f"simulator `{program if len(program) <= _LONGEST_NAME else program[: _LONGEST_NAME - 3] + '...'}`"


def last_lines(tail: Sequence[str]) -> str:
    """Return the last lines of a simulator's output as the last part of a sentence in a message."""
    if not tail:
        return "it printed nothing"
    cut = (line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 3] + "..." for line in tail[-_LAST_LINES:])
    return f"its last lines: {' | '.join(cut)}"

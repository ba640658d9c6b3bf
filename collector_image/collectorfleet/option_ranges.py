"""Define the ranges of options. An option's annotation has its range, as in ``budget: Count``. Imports no torch."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from typing import Annotated, Any, Final, Protocol

# The largest number that fits into an integer of 64 bits.
_LARGEST: Final = 2**63 - 1
_LONGEST_SHOWN: Final = 2**128
_WEEK: Final = timedelta(days=7)


class Limit(Protocol):
    """A condition for the value of an option. The value already has the right type."""

    def problem(self, value: Any) -> str | None:
        """Return why ``value`` is not allowed, such as ``-5 is too small; use at least 0``. None: it is allowed."""
        ...


@dataclass(frozen=True)
class Range:
    """Numbers or times that are at least ``least`` or more than ``above``, and at most ``most``. None: no limit.

    If ``finite`` is False, the numbers include inf and -inf. An int must also be from -(2**63 - 1) to 2**63 - 1.
    """

    least: Any = None
    most: Any = None
    above: Any = None
    finite: bool = True

    def problem(self, value: Any) -> str | None:
        # math.isfinite raises OverflowError for an int that no float can represent.
        if value != value or (self.finite and value in (inf, -inf)):
            return f"{value} is not {'finite' if self.finite else 'a number'}; use {self._words}"
        if (self.least is not None and value < self.least) or (self.above is not None and value <= self.above):
            return f"{shown(value)} is too small; use {self._words}"
        if self.most is not None and value > self.most:
            return f"{shown(value)} is too large; use {self._words}"
        if isinstance(value, int) and value > _LARGEST:
            return f"{shown(value)} is too large; use at most {_LARGEST}"
        if isinstance(value, int) and value < -_LARGEST:
            return f"{shown(value)} is too small; use at least {-_LARGEST}"
        return None

    @property
    def _words(self) -> str:
        if self.least is not None and self.most is not None:
            return f"{shown(self.least)} to {shown(self.most)}"
        if self.least is not None:
            return f"at least {shown(self.least)}"
        if self.above is not None:
            return f"more than {shown(self.above)} and at most {shown(self.most)}"
        return "a finite number" if self.finite else "a number"


@dataclass(frozen=True)
class NotEmpty:
    """Texts with at least one character. ``example`` is such a text."""

    example: str

    def problem(self, value: Any) -> str | None:
        return f"the text is empty; give a text such as {self.example!r}" if value == "" else None


Finite = Annotated[float, Range()]
# inf means that there is no time limit.
FiniteOrInfinite = Annotated[float, Range(finite=False)]
Count = Annotated[int, Range(least=0)]
Positive = Annotated[int, Range(least=1)]
# As in TorchRL's collectors, -1 means that no number is set.
CountOrNone = Annotated[int, Range(least=-1)]
Collectors = Annotated[int, Range(least=1, most=10_000)]
Threads = Annotated[int, Range(least=1, most=10_000)]
# At most a week as in manifests, because a longer time is probably a typing error.
Timeout = Annotated[timedelta, Range(above=timedelta(0), most=_WEEK)]
Pause = Annotated[timedelta, Range(least=timedelta(0), most=_WEEK)]
Seconds = Annotated[float, Range(above=0, most=604_800)]


def shown(value: Any) -> str:
    """Return a short text for a value: ``-5``, ``90 s`` or ``'gpu'``."""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.10g} s"
    if isinstance(value, int) and abs(value) > _LONGEST_SHOWN:
        # Python refuses to print an int of more than 4300 digits.
        return f"an int of {value.bit_length()} bits"
    return reprlib.repr(value)

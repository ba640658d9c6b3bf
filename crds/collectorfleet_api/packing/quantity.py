"""Reads and writes Kubernetes quantities without rounding errors: ``500m``, ``2Gi``, ``1e3``, 0.5.

Values are fractions, so ``0.1`` CPU times ten is exactly one CPU.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil
from typing import Final

_SUFFIXES: Final = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_BINARY: Final = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")

# No negative quantities, because sizes cannot be negative. The CRD's schema uses the same pattern.
PATTERN: Final = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2}|n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$"
_QUANTITY: Final = re.compile(PATTERN)
_MOST_CHARACTERS: Final = 100  # Python refuses to convert numbers with thousands of digits


class QuantityError(ValueError):
    """A text is not a quantity. The message describes the right form."""


def parse_quantity(value: str | int | float) -> Fraction:
    """Return the value of a non-negative quantity, in CPUs or in bytes.

    Raises QuantityError with one sentence.
    """
    # repr returns the shortest digits of a float, so that 0.1 is a tenth and not 0.1000000000000000055.
    text = value if isinstance(value, str) else repr(value)
    match = None if isinstance(value, bool) or len(text) > _MOST_CHARACTERS else _QUANTITY.fullmatch(text)
    if match is None:
        shown = repr(value) if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."
        raise QuantityError(
            f"{shown} is not a quantity; write a number that is not negative, such as 2, 0.5, 500m or 2Gi"
        )
    number, suffix = match[1], match[3] or ""
    if suffix in _SUFFIXES:
        return Fraction(number) * _SUFFIXES[suffix]
    return Fraction(number + suffix)


def whole_cpus(value: str | int | float) -> int:
    """Return the number of threads for a CPU quantity: rounded up, at least one."""
    return max(1, ceil(parse_quantity(value)))


def format_cpu(cpus: Fraction) -> str:
    """Format CPUs as a quantity, rounded up to a thousandth: ``2``, ``1500m``."""
    milli = ceil(cpus * 1000)
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def format_memory(size_bytes: Fraction | int) -> str:
    """Format bytes as a quantity with the largest binary suffix that divides them: ``1536Mi``. Round up to a byte."""
    whole = ceil(size_bytes)
    for suffix in _BINARY:
        unit = int(_SUFFIXES[suffix])
        if whole and whole % unit == 0:
            return f"{whole // unit}{suffix}"
    return str(whole)

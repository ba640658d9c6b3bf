"""Find problems in the entries of an output's manifest. A person may have edited the manifest. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_LARGEST: Final = 2**63 - 1
_SHOWN_CHARACTERS: Final = 40


def counter_problem(entry: Mapping[str, Any], *keys: str, where: str = "") -> str | None:
    """Return the problem with the first of ``keys`` whose value is not a whole number from 0 to 2^63 - 1.

    Return None if all values are such numbers.
    """
    wrong = (key for key in keys if not _is_counter(entry.get(key)))
    found = (f"{where}{key} is {shown(entry.get(key))}, not a whole number from 0 to 2^63 - 1" for key in wrong)
    return next(found, None)


def name_problem(name: Any, part: str, *, where: str) -> str | None:
    """Return why ``name`` is not a valid name of a part, or None if it is valid. A valid name begins with ``part``.

    A name with a ``/`` or ``..`` leads out of the folder.
    """
    if isinstance(name, str) and re.fullmatch(rf"{part}-[0-9]{{6,18}}", name):
        return None
    return f"{where} is {shown(name)}, not a name such as {part}-000000"


def shape_problem(shape: Any, *, where: str) -> str | None:
    """Return the problem with ``shape``, or None if ``shape`` is a list of at least one size."""
    if isinstance(shape, list) and shape and all(_is_counter(size) for size in shape):
        return None
    return f"{where} is {shown(shape)}, not a list of sizes"


def shown(value: Any) -> str:
    """Return the beginning of a value, for a message."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def _is_counter(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST

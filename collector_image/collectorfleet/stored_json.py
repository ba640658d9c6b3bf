"""Parse JSON from files and servers, which may have any content."""

from __future__ import annotations

import json
import math
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Return the value of the JSON in ``text``. Raises ValueError for any other content, and for infinite numbers.

    In contrast, ``json.loads`` raises RecursionError for deeply nested text, and returns infinity for ``1e999``.
    """
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


def _finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(f"{word[:20]} is too large for a number")
    return number


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not JSON")

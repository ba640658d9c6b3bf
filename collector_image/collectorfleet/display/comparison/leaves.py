"""Convert each value of a configuration to text, by its path, and find the seeds. Pure.

Equal values, such as 1 and 1.0, have equal text. Different values have different text: the string 64 becomes ``"64"``,
and the number 64 becomes ``64``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

NOT_SET: Final = "not set"
_SEED: Final = re.compile(r"seed|.*_seed|.*Seed")
_SEED_ARGUMENT: Final = re.compile(r"--?(?:\w+[-_])?seed(?:=(.*))?")
_INTEGER: Final = re.compile(r"[+-]?\d+")
_PLAIN: Final = re.compile(r"[^.\[\]]+")  # a key that cannot be read as two keys

Leaves = Mapping[str, str]


def leaves(configuration: Mapping[str, Any]) -> Leaves:
    """Return a mapping from the path of each value to its text. Seeds are left out."""
    return {path: text for path, text, is_seed in _walk(configuration) if not is_seed}


def seeds(configuration: Mapping[str, Any] | None) -> str:
    """Return the seeds of a run, such as ``3``. Return an empty string if the configuration has no seed."""
    found = [text for _, text, is_seed in _walk(configuration or {}) if is_seed]
    return ", ".join(dict.fromkeys(found))


def _walk(value: Any, path: str = "") -> Iterator[tuple[str, str, bool]]:
    """Yield path, text, and whether the value is a seed. A list of plain values counts as one value."""
    if path == "driver.args" and isinstance(value, list):
        others, found = _split_arguments([str(one) for one in value])
        yield from ((path, seed, True) for seed in found)
        yield path, json.dumps(others), False
    elif isinstance(value, dict):
        for key, one in value.items():
            step = str(key) if _PLAIN.fullmatch(str(key)) else json.dumps(str(key))
            yield from _walk(one, f"{path}.{step}" if path else step)
    elif isinstance(value, list) and _has_fields(value):
        for place, one in enumerate(value):
            yield from _walk(one, f"{path}[{place}]")
    else:
        value = _normalized(value)
        yield path, _text(value), _is_integer(value) and _SEED.fullmatch(path.rpartition(".")[2]) is not None


def _has_fields(value: list[Any]) -> bool:
    return any(isinstance(one, dict) or (isinstance(one, list) and _has_fields(one)) for one in value)


def _normalized(value: Any) -> Any:
    """Return 1 for 1.0, also in lists, because JSON has only one kind of number."""
    if isinstance(value, list):
        return [_normalized(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text(value: Any) -> str:
    """Return ``value`` as JSON. A string has no quotes if it cannot be read as another value."""
    if isinstance(value, str) and value != NOT_SET and not _is_json(value):
        return value
    return json.dumps(value)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a script's arguments without seeds, and the seeds. A seed has the form ``--seed=3`` or ``--seed 3``."""
    others: list[str] = []
    found: list[str] = []
    place = 0
    while place < len(arguments):
        matched = _SEED_ARGUMENT.fullmatch(arguments[place])
        seed = None if matched is None else arguments[place + 1] if _is_next(matched, arguments, place) else matched[1]
        if matched is None or seed is None or not _INTEGER.fullmatch(seed):
            others.append(arguments[place])
            place += 1
        else:
            found.append(seed)
            place += 1 if matched[1] is not None else 2
    return others, found


def _is_next(matched: re.Match[str], arguments: Sequence[str], place: int) -> bool:
    """Return whether the seed is a separate argument, as in ``--seed 3``."""
    return matched[1] is None and place + 1 < len(arguments)

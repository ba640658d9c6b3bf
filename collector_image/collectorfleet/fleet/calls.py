"""The calls that ``map_fn`` makes in each collector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from collectorfleet.errors import InvalidOption
from collectorfleet_api.counts import counted

# A call: the path of the method, the arguments and the keyword arguments.
Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def calls_of_each(method: str, names: Sequence[str], arguments: Any, keywords: Any) -> dict[str, Call]:
    """Return the call for each collector, by the collector's name.

    Args:
        arguments: a list with a sequence of arguments for each of ``names``. None: no collector gets arguments.
        keywords: a list with a dict of keyword arguments for each of ``names``. None: no collector gets keyword
            arguments.

    Raises:
        InvalidOption: the type or the length of a list is wrong.
    """
    positional = _of_each("list_of_args", "tuple", arguments, (), len(names))
    named = _of_each("list_of_kwargs", "dict", keywords, {}, len(names))
    return {
        name: (method, tuple(own), dict(own_named))
        for name, own, own_named in zip(names, positional, named, strict=True)
    }


def _of_each(argument: str, kind: str, given: Any, absent: Any, collectors: int) -> Sequence[Any]:
    if given is None:
        return [absent] * collectors
    wanted = f"pass a list with one {kind} of arguments for each of {counted(collectors, 'collector')}"
    if not _is_list(given):
        raise InvalidOption(f"map_fn: {argument} is {_kind(given)}; {wanted}{_example(kind, given, collectors)}")
    if len(given) != collectors:
        raise InvalidOption(
            f"{argument}: Expected {collectors} argument entries, one for each collector, got {len(given)}"
        )
    for index, one in enumerate(given):
        if not (_is_list(one) if kind == "tuple" else isinstance(one, Mapping)):
            example = _example(kind, one, collectors)
            raise InvalidOption(f"map_fn: {argument}[{index}] is {_kind(one)}; {wanted}{example}")
    return list(given)


def _is_list(given: object) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str | bytes)


def _kind(given: object) -> str:
    name = type(given).__name__
    return "None" if given is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _example(kind: str, given: object, collectors: int) -> str:
    plain = kind == "tuple" and isinstance(given, int | float | str)
    return f", such as [({given!r},)] * {collectors}" if plain else ""

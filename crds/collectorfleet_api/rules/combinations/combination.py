"""What a combination of options is, in two languages: the API server's and Python's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec


@dataclass(frozen=True)
class Number:
    """A value that a sentence says, where the rule hangs and in Python."""

    cel: str
    of: Callable[[CollectorFleetSpec], Any]


@dataclass(frozen=True)
class Combination:
    """What has to hold between the options of a spec, and the sentence for when it does not.

    ``name`` never changes. ``field`` is where the problem is, below ``spec``; empty is the spec itself. ``self`` of the
    CEL is the part ``on`` of the spec; empty is all of it. ``numbers`` stand in ``with_numbers`` for its ``%d`` and
    ``%s``.
    """

    name: str
    field: str
    holds: Callable[[CollectorFleetSpec], bool]
    cel: str
    sentence: str
    with_numbers: str = ""
    numbers: tuple[Number, ...] = ()
    on: str = ""

    @property
    def path(self) -> str:
        """Where the problem is, as manifests have it."""
        return f"spec.{self.field}" if self.field else "spec"

    def told(self, spec: CollectorFleetSpec) -> str:
        """The sentence, with the numbers of ``spec`` where it has some."""
        if not self.with_numbers:
            return self.sentence
        return self.with_numbers % tuple(_shown(one.of(spec)) for one in self.numbers)


def value_of(path: str) -> Number:
    """The value of a field that every spec has, by its path."""
    return Number(f"self.{path}", lambda spec: reduce(_inner, path.split("."), spec.to_wire()))


def _inner(node: Any, key: str) -> Any:
    return node[key]


def _shown(value: Any) -> Any:
    return f"{value:g}" if isinstance(value, float) else value  # as CEL does

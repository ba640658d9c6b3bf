"""A rule about several options, in CEL and in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec


@dataclass(frozen=True)
class Number:
    """A value in a message, in two forms: CEL at the rule's place in the schema, and a function of the spec."""

    cel: str
    of: Callable[[CollectorFleetSpec], Any]


@dataclass(frozen=True)
class Combination:
    """A rule about several options of a spec, and the message if a spec breaks it.

    ``name`` never changes. ``field`` is the path of the problem below ``spec``. An empty ``field`` is the spec itself.
    In ``cel``, ``self`` is the part ``on`` of the spec. An empty ``on`` is the whole spec. ``numbers`` replace ``%d``
    and ``%s`` in ``with_numbers``.
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
        """Return the path of the problem in a manifest."""
        return f"spec.{self.field}" if self.field else "spec"

    def message_for(self, spec: CollectorFleetSpec) -> str:
        """Return the message, with the numbers of ``spec`` if the message has numbers."""
        if not self.with_numbers:
            return self.sentence
        return self.with_numbers % tuple(_shown(one.of(spec)) for one in self.numbers)


def value_of(path: str) -> Number:
    """Return the :class:`Number` with the value of the field at ``path``. Every spec has this field."""
    return Number(f"self.{path}", lambda spec: reduce(_inner, path.split("."), spec.to_wire()))


def _inner(node: Any, key: str) -> Any:
    return node[key]


def _shown(value: Any) -> Any:
    return f"{value:g}" if isinstance(value, float) else value  # CEL formats floats in the same way

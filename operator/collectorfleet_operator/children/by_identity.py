"""A cache of what is computed from one model: a look at a fleet asks for the same several times."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

_Model = TypeVar("_Model")
_Result = TypeVar("_Result")

# As many fleets as are looked at at a time, each with the one that runs.
_MOST: Final = 128


@dataclass(frozen=True, eq=False)
class _This(Generic[_Model]):
    """One model, by identity: comparing two takes longer than most of what is computed from them."""

    model: _Model

    def __hash__(self) -> int:
        return id(self.model)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _This) and other.model is self.model


def by_identity(compute: Callable[[_Model], _Result]) -> Callable[[_Model], _Result]:
    """Let a pure function of a model that nobody changes be computed once for each that was used last."""

    @functools.lru_cache(maxsize=_MOST)
    def computed(this: _This[_Model]) -> _Result:
        return compute(this.model)

    @functools.wraps(compute)
    def remembered(model: _Model) -> _Result:
        return computed(_This(model))

    return remembered

"""A cache of what is computed from one model: a reconcile of a fleet asks for the same several times."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TypeVar

_Model = TypeVar("_Model")
_Result = TypeVar("_Result")


def by_identity(compute: Callable[[_Model], _Result]) -> Callable[[_Model], _Result]:
    """Let a pure function of a model that nobody changes be computed once for each model, until the model is freed.

    Models are told apart by identity, because comparing two takes longer than most of what is computed from them. The
    result must not refer to the model: then neither would be freed.
    """
    kept: dict[int, tuple[weakref.ref[_Model], _Result]] = {}

    @functools.wraps(compute)
    def computed_once(model: _Model) -> _Result:
        identity = id(model)
        found = kept.get(identity)
        if found is None:
            # Python calls this before another object can have the same identity.
            ref = weakref.ref(model, lambda _: kept.pop(identity, None))
            found = kept[identity] = (ref, compute(model))
        return found[1]

    return computed_once

"""A cache for functions of one model. A reconcile needs the results of these functions several times."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TypeVar

_Model = TypeVar("_Model")
_Result = TypeVar("_Result")


def by_identity(compute: Callable[[_Model], _Result]) -> Callable[[_Model], _Result]:
    """Cache the results of a pure function of an immutable model until the model is freed.

    The key is the model's identity, because a comparison of two models takes longer than most of the cached functions.
    The result must not refer to the model: otherwise Python would free neither the model nor the result.
    """
    kept: dict[int, tuple[weakref.ref[_Model], _Result]] = {}

    @functools.wraps(compute)
    def computed_once(model: _Model) -> _Result:
        identity = id(model)
        found = kept.get(identity)
        if found is None:
            # Python calls this callback before another object can get the same identity.
            ref = weakref.ref(model, lambda _: kept.pop(identity, None))
            found = kept[identity] = (ref, compute(model))
        return found[1]

    return computed_once

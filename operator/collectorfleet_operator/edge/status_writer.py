"""Writes the operator's part of the status if it has changed, without fields that the installed CRD does not have."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Any, Final

from pydantic.alias_generators import to_camel

from collectorfleet_api.v1alpha1 import OperatorStatus
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.errors import UndeclaredFieldError
from collectorfleet_operator.objects import Object

log = logging.getLogger(__name__)

# After this time a left-out field is tried again, because the CRD may have been updated.
TRY_AGAIN_SECONDS: Final = 600.0

_OURS = tuple(to_camel(field) for field in OperatorStatus.model_fields)


class StatusWriter:
    def __init__(self, kube: Kube, clock: Callable[[], float] = time.monotonic) -> None:
        self._kube = kube
        self._clock = clock
        self._undeclared: dict[str, float] = {}  # by path, with the time when the CRD last refused the field

    async def write(self, stored: Object, new: OperatorStatus) -> Object | None:
        """Write ``new`` if it differs from the status of ``stored``. Return the written fleet, or None if equal."""
        wire = new.to_wire()
        for path, since in list(self._undeclared.items()):
            if self._clock() - since < TRY_AGAIN_SECONDS:
                drop(wire, path)
        before = stored.get("status") or {}
        if {field: before[field] for field in _OURS if field in before} == wire:
            return None
        while True:
            try:
                return await self._kube.apply_status(stored, wire)
            except UndeclaredFieldError as error:
                # With an older CRD, one unknown field fails the whole apply, and the fleet would have no status.
                if not drop(wire, error.path):
                    raise
                if error.path not in self._undeclared:
                    log.warning(
                        "the installed CRD does not know %s, so the operator leaves the field out; update the CRD",
                        error.path,
                    )
                self._undeclared[error.path] = self._clock()


def drop(status: Object, path: str) -> bool:
    """Remove the field at a path such as ``.status.a.b``. Return whether the field was present.

    ``.status.list[key="x"].b`` removes the field from every item of the list.
    """
    steps = re.sub(r"\[[^\[\]]*\]", "", path).removeprefix(".status").strip(".").split(".")
    return _drop(status, steps)


def _drop(value: Any, steps: list[str]) -> bool:
    if isinstance(value, list):
        return bool(sum(_drop(item, steps) for item in value))  # not any(), which stops at the first item
    if not isinstance(value, dict) or steps[0] not in value:
        return False
    if len(steps) == 1:
        del value[steps[0]]
        return True
    return _drop(value[steps[0]], steps[1:])

"""Builds Kubernetes conditions and sets their transition times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from collectorfleet_api.v1alpha1.condition import Condition, ConditionStatus
from collectorfleet_api.v1alpha1.reasons import ConditionType

_LONGEST_MESSAGE: Final = 8000
_WORDS: Final = {True: ConditionStatus.TRUE, False: ConditionStatus.FALSE, None: ConditionStatus.UNKNOWN}


def condition(type_: ConditionType, status: bool | None, reason: str, message: str) -> Condition:
    """Return a condition without its time. A ``status`` of None becomes Unknown.

    :func:`stamped` adds time and generation.
    """
    text = message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 4]} ..."
    return Condition(type=type_, status=_WORDS[status], reason=reason, message=text)


def is_true(found: Condition | None) -> bool:
    return found is not None and found.status is ConditionStatus.TRUE


def stamped(
    conditions: Iterable[Condition], previous: Sequence[Condition], now: datetime, generation: int | None
) -> list[Condition]:
    """Return ``conditions`` with transition times: the time in ``previous`` if the status is the same, else ``now``."""
    before = {old.type: old for old in previous}
    return [
        new.model_copy(
            update={"last_transition_time": _since(new, before.get(new.type), now), "observed_generation": generation}
        )
        for new in conditions
    ]


def _since(new: Condition, old: Condition | None, now: datetime) -> datetime:
    if old is not None and old.status is new.status and old.last_transition_time is not None:
        return old.last_transition_time
    return now

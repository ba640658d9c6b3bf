"""What is asked of all fleets at once, kept beside each: reading a thousand fleets for it would take a while."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from collectorfleet_api.v1alpha1 import ConditionType, Phase, Reason
from collectorfleet_operator.decide.warnings import CONDITIONS_WITH_WARNINGS, warnings_count_from
from collectorfleet_operator.objects import Object, has_condition, turned_at

_FAILED: Final = (Reason.FAILED, Reason.DEADLINE_EXCEEDED)


@dataclass(frozen=True, slots=True)
class Summary:
    """By a fleet's status. ``is_ready``: None while it has no such condition, as a suspended fleet.

    ``is_settled``: ready, suspended or over, so that there is nothing that a warning could explain.
    ``warnings_count_from``: for each condition that shows warnings, from when on they count. None: it is true.
    ``code_of_failed``: the ConfigMap with the code of a fleet that failed; None if it did not, or has none.
    """

    phase: Phase
    is_ready: bool | None
    is_settled: bool
    warnings_count_from: tuple[datetime | None, ...]
    code_of_failed: str | None


def summary(fleet: Object) -> Summary:
    status = fleet.get("status") or {}
    conditions = {one["type"]: one for one in status.get("conditions") or []}
    ready = conditions.get(ConditionType.READY, {}).get("status")
    ended = conditions.get(ConditionType.COMPLETED, {}).get("reason")
    code = (fleet.get("spec") or {}).get("code") or {}
    # A fleet is Ready without its evaluators, whose warnings are of interest all the same.
    has_trouble = any(conditions.get(one, {}).get("status") == "False" for one in CONDITIONS_WITH_WARNINGS)
    phase = status.get("phase")
    return Summary(
        # One without a status is pending, and one of a newer release may say more than is known here.
        phase=Phase(phase) if phase in set(Phase) else Phase.PENDING,
        is_ready=None if ready is None else ready == "True",
        is_settled=(ready == "True" and not has_trouble) or ended not in (None, Reason.RUNNING),
        warnings_count_from=tuple(
            warnings_count_from(is_true=has_condition(fleet, one), turned_at=turned_at(fleet, one))
            for one in CONDITIONS_WITH_WARNINGS
        ),
        code_of_failed=str(code["configMap"]) if code.get("configMap") and ended in _FAILED else None,
    )

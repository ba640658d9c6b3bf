"""A summary of each fleet. Code that needs all fleets reads summaries, because decoding a thousand fleets is slow."""

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
    """A summary of a fleet's status. ``is_ready``: None without the condition Ready, as for a suspended fleet.

    ``is_settled``: the fleet is suspended, over, or ready with all its children, so warnings have nothing to explain.
    ``warnings_count_from``: for each condition that shows warnings, the time from which warnings count, or None if the
    condition is true. ``code_of_failed``: the ConfigMap with the code of a failed fleet. It is None for other fleets,
    and for fleets whose code is in no ConfigMap.
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
    # A fleet may be Ready without its evaluators. Warnings about evaluators are shown even then.
    has_trouble = any(conditions.get(one, {}).get("status") == "False" for one in CONDITIONS_WITH_WARNINGS)
    phase = status.get("phase")
    return Summary(
        # A fleet without a status is pending. A newer release may have written a phase that this release does not have.
        phase=Phase(phase) if phase in set(Phase) else Phase.PENDING,
        is_ready=None if ready is None else ready == "True",
        is_settled=(ready == "True" and not has_trouble) or ended not in (None, Reason.RUNNING),
        warnings_count_from=tuple(
            warnings_count_from(is_true=has_condition(fleet, one), turned_at=turned_at(fleet, one))
            for one in CONDITIONS_WITH_WARNINGS
        ),
        code_of_failed=str(code["configMap"]) if code.get("configMap") and ended in _FAILED else None,
    )

"""Build the status of a fleet that ran on this machine, from the driver's report. Pure.

Fields that exist only in a cluster are absent: pods, the RayCluster and generations.
"""

from __future__ import annotations

from datetime import datetime

from collectorfleet.run.exit import Broken, Completed, Exit, Stopped, UserError
from collectorfleet_api.conditions import outcome as outcomes
from collectorfleet_api.conditions.collectors import collectors_available
from collectorfleet_api.conditions.condition import condition, stamped
from collectorfleet_api.conditions.evaluations import describe_unfinished_evaluations
from collectorfleet_api.conditions.summary import completed, ready, stalled
from collectorfleet_api.conditions.weights import weights_fresh
from collectorfleet_api.v1alpha1 import (
    CollectorFleetSpec,
    CollectorFleetStatus,
    Condition,
    ConditionType,
    DriverReport,
    Phase,
    Reason,
)


def final_status(spec: CollectorFleetSpec, report: DriverReport, ended: Exit, now: datetime) -> CollectorFleetStatus:
    """Return the status after the end. An interrupted run has no phase, because it neither completed nor failed."""
    found = [
        *_verdict(_with_evaluations(spec, report, ended)),
        collectors_available(spec, report),
        weights_fresh(report, now),
    ]
    phase = {Completed: Phase.COMPLETED, UserError: Phase.FAILED, Broken: Phase.FAILED}.get(type(ended))
    return CollectorFleetStatus(
        **{name: getattr(report, name) for name in DriverReport.model_fields},
        phase=phase,
        conditions=stamped(found, [], now, None),
    )


def _with_evaluations(spec: CollectorFleetSpec, report: DriverReport, ended: Exit) -> Exit:
    """Add to the message of a completed run which due evaluations did not finish."""
    has_goal = spec.evaluation is not None and spec.evaluation.stop_when is not None
    evaluations = describe_unfinished_evaluations(report, has_goal=has_goal)
    return Completed(f"{ended.message}; {evaluations}") if evaluations and isinstance(ended, Completed) else ended


def _verdict(ended: Exit) -> list[Condition]:
    match ended:
        case Stopped(message):
            return [
                condition(ConditionType.READY, False, Reason.INTERRUPTED, message),
                stalled(outcomes.Running()),
                condition(ConditionType.COMPLETED, False, Reason.INTERRUPTED, message),
            ]
        case Completed(message):
            outcome: outcomes.Over = outcomes.Completed(message)
        case UserError(message) | Broken(message):
            outcome = outcomes.Failed(message)
    return [ready(outcome, []), stalled(outcome), completed(outcome)]

"""The status of a fleet that ran on this machine: the driver's report with the conditions that follow from it.

What only a cluster has (pods, a RayCluster, generations) is absent. Pure.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from collectorfleet.run.exit import Broken, Completed, Exit, Stopped, UserError
from collectorfleet_api import conditions
from collectorfleet_api.conditions import COMPLETED, READY, Failed, Outcome, Running, Succeeded
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, CollectorFleetStatus, Condition, DriverReport, Phase


class LocalReason(StrEnum):
    """Reasons that only a run on this machine gives: a driver that is stopped in a pod is started again."""

    INTERRUPTED = "Interrupted"


def final_status(spec: CollectorFleetSpec, report: DriverReport, ended: Exit, now: datetime) -> CollectorFleetStatus:
    """What is true after the end. A run that was interrupted has no phase: it neither completed nor failed."""
    found = [
        *_verdict(ended),
        conditions.collectors_available(spec, report),
        conditions.weights_fresh(spec, report, now),
    ]
    phase = {Completed: Phase.COMPLETED, UserError: Phase.FAILED, Broken: Phase.FAILED}.get(type(ended))
    return CollectorFleetStatus(
        **{name: getattr(report, name) for name in DriverReport.model_fields},
        phase=phase,
        conditions=conditions.stamped(found, [], now, None),
    )


def _verdict(ended: Exit) -> list[Condition]:
    match ended:
        case Stopped(message):
            return [
                conditions.condition(READY, False, LocalReason.INTERRUPTED, message),
                conditions.stalled(Running()),
                conditions.condition(COMPLETED, False, LocalReason.INTERRUPTED, message),
            ]
        case Completed(message):
            outcome: Outcome = Succeeded(message)
        case UserError(message) | Broken(message):
            outcome = Failed(message)
    return [conditions.ready(outcome, []), conditions.stalled(outcome), conditions.completed(outcome)]

"""The conditions of a fleet whose run is over. The result of the run determines all of these conditions. Pure."""

from __future__ import annotations

from collectorfleet_api.conditions.condition import condition
from collectorfleet_api.conditions.outcome import Over
from collectorfleet_api.conditions.summary import completed, ready, stalled
from collectorfleet_api.v1alpha1 import Condition, ConditionType, WhenFinished
from collectorfleet_operator.decide.conditions.pod_messages import cluster_type
from collectorfleet_operator.decide.conditions.up_to_date import up_to_date_after
from collectorfleet_operator.decide.deleted_cluster import a_driver_uses_its_cluster
from collectorfleet_operator.decide.situation import Situation


def conditions_after(seen: Situation, end: Over) -> list[Condition]:
    ended = "end after the driver" if a_driver_uses_its_cluster(seen) else "have ended"
    collectors = f"the fleet {end.verb}; its collectors {ended}"
    return [
        ready(end, []),
        condition(ConditionType.RECONCILING, False, end.reason, "no change is in progress"),
        stalled(end),
        _false_after_end(cluster_type(seen), end, _cluster(seen, end)),
        _false_after_end(ConditionType.DRIVER_RUNNING, end, end.message),
        _false_after_end(ConditionType.COLLECTORS_AVAILABLE, end, collectors),
        _false_after_end(ConditionType.WEIGHTS_FRESH, end, collectors),
        completed(end),
        up_to_date_after(seen, end),
        _false_after_end(ConditionType.SUSPENDED, end, f"the fleet {end.verb}"),
    ]


def _cluster(seen: Situation, end: Over) -> str:
    if seen.fleet.spec.when_finished is WhenFinished.KEEP and seen.is_usable(seen.cluster):
        return f"the fleet {end.verb}; the {seen.cluster_in_words} is kept because spec.whenFinished is Keep"
    when = "after the driver's end, " if a_driver_uses_its_cluster(seen) else ""
    return f"the {seen.cluster_in_words} is deleted {when}because the fleet {end.verb}"


def _false_after_end(type_: ConditionType, end: Over, message: str) -> Condition:
    return condition(type_, False, end.reason, message)

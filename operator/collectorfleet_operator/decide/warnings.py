"""Warning Events about a fleet's children that explain why the fleet makes no progress. Pure.

Many warnings are part of every start, such as the warning about a Secret that is created a second later. So a warning
about a pod, or about an object that already exists, counts only after it has lasted for ten seconds. A readiness probe
fails during every start, so its warning counts only after a minute. A warning does not count if it is more than ten
seconds older than the condition's last change to false.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from collectorfleet_api.conditions.condition import is_true
from collectorfleet_api.times import parse_time
from collectorfleet_api.v1alpha1 import ConditionType
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.pod_owner import PodOwner
from collectorfleet_operator.decide.situation import Situation, Warned
from collectorfleet_operator.objects import Object

GOES_ON_FOR: Final = timedelta(seconds=10)
# Ray needs tens of seconds to start on a busy node. The kubelet drops most events about one pod after two minutes.
_READINESS_FAILS_FOR: Final = timedelta(seconds=60)
# The kubelet's messages about a failed probe have this beginning. The reason is the same for all kinds of probes.
_OF_READINESS: Final = "Readiness probe "
# The kubelet repeats a warning at intervals of at most this length.
STILL_TRUE_FOR: Final = timedelta(minutes=3)
# KubeRay doubles the pause between its tries, up to 1,000 s.
_LONGEST_PAUSE: Final = timedelta(minutes=20)
# With this message the API server refuses a pod.
_NO_PRIORITY_CLASS: Final = "no PriorityClass with name"
# The longest time by which a warning may precede the change of the condition that it explains.
_BEFOREHAND: Final = timedelta(seconds=10)
# KubeRay writes this message if its cache does not yet have an object that it has just created.
_MADE_ALREADY: Final = "already exists"

_EVER: Final = datetime.min.replace(tzinfo=UTC)

CONDITIONS_WITH_WARNINGS: Final = (
    ConditionType.RAY_CLUSTER_READY,
    ConditionType.COLLECTORS_JOB_READY,
    ConditionType.DRIVER_RUNNING,
)
WarningsSeen = list[tuple[Warned, tuple[bool, ...]]]

_READ: Final = ("reason", "message", "firstTimestamp", "lastTimestamp", "eventTime")


def fields_of_event(event: Object) -> Object:
    """Return only the fields of an event that this module reads: a namespace may have thousands of events.

    A field with a wrong type becomes empty.
    """
    about, series = _mapping(event.get("involvedObject")), _mapping(event.get("series"))
    return {
        "involvedObject": {field: _text(about.get(field)) for field in ("kind", "uid")},
        "series": {"lastObservedTime": _text(series.get("lastObservedTime"))},
        **{field: _text(event.get(field)) for field in _READ},
    }


def uid_of_subject(event: Object) -> str:
    """Return the uid of the event's subject, or an empty text if the event has no such uid."""
    return _text(_mapping(event.get("involvedObject")).get("uid"))


def relevant(events: Iterable[Object], now: datetime) -> list[Warned]:
    """Return the warnings that still count, the newest first."""
    found = [(last, event) for event in events if (last := _last(event)) is not None and _holds(event, last, now)]
    found.sort(key=lambda one: one[0], reverse=True)
    return [
        Warned(event["involvedObject"]["uid"], event.get("reason") or "Warning", _message(event), last)
        for last, event in found
    ]


def newest_about(seen: Situation, uids: Collection[str], type_: ConditionType) -> Warned | None:
    """Return the newest warning about these objects that may explain why ``type_`` is not true, or None."""
    before = seen.fleet.status.condition(type_) if seen.fleet.status else None
    since = warnings_count_from(
        is_true=is_true(before), turned_at=before.last_transition_time if before is not None else None
    )
    if since is None:
        return None
    return next((one for one in seen.warnings if one.object_uid in uids and one.at >= since), None)


def newest_about_pods_of(
    seen: Situation, child: PodOwner, pods: Collection[Pod], type_: ConditionType
) -> Warned | None:
    """Return the newest warning about an unready pod of ``pods`` or about the child that makes these pods, or None.

    A warning about the child counts only until the child makes another pod.
    """
    unready = {pod.uid for pod in pods if not pod.is_ready}
    made_last = max((pod.created for pod in pods), default=_EVER)
    of_pods, of_child = newest_about(seen, unready, type_), newest_about(seen, (child.uid,), type_)
    if of_child is None or of_child.at < made_last:
        return of_pods
    return of_child if of_pods is None or of_pods.at < of_child.at else of_pods


def warnings_count_from(*, is_true: bool, turned_at: datetime | None) -> datetime | None:
    """Return the time from which warnings may explain a condition that is not true, or None if the condition is true.

    ``turned_at`` is the last transition time of the condition.
    """
    if is_true:
        return None
    return turned_at - _BEFOREHAND if turned_at is not None else _EVER


def warnings_seen(warnings: Iterable[Warned], since: Iterable[datetime | None]) -> WarningsSeen:
    """Return each warning with one flag per condition: whether the condition may show the warning.

    Condition *i* shows warnings from ``since[i]`` on, or no warnings if ``since[i]`` is None. Two results are equal if
    no condition can show anything new. A repeated warning equals the first one, unless a condition could not show the
    first one.
    """
    begins = tuple(since)
    return [(one, tuple(at is not None and one.at >= at for at in begins)) for one in warnings]


def _holds(event: Object, last: datetime, now: datetime) -> bool:
    kind, lasted = event["involvedObject"].get("kind"), last - (parse_time(event.get("firstTimestamp")) or last)
    if now - last > _true_for(kind, lasted):
        return False
    return lasted >= _counts_after(kind, event.get("message") or "")


def _counts_after(kind: str | None, message: str) -> timedelta:
    """Return how long a warning must have lasted before it counts."""
    if kind == "Pod" and message.startswith(_OF_READINESS):
        return _READINESS_FAILS_FOR
    is_of_every_start = kind == "Pod" or _MADE_ALREADY in message
    return GOES_ON_FOR if is_of_every_start else timedelta(0)


def _true_for(kind: str | None, lasted: timedelta) -> timedelta:
    """Return how long a warning counts after its last repetition."""
    if kind == "Pod":
        return STILL_TRUE_FOR
    # The pauses double, so the next try is about as far ahead as the first try is in the past.
    return min(max(STILL_TRUE_FOR, 2 * lasted), _LONGEST_PAUSE)


def _message(event: Object) -> str:
    message = event.get("message") or ""
    if _NO_PRIORITY_CLASS in message:
        return f"{message}; correct priorityClassName in the fleet's spec, or create the PriorityClass"
    return message


def _mapping(value: object) -> Object:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _last(event: Object) -> datetime | None:
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return next((time for time in map(parse_time, times) if time), None)

"""The facts of a Job on which decisions depend. They are parsed once from each version of the stored object. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.times import parse_time
from collectorfleet_operator.children.driver_job import (
    GENERATION_ANNOTATION,
    JOB,
    began_text,
    has_changed_workers,
    restarts_before,
    run_began_at,
)
from collectorfleet_operator.children.group_sizes import GroupSize
from collectorfleet_operator.children.placement import queue_of_job
from collectorfleet_operator.decide.pod_owner import PodOwner, read_owner
from collectorfleet_operator.objects import Object, annotation, has_condition, started_at

# Kubernetes' defaults for absent fields.
_BACKOFF_LIMIT: Final = 6
_COMPLETIONS: Final = 1


@dataclass(frozen=True, slots=True)
class Job(PodOwner):
    """The facts of the driver's Job, or of the Job of collectors.

    ``started`` and ``ended`` are times from the Job controller. They are None until the controller sets them.
    ``failure`` is the controller's message about the failure. It is empty if the Job did not fail. ``failed_pods`` is
    None until the controller counts failed pods. ``queue`` is the LocalQueue under which the driver started. It is
    empty without a queue. ``generation`` is the generation of the spec that the driver runs.

    ``restarts_before`` counts the driver pods that were lost under earlier Jobs of the same run. ``run_began`` is the
    start time of the first of these Jobs, and ``run_began_text`` is the same time in Kubernetes' format.
    ``has_changed_workers``: the worker pods' template has changed since the driver started.
    """

    started: datetime | None
    ended: datetime | None
    is_complete: bool
    is_failed: bool
    failure: str
    failed_pods: int | None
    backoff_limit: int
    ttl_seconds: int | None
    queue: str
    generation: str | None
    restarts_before: int
    run_began: datetime
    run_began_text: str
    has_changed_workers: bool


def read_job(stored: Object) -> Job:
    """Return the facts of a stored Job. Raises Python's own errors, such as KeyError, for a malformed object."""
    spec, status = stored.get("spec") or {}, stored.get("status") or {}
    failed, ttl = status.get("failed"), spec.get("ttlSecondsAfterFinished")
    return Job(
        **read_owner(JOB, stored),
        sizes={names.WORKER_GROUP: GroupSize(int(spec.get("completions") or _COMPLETIONS))},
        started=started_at(stored),
        ended=_ended(status),
        is_complete=has_condition(stored, "Complete"),
        is_failed=has_condition(stored, "Failed"),
        failure=_failure(status),
        failed_pods=None if failed is None else int(failed),
        backoff_limit=int(spec.get("backoffLimit", _BACKOFF_LIMIT)),
        ttl_seconds=None if ttl is None else int(ttl),
        queue=queue_of_job(stored),
        generation=annotation(stored, GENERATION_ANNOTATION),
        restarts_before=restarts_before(stored),
        run_began=run_began_at(stored),
        run_began_text=began_text(stored),
        has_changed_workers=has_changed_workers(stored),
    )


def _ended(status: Object) -> datetime | None:
    ended = [
        one["lastTransitionTime"] for one in status.get("conditions") or [] if one["type"] in ("Complete", "Failed")
    ]
    return parse_time(status.get("completionTime") or next(iter(ended), None))


def _failure(status: Object) -> str:
    found: Object = next((one for one in status.get("conditions") or [] if one["type"] == "Failed"), {})
    return str(found.get("message") or found.get("reason") or "")

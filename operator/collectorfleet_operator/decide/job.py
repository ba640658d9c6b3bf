"""What is decided on of a Job: read once from each version of the stored object. Pure."""

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

# What Kubernetes stores where a manifest says nothing.
_BACKOFF_LIMIT: Final = 6
_COMPLETIONS: Final = 1


@dataclass(frozen=True, slots=True)
class Job(PodOwner):
    """The facts of the driver's Job, or of the Job of collectors.

    ``started`` and ``ended`` are by the Job controller, None until it says so. ``failure`` is why the Job failed in
    its controller's words, empty if it did not fail. ``failed_pods``: None until the controller counts them.
    ``queue``: the LocalQueue that the driver was started by, empty without one. ``generation``: that of the spec which
    the driver runs. ``restarts_before`` counts the driver pods that were lost under earlier Jobs of the same start.
    ``run_began``: when the first of these Jobs began, as ``run_began_text`` in Kubernetes' format.
    ``has_changed_workers``: the worker pods were changed since the driver was started.
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
    """Return the facts of a stored Job. Raises what an odd object makes Python raise."""
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

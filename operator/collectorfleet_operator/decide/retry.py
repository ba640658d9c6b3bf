"""The decision whether a failed run is tried again, and why. Pure.

The operator tries again after a change of the code's ConfigMap, or of spec fields that affect driver, head or pods.
After an exceeded deadline, a changed deadline also starts another try. A change of replicas, times to live or other
fields that apply to a running fleet does not start another try. The status has a hash of the spec, because the Job with
the spec may be gone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from collectorfleet_api.conditions.outcome import Outcome, Over
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, Condition, ConditionType, Reason
from collectorfleet_operator.children.hashes import hashes_of
from collectorfleet_operator.decide.job import Job
from collectorfleet_operator.decide.limits import code_is_newer, expires
from collectorfleet_operator.decide.situation import Situation


def recorded_failure(seen: Situation) -> Condition | None:
    """Return the condition in the status that records the failure of the last run, or None if the run did not fail."""
    before = seen.fleet.status
    found = before.condition(ConditionType.COMPLETED) if before else None
    return found if found is not None and found.reason in (Reason.FAILED, Reason.DEADLINE_EXCEEDED) else None


def why_tried_again(seen: Situation) -> str:
    """Return a clause on why a failed run is tried again, or an empty text if the run is not tried again."""
    if seen.problems:
        return ""
    if code_is_newer(seen):
        return "the ConfigMap of its code has changed since the run began"
    if seen.is_usable(seen.job):
        return _another_try(seen) if seen.spec_is_held else ""
    failed = recorded_failure(seen)
    if failed is None:
        return ""
    if failed.reason == Reason.FAILED and expires(seen) is None:
        return "its Job was deleted"
    return _another_try(seen) if _is_changed(seen, failed) else ""


def hash_of_run(seen: Situation, job: Job, found: Outcome) -> str:
    """Return the hash for the status: the hash of the spec that the Job's driver runs."""
    return _hash(job.hashes.by_part, seen.fleet.spec, found.reason if isinstance(found, Over) else None)


def runs_another_spec(seen: Situation) -> bool:
    """Return whether the last run, whose Job is gone, ran another spec than the stored spec."""
    before = seen.fleet.status
    ran = before.driver.spec_hash if before is not None and before.driver is not None else None
    done = before.condition(ConditionType.COMPLETED) if before is not None else None
    return (
        ran is not None and done is not None and ran != _hash(hashes_of(seen.fleet.spec), seen.fleet.spec, done.reason)
    )


def _is_changed(seen: Situation, failed: Condition) -> bool:
    driver = seen.fleet.status.driver if seen.fleet.status else None
    if driver is None or driver.spec_hash is None:
        # Earlier releases stored no hash.
        return failed.observed_generation != seen.fleet.metadata.generation
    return runs_another_spec(seen)


def _hash(parts: Mapping[str, str], spec: CollectorFleetSpec, reason: str | None) -> str:
    of_deadlines = reason == Reason.DEADLINE_EXCEEDED
    deadlines = [spec.active_deadline_seconds, spec.startup_deadline_seconds] if of_deadlines else []
    return hashlib.sha256(json.dumps([parts, deadlines], sort_keys=True).encode()).hexdigest()[:16]


def _another_try(seen: Situation) -> str:
    return f"generation {seen.fleet.metadata.generation} of the spec starts another try"

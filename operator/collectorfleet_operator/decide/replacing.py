"""Immediate replacement of a run after a spec change, independently of ``spec.updateStrategy``. Pure."""

from __future__ import annotations

from collectorfleet_operator.decide.job import Job
from collectorfleet_operator.decide.limits import has_delivered
from collectorfleet_operator.decide.retry import why_tried_again
from collectorfleet_operator.decide.situation import Situation


def why_replaced(seen: Situation, job: Job) -> str:
    """Return why a changed spec replaces the present run at once, or an empty text if the run continues.

    The operator holds a changed spec back only to protect progress. A failed run can lose only its log. A run without a
    batch may hang because of the mistake that the change corrects.
    """
    if seen.problems:
        return ""
    if job.is_failed:
        again = why_tried_again(seen)
        return f"it failed, and {again}" if again else ""
    # A driver that starts over reports no batch at first, although an earlier driver of this Job may have delivered
    # one.
    if not seen.spec_is_held or seen.has_progress or has_delivered(seen, job):
        return ""
    return f"it has delivered no batch, and generation {seen.fleet.metadata.generation} of the spec starts another try"

"""Whether a changed spec takes the place of what runs at once, whatever ``spec.updateStrategy`` says. Pure."""

from __future__ import annotations

from collectorfleet_operator.decide.job import Job
from collectorfleet_operator.decide.limits import has_delivered
from collectorfleet_operator.decide.retry import why_tried_again
from collectorfleet_operator.decide.situation import Situation


def why_replaced(seen: Situation, job: Job) -> str:
    """Why a changed spec takes the place of what runs; empty if it does not.

    A spec is held only for the sake of progress. A failed run has nothing but its log to lose. A run without a batch
    may hang because of the very mistake that the change corrects.
    """
    if seen.problems:
        return ""
    if job.is_failed:
        again = why_tried_again(seen)
        return f"it failed, and {again}" if again else ""
    # A driver that starts over reports no batch at first; an earlier one of this Job may have delivered.
    if not seen.spec_is_held or seen.has_progress or has_delivered(seen, job):
        return ""
    return f"it has delivered no batch, and generation {seen.fleet.metadata.generation} of the spec is another try"

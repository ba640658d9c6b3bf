"""Whether a changed spec takes the place of what runs at once, whatever ``spec.updateStrategy`` says. Pure."""

from __future__ import annotations

from collectorfleet_operator.decide.limits import has_delivered
from collectorfleet_operator.decide.observed import Observed
from collectorfleet_operator.decide.retry import why_tried_again
from collectorfleet_operator.objects import Object, has_condition


def why_replaced(seen: Observed, job: Object) -> str:
    """Why a changed spec takes the place of what runs; empty if it does not.

    A spec is held for the sake of progress and for nothing else: a failed run holds nothing but its log, and one that
    never delivered a batch may hang on what the change mends.
    """
    if seen.problems:
        return ""
    if has_condition(job, "Failed"):
        again = why_tried_again(seen)
        return f"it failed, and {again}" if again else ""
    # A driver that starts over reports no batch at first; an earlier one of this Job may have delivered.
    if not seen.spec_is_held or seen.has_progress or has_delivered(seen, job):
        return ""
    return f"it has delivered no batch, and generation {seen.fleet.metadata.generation} of the spec is another try"

"""Decide whether a driver still uses a lost or terminating Ray head, and which pods of a lost head to delete. Pure."""

from __future__ import annotations

from collectorfleet_operator.children.worker_group import WORKER_CONTAINER
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.pods import not_terminating
from collectorfleet_operator.decide.situation import Situation


def has_collectors(seen: Situation) -> bool:
    """Return whether the present driver has available collectors.

    Collectors answer for a while even without their head.

    The last report of an earlier driver lists no available collectors.
    """
    progress = seen.report.progress if seen.report else None
    return progress is not None and progress.collectors is not None and progress.collectors.available > 0


def is_in_use(seen: Situation) -> bool:
    """Return whether the present driver still uses the Ray cluster of its head, even if the head is gone.

    A driver with an order to stop uses the Ray cluster until the driver has ended: its checkpoint may include learners.
    """
    if seen.driver_phase != "Running":
        return False
    return seen.stop_requested_at is not None or has_collectors(seen)


def pods_of_lost_head(seen: Situation) -> list[Pod]:
    """Return unused worker and evaluator pods whose Ray process started with an earlier head.

    Ray detects the loss of the head after one to two minutes. Until then, these pods occupy resources that the next
    collectors need.
    """
    heads = not_terminating(seen.heads)
    if not heads or not seen.present.spec.has_ray or is_in_use(seen):
        return []
    made = max(head.created for head in heads)
    return [
        pod
        for pod in (*seen.workers, *seen.evaluators)
        # Both creation times come from the API server's clock, so their comparison is exact. ``began`` comes from the
        # kubelet's clock, and shows only whether Ray has restarted since the head was created.
        if not pod.is_terminating
        and pod.created < made
        and (began := pod.began.get(WORKER_CONTAINER)) is not None
        and began < made
    ]

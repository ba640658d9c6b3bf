"""What still works with a Ray head that goes, and which worker pods wait for one that is gone. Pure."""

from __future__ import annotations

from collectorfleet_operator.children.worker_group import WORKER_CONTAINER
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.pods import not_terminating
from collectorfleet_operator.decide.situation import Situation


def has_collectors(seen: Situation) -> bool:
    """Whether the present driver has any, which answer it for a while without their head, too.

    The last report of an earlier one says that it has none any more.
    """
    progress = seen.report.progress if seen.report else None
    return progress is not None and progress.collectors is not None and progress.collectors.available > 0


def is_in_use(seen: Situation) -> bool:
    """Whether the present driver works with what its head, which may be gone, brought together.

    One that was asked to end does until it has: its checkpoint may have learners in it.
    """
    if seen.driver_phase != "Running":
        return False
    return seen.stop_requested_at is not None or has_collectors(seen)


def pods_of_lost_head(seen: Situation) -> list[Pod]:
    """Worker and evaluator pods whose Ray was started with an earlier head than there is now, and that nobody uses.

    Ray finds out by itself after one to two minutes, in which it holds what the next collectors need.
    """
    heads = not_terminating(seen.heads)
    if not heads or not seen.present.spec.has_ray or is_in_use(seen):
        return []
    made = max(head.created for head in heads)
    return [
        pod
        for pod in (*seen.workers, *seen.evaluators)
        # Of the API server's two times the difference is exact; a kubelet's clock only tells a Ray that began again.
        if not pod.is_terminating
        and pod.created < made
        and (began := pod.began.get(WORKER_CONTAINER)) is not None
        and began < made
    ]

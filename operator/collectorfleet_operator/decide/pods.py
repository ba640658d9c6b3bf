"""Functions that look at several pods together. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.pod_problem import PodProblem


def newest(pods: Iterable[Pod]) -> Pod | None:
    return max(pods, key=lambda pod: pod.created_text, default=None)


def not_terminating(pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods that are not being deleted."""
    return [pod for pod in pods if not pod.is_terminating]


def count_ready(pods: Iterable[Pod]) -> int:
    return sum([pod.is_ready for pod in pods])


def common_problem(pods: Sequence[Pod], what: str) -> PodProblem | None:
    """Return the most common problem with its number of pods: ``3 of 4 worker pods: Back-off pulling image ...``."""
    found = [pod.problem for pod in pods if pod.problem is not None]
    if not found:
        return None
    reason, count = Counter(one.reason for one in found).most_common(1)[0]
    message = next(one.message for one in found if one.reason == reason)
    return PodProblem(reason, f"{count} of {len(pods)} {what}: {message}")

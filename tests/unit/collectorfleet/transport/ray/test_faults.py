"""What Ray's errors say of a lost collector."""

from __future__ import annotations

import pytest
import ray

from collectorfleet.messages import Fault
from collectorfleet.transport.ray.faults import cause_of, fault_of


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (
            ray.exceptions.OutOfMemoryError("Task was killed due to the node running low on memory."),
            Fault.OUT_OF_MEMORY,
        ),
        (ray.exceptions.NodeDiedError("the node is gone"), Fault.NODE_LOST),
        (RuntimeError("The actor is dead because its node has died. Node Id: abc"), Fault.NODE_LOST),
        (
            RuntimeError(
                "The actor is dead because its worker process has died. Worker exit detail: SYSTEM_ERROR. There are "
                "some potential root causes. (1) The process is killed by OOM killer due to high memory usage."
            ),
            Fault.DIED,
        ),
    ],
)
def test_losses_are_told_apart_by_what_ray_says(error: Exception, fault: Fault) -> None:
    assert fault_of(error) is fault
    assert "\n" not in cause_of(error)


@pytest.mark.parametrize("text", ["node ", "owner"])
def test_a_long_line_in_an_error_does_not_delay_the_driver(text: str) -> None:
    assert fault_of(RuntimeError(text * 400_000)) is Fault.DIED  # with backtracking, half an hour or more


def test_a_node_is_lost_if_ray_marked_the_node_as_dead() -> None:
    lost = RuntimeError(f"The actor died. The node {'ab' * 28} at 10.0.0.7 was marked dead by the head.")
    assert fault_of(lost) is Fault.NODE_LOST

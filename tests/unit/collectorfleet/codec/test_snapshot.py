"""Snapshots of weights, and what a collector does with those it is offered."""

from __future__ import annotations

import threading

import pytest
import ray
import torch
from tests.wait import eventually

from collectorfleet.actor.inbox import Inbox
from collectorfleet.actor.target import WeightsTarget
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.messages import Fault, Segment
from collectorfleet.transport.ray.faults import cause_of, fault_of


def tensors(value: float) -> dict[str, torch.Tensor]:
    return {"weight": torch.full((3, 2), value), "count": torch.tensor(int(value)), "empty": torch.zeros(0)}


def test_what_was_loaded_has_the_digest_of_what_was_taken() -> None:
    taken = snapshots.take(tensors(2.5))
    mine = tensors(0.0)
    target = WeightsTarget(mine)
    assert target.load(taken) == snapshots.digest(taken.arrays)
    assert torch.equal(mine["weight"], tensors(2.5)["weight"])
    assert target.load(snapshots.take(tensors(3.5))) != snapshots.digest(taken.arrays)


def test_a_digest_is_of_what_is_there_and_not_of_what_came() -> None:
    class Deaf(torch.Tensor):
        """A tensor on which writing has no effect."""

        def copy_(self, *_: object, **__: object) -> torch.Tensor:
            return self

    taken = snapshots.take({"weight": torch.rand(4)}, dtype=torch.bfloat16)
    target = WeightsTarget({"weight": torch.zeros(4).as_subclass(Deaf)})
    assert target.load(taken) != snapshots.digest(taken.arrays)


def test_a_cast_travels_in_half_the_bytes_and_proves_itself() -> None:
    taken = snapshots.take({"weight": torch.rand(1000)}, dtype=torch.bfloat16)
    mine = {"weight": torch.zeros(1000)}
    assert taken.size_bytes == 2000
    assert WeightsTarget(mine).load(taken) == snapshots.digest(taken.arrays)
    assert mine["weight"].dtype == torch.float32


def test_tensors_that_are_no_plain_memory_travel_too() -> None:
    theirs = {"turned": torch.arange(6.0).view(2, 3).t(), "scalar": torch.tensor(True), "row": torch.rand(4)[::2]}
    mine = {name: torch.zeros(tensor.shape[::-1], dtype=tensor.dtype).t() for name, tensor in theirs.items()}
    taken = snapshots.take(theirs)
    assert WeightsTarget(mine).load(taken) == snapshots.digest(taken.arrays)
    assert all(torch.equal(mine[name], theirs[name]) for name in theirs)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"weight": torch.zeros(3, 2)}, "no tensor count"),
        ({**tensors(1), "more": torch.zeros(1)}, "no tensor more"),
        ({**tensors(1), "weight": torch.zeros(2, 3)}, r"weight is \(2, 3\) as published and \(3, 2\)"),
    ],
)
def test_weights_of_another_policy_are_refused_and_change_nothing(given: dict[str, torch.Tensor], words: str) -> None:
    mine = tensors(0.0)
    with pytest.raises(ValueError, match=words):
        WeightsTarget(mine).load(snapshots.take(given))
    assert mine["weight"].sum() == 0


def test_an_idle_collector_loads_at_once_and_a_busy_one_after_its_rollout() -> None:
    mine = tensors(0.0)
    inbox = Inbox(WeightsTarget(mine))
    assert inbox.offer(1, snapshots.take(tensors(1.0)))[0] == 1
    inbox.begin_rollout(1)
    answers: list[int] = []
    offer = threading.Thread(target=lambda: answers.append(inbox.offer(2, snapshots.take(tensors(2.0)))[0]))
    offer.start()
    eventually(lambda: inbox._offered is not None, within=10, what="the offer")
    assert float(mine["weight"][0, 0]) == 1.0
    assert inbox.end_rollout() == [Segment(0, 1)]
    offer.join(10)
    assert answers == [2]
    assert float(mine["weight"][0, 0]) == 2.0


def test_of_several_offers_the_newest_is_loaded_and_the_older_ones_return() -> None:
    inbox = Inbox(WeightsTarget(tensors(0.0)))
    inbox.begin_rollout(0)
    answers: list[int] = []
    for version in (1, 2, 3):
        threading.Thread(
            target=lambda v=version: answers.append(inbox.offer(v, snapshots.take(tensors(float(v))))[0])
        ).start()
        eventually(lambda v=version: inbox._offered and inbox._offered[0] == v, within=10, what="the offer")
    eventually(lambda: len(answers) == 2, within=10, what="two older offers")
    inbox.end_rollout()
    eventually(lambda: sorted(answers) == [0, 0, 3], within=10, what="the newest")


def test_between_steps_the_frames_say_from_where_on() -> None:
    mine = tensors(0.0)
    inbox = Inbox(WeightsTarget(mine))
    inbox.begin_rollout(0)
    inbox.before_step()
    inbox.before_step()
    offer = threading.Thread(target=inbox.offer, args=(4, snapshots.take(tensors(4.0))))
    offer.start()
    eventually(lambda: inbox._offered is not None, within=10, what="the offer")
    inbox.before_step()
    offer.join(10)
    assert inbox.end_rollout() == [Segment(0, 0), Segment(2, 4)]


def test_exactly_a_version_is_loaded_also_when_a_newer_one_is_there() -> None:
    mine = tensors(0.0)
    inbox = Inbox(WeightsTarget(mine))
    inbox.offer(5, snapshots.take(tensors(5.0)))
    inbox.begin_rollout(4, (4, snapshots.take(tensors(4.0))))
    assert float(mine["weight"][0, 0]) == 4.0
    assert inbox.end_rollout() == [Segment(0, 4)]


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

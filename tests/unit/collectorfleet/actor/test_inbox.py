"""What a collector does with the weights that it is offered."""

from __future__ import annotations

import threading

import pytest
import torch
from tests.wait import eventually

from collectorfleet.actor.inbox import Inbox, Offer
from collectorfleet.actor.target import WeightsTarget
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.messages import Segment


def weights(value: float) -> snapshots.Snapshot:
    return snapshots.take({"weight": torch.full((2,), value)})


@pytest.fixture
def mine() -> dict[str, torch.Tensor]:
    return {"weight": torch.zeros(2)}


@pytest.fixture
def inbox(mine: dict[str, torch.Tensor]) -> Inbox:
    return Inbox(WeightsTarget(mine))


def test_an_idle_collector_loads_at_once_and_a_busy_one_after_its_rollout(
    inbox: Inbox, mine: dict[str, torch.Tensor]
) -> None:
    inbox.offer(Offer(1, weights(1.0)))
    assert inbox.next_applied(0) == (1, snapshots.digest(weights(1.0).arrays))
    inbox.begin_rollout(1)
    inbox.offer(Offer(2, weights(2.0)))
    assert mine["weight"].tolist() == [1.0, 1.0]
    assert inbox.end_rollout() == [Segment(0, 1)]
    assert inbox.next_applied(1) == (2, snapshots.digest(weights(2.0).arrays))
    assert mine["weight"].tolist() == [2.0, 2.0]


def test_an_offer_replaces_the_one_before_and_never_waits_for_a_rollout(inbox: Inbox) -> None:
    loaded = []
    inbox.begin_rollout(0)
    for version in (1, 3, 2):
        inbox.offer(Offer(version, weights(float(version))))  # returns while the rollout runs
    inbox.end_rollout()
    loaded.append(inbox.next_applied(0))
    assert loaded == [(3, snapshots.digest(weights(3.0).arrays))]


class Slow(WeightsTarget):
    """Loads weights once ``opened`` is set."""

    def __init__(self, tensors: dict[str, torch.Tensor]) -> None:
        super().__init__(tensors)
        self.opened = threading.Event()

    def load(self, snapshot: snapshots.Snapshot) -> str:
        assert self.opened.wait(10)
        return super().load(snapshot)


def test_frames_do_not_wait_until_an_offer_of_their_rollout_is_loaded(mine: dict[str, torch.Tensor]) -> None:
    target, answers = Slow(mine), list[object]()
    inbox = Inbox(target)
    standing = threading.Thread(target=lambda: answers.append(inbox.next_applied(0)))
    standing.start()
    inbox.begin_rollout(0)
    inbox.offer(Offer(1, weights(1.0)))
    ended = threading.Thread(target=inbox.end_rollout)
    ended.start()
    ended.join(5)
    assert not ended.is_alive()
    target.opened.set()
    standing.join(10)
    assert answers == [(1, snapshots.digest(weights(1.0).arrays))]


def test_the_next_rollout_begins_with_an_offer_of_the_last_one_though_nobody_waits_for_it(
    inbox: Inbox, mine: dict[str, torch.Tensor]
) -> None:
    inbox.begin_rollout(0)
    inbox.offer(Offer(1, weights(1.0)))
    inbox.end_rollout()
    inbox.begin_rollout(0)
    assert mine["weight"].tolist() == [1.0, 1.0]
    assert inbox.end_rollout() == [Segment(0, 1)]


def test_an_offer_of_another_policy_in_a_rollout_is_told_after_it(inbox: Inbox) -> None:
    inbox.begin_rollout(0)
    inbox.offer(Offer(1, snapshots.take({"other": torch.zeros(2)})))
    assert inbox.end_rollout() == [Segment(0, 0)]
    with pytest.raises(ValueError, match="no tensor other"):
        inbox.next_applied(0)


def test_between_two_rollouts_weights_do_not_change_while_somebody_looks_at_them(
    inbox: Inbox, mine: dict[str, torch.Tensor]
) -> None:
    inbox.begin_rollout(0)
    inbox.offer(Offer(1, weights(1.0)))
    inbox.end_rollout()
    answers: list[object] = []
    standing = threading.Thread(target=lambda: answers.append(inbox.next_applied(1)))
    with inbox.unchanged():
        assert mine["weight"].tolist() == [1.0, 1.0]
        standing.start()
        inbox.offer(Offer(2, weights(2.0)))
        standing.join(0.2)
        assert mine["weight"].tolist() == [1.0, 1.0]
    standing.join(10)
    assert answers == [(2, snapshots.digest(weights(2.0).arrays))]


def test_first_weights_do_not_wait_for_a_call_of_the_user(inbox: Inbox, mine: dict[str, torch.Tensor]) -> None:
    with inbox.unchanged():
        inbox.offer(Offer(1, weights(1.0)))
        assert mine["weight"].tolist() == [1.0, 1.0]
        assert inbox.next_applied(0) == (1, snapshots.digest(weights(1.0).arrays))
        inbox.offer(Offer(2, weights(2.0)))
        assert mine["weight"].tolist() == [1.0, 1.0]
    assert inbox.next_applied(1) == (2, snapshots.digest(weights(2.0).arrays))


def test_a_failure_is_told_although_somebody_looks_at_weights(inbox: Inbox) -> None:
    with inbox.unchanged():
        inbox.fail(RuntimeError("the simulator is gone"))
        with pytest.raises(RuntimeError, match="the simulator is gone"):
            inbox.next_applied(0)


def test_weights_of_another_policy_are_no_error_of_who_looks_at_them(inbox: Inbox) -> None:
    inbox.begin_rollout(0)
    inbox.offer(Offer(1, snapshots.take({"other": torch.zeros(2)})))
    inbox.end_rollout()
    with inbox.unchanged():
        pass
    with pytest.raises(ValueError, match="no tensor other"):
        inbox.next_applied(0)


def test_the_standing_call_returns_once_another_version_is_loaded(inbox: Inbox) -> None:
    answers: list[object] = []
    inbox.offer(Offer(4, weights(4.0)))
    standing = threading.Thread(target=lambda: answers.append(inbox.next_applied(4)))
    standing.start()
    inbox.offer(Offer(4, weights(4.0)))  # nothing new
    inbox.offer(Offer(5, weights(5.0)))
    standing.join(10)
    assert answers == [(5, snapshots.digest(weights(5.0).arrays))]


def test_a_collector_that_ends_lets_the_standing_call_go(inbox: Inbox) -> None:
    answers: list[object] = []
    standing = threading.Thread(target=lambda: answers.append(inbox.next_applied(0)))
    standing.start()
    inbox.close()
    standing.join(10)
    assert answers == [None]


def test_weights_of_another_policy_are_told_by_the_standing_call_once(inbox: Inbox) -> None:
    inbox.offer(Offer(1, snapshots.take({"other": torch.zeros(2)})))
    with pytest.raises(ValueError, match="no tensor other"):
        inbox.next_applied(0)
    inbox.offer(Offer(2, weights(2.0)))
    found = inbox.next_applied(0)
    assert found is not None
    assert found[0] == 2


def test_weights_that_come_along_with_a_request_are_an_offer(inbox: Inbox, mine: dict[str, torch.Tensor]) -> None:
    inbox.begin_rollout(3, also=Offer(3, weights(3.0)))
    assert inbox.end_rollout() == [Segment(0, 3)]
    inbox.begin_rollout(3, also=Offer(2, weights(2.0)))  # overtaken by what is loaded
    assert inbox.end_rollout() == [Segment(0, 3)]
    assert mine["weight"].tolist() == [3.0, 3.0]


def test_a_rollout_waits_for_the_least_version_that_it_needs(inbox: Inbox) -> None:
    begun = threading.Thread(target=inbox.begin_rollout, args=(2,))
    begun.start()
    inbox.offer(Offer(1, weights(1.0)))
    eventually(lambda: inbox._version == 1, within=10, what="version 1")
    assert begun.is_alive()
    inbox.offer(Offer(2, weights(2.0)))
    begun.join(10)
    assert inbox.end_rollout() == [Segment(0, 2)]


def test_between_steps_the_frames_say_from_where_on(inbox: Inbox) -> None:
    inbox.begin_rollout(0)
    inbox.before_step()
    inbox.before_step()
    inbox.offer(Offer(4, weights(4.0)))
    inbox.before_step()
    assert inbox.end_rollout() == [Segment(0, 0), Segment(2, 4)]


def test_exactly_a_version_is_loaded_also_when_a_newer_one_is_there(
    inbox: Inbox, mine: dict[str, torch.Tensor]
) -> None:
    inbox.offer(Offer(5, weights(5.0)))
    inbox.begin_rollout(4, exactly=Offer(4, weights(4.0)))
    assert mine["weight"].tolist() == [4.0, 4.0]
    assert inbox.end_rollout() == [Segment(0, 4)]


def test_a_failure_that_is_none_of_the_weights_is_raised_once_where_versions_are_awaited(inbox: Inbox) -> None:
    inbox.fail(RuntimeError("the simulator is gone"))
    with pytest.raises(RuntimeError, match="the simulator is gone"):
        inbox.next_applied(0)
    inbox.offer(Offer(1, weights(1.0)))
    found = inbox.next_applied(0)
    assert found is not None
    assert found[0] == 1

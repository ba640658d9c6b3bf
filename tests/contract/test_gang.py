"""What a process group has to do beyond the contract: it breaks with each member that is lost, and nothing is."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests import envs
from tests.contract.harness import C0, PLAIN, Harness, make_gated, over_a_process_group, running, values_of, waits_at
from tests.paused import paused
from tests.wait import eventually
from torch import Tensor

from collectorfleet.actor.inbox import Inbox, Offer
from collectorfleet.messages import Answer, Applied, CollectorId, Lost
from collectorfleet.transport.distributed import courier as couriers
from collectorfleet.transport.distributed import group_messages
from collectorfleet.transport.distributed.courier import Courier
from collectorfleet.transport.distributed.group import Group
from collectorfleet.transport.distributed.link import dial
from collectorfleet.transport.distributed.transport import DistributedTransport

C1 = CollectorId("c1", 1)


@pytest.fixture
def gang() -> Iterator[Harness]:
    with running(over_a_process_group) as made:
        yield made


def courier_of(gang: Harness) -> Courier:
    assert isinstance(gang.transport, DistributedTransport)
    return gang.transport._courier


def formed_of(gang: Harness, *members: CollectorId) -> bool:
    found = courier_of(gang)._gang
    return found is not None and found.members == list(members)


def test_a_rollout_goes_on_while_another_member_is_lost_and_is_delivered_by_the_next_gang(
    gang: Harness, gate: Path
) -> None:
    gang.config = replace(PLAIN, create_env=partial(make_gated, str(gate)))
    gang.start("c0")
    lost = gang.start("c1")
    request = gang.ask(C0)
    waits_at(gate)
    gang.backdoor.kill(lost)
    assert gang.hear(Lost).collector == C1
    gang.transport.stop(C1)
    gate.touch()
    answer = gang.hear(Answer)
    assert (answer.collector, answer.request_id) == (C0, request.id)
    assert formed_of(gang, C0)


def test_frames_that_wait_at_a_member_are_not_made_again_when_the_gang_breaks(gang: Harness) -> None:
    gang.start("c0")
    stopped = gang.start("c1")
    eventually(lambda: formed_of(gang, C0, C1), within=30, what="a gang of both")
    with paused(stopped.pid):  # it takes no part in the broadcast that follows
        gang.transport.offer(C1, gang.store(1, 1.0))
        requests = [gang.ask(C0).id for _ in range(3)]
        answers = [gang.hear(Answer) for _ in requests]
    assert [answer.request_id for answer in answers] == requests
    assert courier_of(gang)._epoch > 2


def test_a_member_that_hangs_is_left_out_and_comes_back_with_what_it_was_owed(gang: Harness) -> None:
    large = envs.make_large_policy()  # more than a socket holds
    gang.use_policy(large)
    gang.start("c0")
    stopped = gang.start("c1")
    eventually(lambda: formed_of(gang, C0, C1), within=30, what="a gang of both")
    with paused(stopped.pid):
        weights = gang.store(1, large)
        gang.transport.offer(C0, weights)
        gang.transport.offer(C1, weights)
        assert gang.hear(Applied, C0).version == 1
        eventually(lambda: formed_of(gang, C0), within=30, what="a gang without it")
    assert gang.hear(Applied, C1).digest == weights.stored.digest


def make_stuck(gate: str) -> envs.Counting:
    """In a process whose weights are loaded once there is a file ``gate``."""
    offer = Inbox.offer

    def late(self: Inbox, offered: Offer) -> None:
        eventually(Path(gate).exists, within=120, what="the gate")
        offer(self, offered)

    Inbox.offer = late  # type: ignore[method-assign]  # of this process, which the collector has for itself
    return envs.Counting()


def test_a_member_whose_weights_do_not_load_is_left_out_and_comes_back(gang: Harness, gate: Path) -> None:
    large = envs.make_large_policy()  # more than a socket holds
    gang.use_policy(large)
    gang.start("c0")
    gang.config = replace(gang.config, create_env=partial(make_stuck, str(gate)))
    gang.start("c1")
    eventually(lambda: formed_of(gang, C0, C1), within=30, what="a gang of both")
    for version in (1, 2):  # in the broadcast of the second it takes no part
        weights = gang.store(version, large)
        gang.transport.offer(C0, weights)
        gang.transport.offer(C1, weights)
        assert gang.hear(Applied, C0).version == version
    eventually(lambda: formed_of(gang, C0), within=30, what="a gang without it")
    gang.ask(C1)
    eventually(lambda: len(courier_of(gang)._ledger.frames) == 1, within=30, what="frames that wait at it")
    gang.offer(C0, gang.store(3, large))
    assert formed_of(gang, C0)  # who works is not there yet
    gate.touch()
    assert gang.hear(Answer).collector == C1
    while gang.hear(Applied, C1).version != 2:
        pass


def test_a_gang_that_cannot_be_formed_says_why(
    gang: Harness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refused: Future[Group] = Future()
    refused.set_exception(RuntimeError("no route to 10.0.0.7:40123"))
    tried = []
    monkeypatch.setattr(couriers, "forming", lambda *_, **__: tried.append(1) or refused)
    caplog.set_level(logging.WARNING, "collectorfleet")
    gang.start()
    eventually(lambda: len(tried) > 2, within=60, what="that it is tried again")
    assert caplog.text.count("cannot be formed; trying again: RuntimeError: no route to 10.0.0.7:40123") == 1


def test_a_gang_leaves_nothing_where_it_met_once_the_next_has(gang: Harness) -> None:
    gang.start("c0")
    keys = []
    for incarnation in (1, 2):
        gang.start("c1", incarnation)
        member = CollectorId("c1", incarnation)
        eventually(lambda member=member: formed_of(gang, C0, member), within=30, what="a gang of both")
        store = courier_of(gang)._store
        assert store is not None
        keys.append(store.num_keys())
        gang.transport.stop(member)
    assert keys[0] == keys[1]


def test_who_joins_late_gets_weights_that_the_others_have_had(gang: Harness) -> None:
    gang.start("c0")
    weights = gang.store(1, 3.0)
    gang.offer(C0, weights)
    gang.start("c1")
    assert gang.offer(C1, weights).digest == weights.stored.digest
    gang.ask(C1)
    assert values_of(gang.hear(Answer)) == {3.0}


def test_who_joined_late_is_told_of_a_parcel_when_its_turn_comes(
    gang: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    gang.start("c0")
    weights = gang.store(1, 3.0)
    gang.offer(C0, weights)
    late = [gang.start("c1").collector, gang.start("c2").collector]
    eventually(lambda: formed_of(gang, C0, *late), within=30, what="a gang of all")
    courier, seen = courier_of(gang), []
    tell, send = courier._tell, Group.send

    def noted(collector: CollectorId, said: object) -> None:
        if isinstance(said, group_messages.ReceiveParcel):
            seen.append(f"{collector} is told")
        tell(collector, said)

    def sent(self: Group, packed: Tensor, to: int) -> None:
        send(self, packed, to)
        seen.append(f"c{to - 1} has it")

    monkeypatch.setattr(courier, "_tell", noted)
    monkeypatch.setattr(Group, "send", sent)
    with courier._changed:  # one parcel for both
        for one in late:
            gang.transport.offer(one, weights)
    for one in late:
        assert gang.hear(Applied, one).version == 1
    # A collector may apply what it has before the sender returns.
    eventually(lambda: len(seen) == 4, within=30, what="four notes")
    assert seen == ["c1 is told", "c1 has it", "c2 is told", "c2 has it"]


def test_frames_of_one_collector_are_not_overwritten_by_those_of_its_next_rollout(gang: Harness) -> None:
    gang.start()
    random, still = gang.hear_answers([gang.ask(C0, random=True), gang.ask(C0)])
    assert len(values_of(random)) > 1
    assert values_of(still) == {0.0}


def test_offers_to_a_slow_member_replace_each_other_and_frames_pass_them(
    gang: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    gang.start()
    eventually(lambda: formed_of(gang, C0), within=30, what="a gang")
    ledger, may_send = courier_of(gang)._ledger, threading.Semaphore(0)
    broadcast = Group.broadcast

    def slow(self: Group, packed: Tensor) -> None:
        assert may_send.acquire(timeout=60)
        broadcast(self, packed)

    monkeypatch.setattr(Group, "broadcast", slow)
    for version in range(1, 51):
        gang.transport.offer(C0, gang.store(version, float(version)))
    request = gang.ask(C0)
    eventually(lambda: len(ledger.frames) == 1, within=30, what="frames that wait")
    assert len(ledger.accounts[C0].owed) <= 2
    may_send.release()  # for the one that the courier had begun with
    assert gang.hear(Answer).request_id == request.id
    may_send.release()
    while gang.hear(Applied).version != 50:
        pass
    # A member says that it has a parcel after it may have loaded the parcel.
    eventually(lambda: not ledger.accounts[C0].owed, within=30, what="no parcel for c0")


def test_a_parcel_that_nobody_can_offer_again_is_forgotten_by_the_driver(gang: Harness) -> None:
    gang.start()
    weights = gang.store(1, 1.0)
    gang.offer(C0, weights)
    account = courier_of(gang)._ledger.accounts[C0]
    assert account.sent == {weights.stored.handle.number}
    del weights
    gc.collect()
    gang.offer(C0, gang.store(2, 2.0))
    eventually(lambda: len(account.sent) == 1, within=30, what="one parcel at c0")


def test_it_closes_while_another_member_comes(gang: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    transport = gang.transport
    assert isinstance(transport, DistributedTransport)
    close_listener = transport._listener.close
    came = dial(transport._listener.address, transport._launcher.token)

    def comes_now() -> None:
        came.send_message(C1)
        close_listener()

    monkeypatch.setattr(transport._listener, "close", comes_now)
    transport.close()
    with pytest.raises(EOFError):
        came.receive_message()
    came.close()

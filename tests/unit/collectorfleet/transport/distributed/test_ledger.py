from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from collectorfleet.codec.snapshot import EMPTY_SNAPSHOT
from collectorfleet.messages import Answer, CollectorId
from collectorfleet.transport.distributed.ledger import Account, Ledger
from collectorfleet.transport.processes.frames import Frames
from collectorfleet.transport.processes.packed import Layout
from collectorfleet.transport.processes.parcel import Parcel

A, B, C = (CollectorId(f"c{index}", 1) for index in range(3))


@dataclass
class Deaf:
    """A link that keeps what was said."""

    heard: list[object] = field(default_factory=list)

    def send_message(self, said: object) -> None:
        self.heard.append(said)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger({collector: Account(Deaf()) for collector in (A, B, C)})


def frames(collector: CollectorId, request: int) -> Frames:
    return Frames(Answer(collector, request, None, 1, 0, 0.1), Layout.of([]))


def test_what_nobody_has_goes_to_all_at_once_and_is_on_its_way_to_all(ledger: Ledger) -> None:
    parcel = Parcel.of(EMPTY_SNAPSHOT)
    ledger.request(B, [parcel])
    assert ledger.next_parcel([A, B, C]) == (parcel, [A, B, C], True)
    ledger.sending(parcel, [A, B, C])
    ledger.request(A, [parcel])
    assert ledger.next_parcel([A, B, C]) is None


def test_what_others_have_goes_to_those_alone_who_wait_for_it(ledger: Ledger) -> None:
    parcel = Parcel.of(EMPTY_SNAPSHOT)
    ledger.request(A, [parcel])
    ledger.sending(parcel, [A])
    ledger.arrived(A, parcel.number)
    ledger.request(C, [parcel])
    assert ledger.next_parcel([A, B, C]) == (parcel, [C], False)


def test_a_new_gang_is_sent_what_is_not_known_to_have_arrived_and_nothing_else(ledger: Ledger) -> None:
    parcel = Parcel.of(EMPTY_SNAPSHOT)
    ledger.request(A, [parcel])
    ledger.request(C, [parcel])
    ledger.sending(parcel, [A, B, C])
    ledger.arrived(A, parcel.number)
    assert ledger.call_together() == [A, B, C]
    assert ledger.next_parcel([A, B, C]) == (parcel, [C], False)  # B did not ask for it


def test_an_offer_replaces_what_was_not_sent_and_no_request_waits_for(ledger: Ledger) -> None:
    going, waited_for, replaced, newest, of_another = (Parcel.of(EMPTY_SNAPSHOT) for _ in range(5))
    ledger.offer(A, "policy", [going])
    ledger.sending(going, [A])
    ledger.request(A, [waited_for])
    ledger.offer(A, "critic", [of_another])
    ledger.offer(A, "policy", [replaced])
    ledger.offer(A, "policy", [newest])
    account = ledger.accounts[A]
    assert set(account.owed.values()) == {going, waited_for, newest, of_another}
    ledger.call_together()  # what was on its way is lost, and something newer is there
    assert set(account.owed.values()) == {waited_for, newest, of_another}
    assert ledger.drop(replaced.number) == [A]  # it was told of it


def test_a_normalization_goes_after_weights_that_went_whatever_is_offered_between_the_two(ledger: Ledger) -> None:
    weights, normalization, newer, newest = (Parcel.of(EMPTY_SNAPSHOT) for _ in range(4))
    ledger.offer(A, "policy", [weights, normalization])
    ledger.sending(weights, [A])
    ledger.offer(A, "policy", [newer, normalization])
    ledger.offer(A, "policy", [newest])
    assert set(ledger.accounts[A].owed.values()) == {weights, normalization, newest}


def test_whoever_is_called_and_says_nothing_is_left_out_until_it_speaks(ledger: Ledger) -> None:
    called = ledger.call_together()
    ledger.note_message(A)
    ledger.remove(B)
    assert not ledger.answered(called)
    assert ledger.has_lost_any(called)
    ledger.exclude_unresponsive(called)
    assert ledger.present() == [A]
    ledger.note_message(C)
    assert ledger.present() == [A, C]


def test_frames_of_who_is_left_out_do_not_hold_up_those_of_the_others(ledger: Ledger) -> None:
    ledger.frames += [frames(A, 1), frames(B, 2), frames(C, 3)]
    assert ledger.next_frames([B, C]) == frames(B, 2)
    ledger.remove(B)
    assert ledger.next_frames([B, C]) == frames(C, 3)
    assert ledger.next_frames([B]) is None


def test_members_that_may_have_a_parcel_are_told_that_it_will_not_be_offered_again(ledger: Ledger) -> None:
    parcel = Parcel.of(EMPTY_SNAPSHOT)
    ledger.request(A, [parcel])
    ledger.sending(parcel, [A, B])
    assert ledger.drop(parcel.number) == [A, B]
    assert ledger.drop(parcel.number) == []


def test_two_parcels_have_two_numbers() -> None:
    assert Parcel.of(EMPTY_SNAPSHOT).number != Parcel.of(EMPTY_SNAPSHOT).number

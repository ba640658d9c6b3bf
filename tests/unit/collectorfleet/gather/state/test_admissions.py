"""What was requested together and is not handed out yet: frames, bytes, ages and the order of its shares."""

from __future__ import annotations

from collectorfleet.gather.state.admissions import Admissions, Share
from collectorfleet.messages import Answer, CollectorId

FRAMES = 10


def admit(admissions: Admissions, version: int, shares: int = 1) -> list[Share]:
    """Their requests are sent to collectors in turn."""
    admissions.admit(version, FRAMES, [False] * shares)
    sent = []
    while admissions.line:
        share = admissions.line.popleft()
        slot = len(sent)
        admissions.submitted(share, 100 + slot, CollectorId(f"c{slot}", 1), slot)
        sent.append(share)
    return sent


def answer(admissions: Admissions, share: Share, version: int, frames: int = FRAMES, size_bytes: int = 7) -> None:
    assert share.holder is not None
    assert share.request_id is not None
    admissions.answered(share, Answer(share.holder, share.request_id, "data", frames, version, 1.0, size_bytes))


def numbers(admissions: Admissions) -> tuple[int, int, int, int]:
    return admissions.frames, admissions.frames_waiting, admissions.waiting_bytes, admissions.shares_missing


def test_frames_and_bytes_are_counted_from_the_request_to_the_hand_over() -> None:
    admissions = Admissions(1, 2)
    first, second = admit(admissions, 1, shares=2)
    assert numbers(admissions) == (20, 0, 0, 2)
    answer(admissions, second, 1, frames=4, size_bytes=9)
    assert numbers(admissions) == (14, 4, 9, 1)
    answer(admissions, first, 1)
    assert numbers(admissions) == (14, 14, 16, 0)
    assert (len(admissions), admissions.completed) == (1, 1)
    batch = admissions.hand_out(admissions.oldest_complete(1), 1)
    assert numbers(admissions) == (0, 0, 0, 0)
    assert (len(admissions), admissions.completed, list(admissions)) == (0, 0, [])
    assert batch.frames == 14
    assert batch.shares == [first, second]


def test_shares_are_handed_out_in_the_order_of_the_collectors() -> None:
    admissions = Admissions(1, None)
    shares = admit(admissions, 1, shares=3)
    for share, slot in zip(shares, (2, 0, 1), strict=True):
        share.slot = slot
        answer(admissions, share, 1)
    assert [one.slot for one in admissions.hand_out(admissions.oldest_complete(1), 1).shares] == [0, 1, 2]


def test_a_batch_is_as_stale_as_its_oldest_share() -> None:
    admissions = Admissions(1, None)
    first, second, third = admit(admissions, 5, shares=3)
    answer(admissions, first, 7)
    answer(admissions, second, 6)
    answer(admissions, third, 9)
    assert admissions.hand_out(admissions.oldest_complete(1), 10).staleness == 4


def test_an_admission_may_be_as_old_as_its_request_until_it_is_complete() -> None:
    admissions = Admissions(1, None)
    first, second = admit(admissions, 5, shares=2)
    (made,) = admissions
    answer(admissions, first, 7)
    assert (made.oldest_version, made.complete) == (5, False)
    answer(admissions, second, 8)
    assert (made.oldest_version, made.version_for_bound, made.complete) == (7, 7, True)


def test_frames_of_an_older_trajectory_are_as_stale_as_they_are_and_count_as_requested() -> None:
    admissions = Admissions(1, None)
    first, second = admit(admissions, 5, shares=2)
    (made,) = admissions
    answer(admissions, first, 2)
    assert made.oldest_version == 2
    answer(admissions, second, 6)
    assert (made.oldest_version, made.version_for_bound) == (2, 5)
    assert admissions.hand_out([made], 6).staleness == 4


def test_whose_time_runs_out_first_is_handed_out_first() -> None:
    admissions = Admissions(2, 3)
    (early,), (late,) = admit(admissions, 1), admit(admissions, 2)
    answer(admissions, late, 2)
    answer(admissions, early, 3)
    assert [one.version_for_bound for one in admissions.oldest_complete(2)] == [2, 3]
    assert [one.number for one in admissions.oldest_complete(1)] == [1]
    admissions.hand_out(admissions.oldest_complete(1), 3)
    assert [one.number for one in admissions.oldest_complete(2)] == [0]


def test_a_share_that_nobody_will_answer_is_the_next_in_line_and_may_be_cut_short_again() -> None:
    admissions = Admissions(1, None)
    (lost,) = admit(admissions, 1)
    admissions.admit(2, FRAMES, [False, True])
    lost.cut_short = True
    admissions.taken_back(lost)
    assert admissions.line[0] is lost
    assert (lost.request_id, lost.cut_short, lost.done) == (None, False, False)
    assert [share.random for share in admissions.line] == [False, False, True]
    assert numbers(admissions) == (30, 0, 0, 3)


def test_the_first_and_the_first_incomplete_are_known() -> None:
    admissions = Admissions(1, None)
    assert admissions.first is admissions.first_incomplete is None
    (early,), (late,) = admit(admissions, 1), admit(admissions, 2)
    answer(admissions, early, 1)
    assert (admissions.first, admissions.first_incomplete) == (early.admission, late.admission)


def test_who_was_asked_for_a_share_of_an_admission_is_known() -> None:
    admissions = Admissions(1, None)
    admissions.admit(1, FRAMES, [False, False])
    (made,) = admissions
    assert not made.has_new_requests
    for slot in range(2):
        admissions.submitted(admissions.line.popleft(), slot, CollectorId(f"c{slot}", 1), slot)
    assert made.has_new_requests
    assert made.holders == {CollectorId("c0", 1), CollectorId("c1", 1)}


def test_the_bound_counts_an_admission_by_its_newer_version_once_it_is_complete() -> None:
    admissions = Admissions(1, 1)
    (share,) = admit(admissions, 1)
    assert admissions.window.in_time(2)
    assert not admissions.window.in_time(3)
    answer(admissions, share, 2)
    assert admissions.window.in_time(3)
    assert not admissions.window.in_time(4)
    admissions.hand_out(admissions.oldest_complete(1), 3)
    assert admissions.window.in_time(100)

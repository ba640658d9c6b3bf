from __future__ import annotations

from collectorfleet.pod.access import VOID_SECONDS, Access


class Told:
    def __init__(self) -> None:
        self.times = 0
        self.access = Access(self._refused)

    def _refused(self) -> None:
        self.times += 1


def test_a_token_that_stays_void_is_told_once() -> None:
    told = Told()
    for second in range(int(VOID_SECONDS)):
        told.access.answered(401, second)
    assert told.times == 0
    for second in range(int(VOID_SECONDS), int(VOID_SECONDS) + 20):
        told.access.answered(401, second)
    assert told.times == 1


def test_any_other_answer_means_that_the_token_is_known() -> None:
    told = Told()
    for status in (200, 403, 404, 409):
        told.access.answered(401, 0)
        told.access.answered(status, VOID_SECONDS - 1)
        told.access.answered(401, VOID_SECONDS + 1)
        told.access.answered(200, VOID_SECONDS + 2)
    assert told.times == 0


def test_a_token_that_turns_void_again_is_told_again() -> None:
    told = Told()
    for begin in (0, 100):
        told.access.answered(401, begin)
        told.access.answered(401, begin + VOID_SECONDS)
        told.access.answered(200, begin + VOID_SECONDS + 1)
    assert told.times == 2

"""What is computed once for each situation."""

from __future__ import annotations

from tests.unit.collectorfleet_operator.world import World, running

from collectorfleet_operator.decide.situation import Situation, cached_per_situation


def test_other_questions_of_one_situation_have_other_answers() -> None:
    asked: list[tuple[int, int]] = []

    @cached_per_situation
    def total(seen: Situation, first: int, second: int = 0) -> int:
        asked.append((first, second))
        return len(seen.workers) + first + second

    seen = running().seen()
    assert [total(seen, 1), total(seen, 2), total(seen, 1, second=5), total(seen, 1, second=6)] == [5, 6, 10, 11]
    assert [total(seen, 1), total(seen, 1, second=6)] == [5, 11]
    assert asked == [(1, 0), (2, 0), (1, 5), (1, 6)]


def test_another_situation_is_asked_anew_and_two_functions_are_two_questions() -> None:
    @cached_per_situation
    def workers(seen: Situation) -> int:
        return len(seen.workers)

    @cached_per_situation
    def heads(seen: Situation) -> int:
        return len(seen.heads)

    seen = running().seen()
    assert (workers(seen), heads(seen), workers(World().seen())) == (4, 1, 0)

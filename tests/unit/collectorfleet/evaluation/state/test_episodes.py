"""Which episodes of an evaluation count, and with which seeds they begin."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from tests.example_count import examples

from collectorfleet.evaluation.state.episodes import EpisodeList, seed_of
from collectorfleet.messages import Episodes


def one(value: float, length: int = 1) -> Episodes:
    return Episodes((value,), (length,))


def returns(episodes: EpisodeList) -> list[float]:
    return [value for each in episodes.in_order() for value in each.returns]


# ---------------------------------------------------------------- seeds
def test_the_first_episodes_begin_with_the_seeds_themselves() -> None:
    assert [seed_of(number, [7, 3, 5]) for number in range(3)] == [7, 3, 5]


def test_later_episodes_begin_with_seeds_of_their_own() -> None:
    seeds = [seed_of(number, [0, 1, 2]) for number in range(300)]
    assert len(set(seeds)) == 300
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_seeds_are_the_same_in_every_evaluation_and_process() -> None:
    # Written down: a release that draws others would break comparisons with earlier runs.
    assert [seed_of(number, [0]) for number in range(4)] == [0, 673228719, 1093961225, 1538509758]


def test_later_episodes_of_a_seed_do_not_depend_on_the_other_seeds() -> None:
    assert seed_of(3, [4, 5, 6]) == seed_of(1, [4])


# ---------------------------------------------------------------- which episodes count
def test_short_episodes_that_end_first_do_not_take_the_place_of_long_ones() -> None:
    episodes = EpisodeList(2)
    first, second = episodes.take(), episodes.take()
    assert (first, second) == (0, 1)
    assert episodes.take() is None  # no third episode begins, however early the second ends
    episodes.ended(1, one(5.0))
    assert episodes.take() is None
    assert not episodes.finished
    episodes.ended(0, one(95.0))
    assert episodes.finished
    assert returns(episodes) == [95.0, 5.0]


def test_an_episode_that_is_lost_is_played_again_before_another_begins() -> None:
    episodes = EpisodeList(4)
    assert [episodes.take() for _ in range(3)] == [0, 1, 2]
    episodes.lost(2)
    episodes.lost(0)
    assert [episodes.take() for _ in range(4)] == [0, 2, 3, None]


def test_environments_that_are_stepped_together_need_fewer_rollouts() -> None:
    episodes = EpisodeList(20)
    assert episodes.take() == 0
    episodes.ended(0, Episodes(tuple(map(float, range(16))), (1,) * 16))
    assert (episodes.count, episodes.finished) == (16, False)
    assert episodes.take() == 1
    assert episodes.take() is None  # two rollouts have 32 episodes
    episodes.ended(1, Episodes(tuple(map(float, range(16, 32))), (1,) * 16))
    assert (episodes.count, episodes.finished) == (20, True)
    assert returns(episodes)[:20] == list(map(float, range(20)))


def test_rollouts_that_turn_out_not_to_be_needed_are_not_waited_for() -> None:
    # Three evaluators began before anybody knew that each plays four episodes.
    episodes = EpisodeList(4)
    assert [episodes.take() for _ in range(3)] == [0, 1, 2]
    episodes.ended(2, Episodes((2.0,) * 4, (1,) * 4))
    assert (episodes.count, episodes.finished) == (0, False)
    episodes.lost(1)
    assert episodes.take() is None
    episodes.ended(0, Episodes((0.0,) * 4, (1,) * 4))
    assert episodes.finished
    assert returns(episodes)[:4] == [0.0] * 4


@pytest.mark.parametrize("together", [1, 3, 16])
@given(data=st.data(), count=st.integers(1, 40), evaluators=st.integers(1, 5))
@settings(max_examples=examples(50))
def test_any_order_of_answers_and_losses_has_the_result_of_one_evaluator(
    together: int, data: st.DataObject, count: int, evaluators: int
) -> None:
    seeds = [3, 1, 2]

    def played(number: int) -> Episodes:
        seed = seed_of(number, seeds)
        each = range(together)
        return Episodes(tuple(float(seed + row) for row in each), tuple(1 + (seed + row) % 90 for row in each))

    alone = EpisodeList(count)
    while (number := alone.take()) is not None:
        alone.ended(number, played(number))

    shared, playing, losses = EpisodeList(count), {}, 0
    while not shared.finished:
        free = [each for each in range(evaluators) if each not in playing]
        for evaluator in free:
            if (number := shared.take()) is None:
                break
            playing[evaluator] = number
        assert playing, "an evaluation that has not finished, and nobody plays"
        number = playing.pop(data.draw(st.sampled_from(sorted(playing))))
        if losses < 10 and data.draw(st.booleans()):
            losses += 1
            shared.lost(number)
        else:
            shared.ended(number, played(number))
    assert returns(shared)[:count] == returns(alone)[:count]
    assert shared.count == count

"""When a fleet is looked at: at once, one look at a time, not again too soon, and later after a failure."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collectorfleet_operator.edge.schedule import Backoff, Schedule


def schedule() -> Schedule[str]:
    return Schedule(debounce_seconds=1, backoff=Backoff(first_seconds=1, longest_seconds=8))


def test_a_quiet_key_is_due_at_once() -> None:
    keys = schedule()
    keys.add("a", now=10)
    assert keys.take(10) == ["a"]
    assert keys.take(10) == []


def test_news_during_the_work_and_right_after_are_taken_together() -> None:
    keys = schedule()
    keys.add("a", now=10)
    keys.take(10)
    keys.add("a", now=10.1)
    keys.add("a", now=10.2)
    assert keys.take(10.3) == []
    keys.done("a", now=10.5)
    keys.add("a", now=10.6)
    assert keys.take(11.4) == []
    assert keys.take(11.5) == ["a"]


def test_keys_do_not_wait_for_each_other() -> None:
    keys = schedule()
    keys.add("a", now=0)
    keys.take(0)
    keys.add("b", now=0.1)
    assert keys.take(0.1) == ["b"]


def test_failures_wait_longer_each_time_and_news_do_not_hurry_them() -> None:
    keys = schedule()
    keys.add("a", now=0)
    keys.take(0)
    assert keys.done("a", now=0, failed=True) == 1
    keys.add("a", now=0.5)
    assert keys.take(0.9) == []
    assert keys.take(1) == ["a"]
    assert keys.done("a", now=1, failed=True) == 2
    assert keys.take(3) == ["a"]
    assert keys.done("a", now=3) is None
    assert keys.next_due() is None


def test_work_that_was_outdated_begins_anew_soon_and_sooner_with_the_news() -> None:
    keys: Schedule[str] = Schedule(debounce_seconds=1, backoff=Backoff(first_seconds=10, longest_seconds=80))
    keys.add("a", now=0)
    keys.take(0)
    assert keys.done("a", now=0, failed=True, outdated=True) == 1
    assert keys.take(1) == ["a"]
    assert keys.done("a", now=1, failed=True, outdated=True) == 2
    keys.add("a", now=1.5)
    assert keys.take(2) == ["a"]
    keys.add("a", now=2.5)
    assert keys.done("a", now=3, failed=True, outdated=True) == 1
    assert keys.take(4) == ["a"]
    # An outage that follows is met as any other.
    assert keys.done("a", now=4, failed=True) == 80
    keys.add("a", now=5)
    assert keys.take(83) == []
    assert keys.take(84) == ["a"]


def test_a_key_asked_for_later_is_due_sooner_if_there_is_news() -> None:
    keys = schedule()
    keys.add("a", now=0, after=60)
    assert keys.next_due() == 60
    keys.add("a", now=5)
    assert keys.take(5) == ["a"]


@given(st.integers(1, 2000), st.floats(0, 1))
def test_a_delay_stays_between_half_and_all_of_its_step(failures: int, chance: float) -> None:
    backoff = Backoff()
    full = min(0.5 * 2 ** min(failures - 1, 30), 5)
    assert full / 2 <= backoff.delay(failures, chance) <= full


class Moment(float):
    """A time that counts what is compared with it."""

    compared = 0

    def __ge__(self, other: float) -> bool:
        Moment.compared += 1
        return super().__ge__(other)


def test_a_step_costs_what_its_own_keys_cost_however_many_others_wait() -> None:
    keys = schedule()
    for number in range(1000):
        keys.add(f"{number}", now=0, after=1000 + number)
    keys.add("news", now=0)
    assert keys.take(Moment(0)) == ["news"]
    assert 0 < Moment.compared < 10


def test_deadlines_that_were_overtaken_do_not_pile_up() -> None:
    keys = schedule()
    for second in range(0, 20_000, 2):
        keys.add("a", now=second)
        assert keys.take(second) == ["a"]
        keys.done("a", now=second)
        keys.add("a", now=second, after=86_400)
    assert len(keys._heap) < 100


def test_what_is_quiet_is_forgotten() -> None:
    keys = schedule()
    for number in range(100):
        keys.add(f"{number}", now=number)
        keys.take(number)
        keys.done(f"{number}", now=number)
    keys.take(1000)
    assert not keys._entries
    assert not keys._ended


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "take", "done", "fail", "outdated"]), st.sampled_from("abc"), st.floats(0, 3)),
    max_size=60,
)


@given(STEPS)
def test_whatever_was_added_is_taken_when_it_is_due_and_never_while_it_is_worked_on(
    steps: list[tuple[str, str, float]],
) -> None:
    keys, now, running, wanted = schedule(), 0.0, set[str](), set[str]()
    for what, key, seconds in steps:
        now += seconds
        if what == "add":
            keys.add(key, now, after=seconds)
            wanted.add(key)
        elif what == "take":
            taken = keys.take(now)
            assert not running & set(taken)
            assert (due := keys.next_due()) is None or due > now
            running |= set(taken)
            wanted -= set(taken)
        elif key in running:
            running.remove(key)
            keys.done(key, now, failed=what != "done", outdated=what == "outdated")
            if what != "done":
                wanted.add(key)
    for key in running:
        keys.done(key, now)
    assert wanted <= set(keys.take(now + 100))

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet import InvalidOption
from collectorfleet.learners.roster import Place, Placement, Roster


def filled(placement: Placement, number: int, *slots: int) -> Roster:
    roster = Roster(slots, placement)
    for index in range(number):
        roster.add(f"p{index}")
    return roster


def shards(roster: Roster) -> list[int]:
    return [roster.place(policy_id).shard for policy_id in roster]


def test_the_least_loaded_shard_takes_a_policy() -> None:
    assert shards(filled(Placement.SPREAD, 10, 3, 3, 2, 2)) == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]


def test_first_fit_fills_one_shard_after_the_other() -> None:
    assert shards(filled(Placement.FIRST_FIT, 10, 3, 3, 2, 2)) == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]


def test_a_place_that_was_given_back_is_the_next_ones() -> None:
    roster = filled(Placement.SPREAD, 4, 2, 2)
    left = roster.place("p1")
    roster.remove("p1")
    assert roster.add("new") == left == Place(1, 0)
    assert list(roster) == ["p0", "p2", "p3", "new"]


def test_errors_name_the_policy_and_what_there_is() -> None:
    roster = filled(Placement.SPREAD, 3, 2, 1)
    with pytest.raises(
        InvalidOption, match=(r"^policy 'p1': it exists already; remove it first, or choose another id$")
    ):
        roster.add("p1")
    with pytest.raises(InvalidOption) as full:
        roster.add("p3")
    assert str(full.value) == (
        "policy 'p3': all 3 places are taken (2+1 in 2 shards); remove a policy, or raise max_policies (3)"
    )
    with pytest.raises(InvalidOption, match=r"^policy 'main': it does not exist; use one of p0, p1, p2$"):
        roster.place("main")
    with pytest.raises(InvalidOption, match=r"^policy 'P2': it does not exist; did you mean p2\?$"):
        roster.remove("P2")
    with pytest.raises(InvalidOption, match=r"^policy 'p': it does not exist, because there are no policies$"):
        Roster([1], Placement.SPREAD).place("p")


@pytest.mark.parametrize("policy_id", ["", "a/b", "../up", ".hidden", "x" * 64])
def test_what_cannot_be_part_of_a_files_name_is_no_id(policy_id: str) -> None:
    with pytest.raises(InvalidOption, match="not a valid id"):
        Roster([1], Placement.SPREAD).add(policy_id)


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.sampled_from(Placement),
    st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=60),
)
def test_whoever_comes_and_goes_none_moves_and_no_place_is_taken_twice(
    slots: list[int], placement: Placement, events: list[tuple[bool, int]]
) -> None:
    roster = Roster(slots, placement)
    places: dict[str, Place] = {}
    for comes, number in events:
        policy_id = f"p{number}"
        if comes and policy_id not in places and len(places) < sum(slots):
            places[policy_id] = roster.add(policy_id)
        elif not comes and policy_id in places:
            roster.remove(policy_id)
            del places[policy_id]
        assert {name: roster.place(name) for name in roster} == places
        assert len(set(places.values())) == len(places)
        assert all(place.slot < slots[place.shard] for place in places.values())


def test_a_place_that_is_wished_for_is_given_if_it_is_free() -> None:
    roster = filled(Placement.SPREAD, 1, 2, 2)
    assert roster.add("back", Place(0, 1)) == Place(0, 1)
    assert roster.add("late", Place(0, 0)) == Place(1, 0)
    assert roster.add("of-more-shards", Place(7, 0)) == Place(1, 1)

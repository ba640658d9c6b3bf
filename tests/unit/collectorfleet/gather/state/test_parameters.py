"""Which parameters each collector is to have, whatever was set for whom in whatever order."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collectorfleet.gather.state.parameters import FleetParameters

GROUPS = {"c0": "near", "c1": "far", "c2": "near", "c3": "far"}
VALUES = st.dictionaries(st.sampled_from(["gravity", "level", "wind"]), st.integers(0, 9), min_size=1)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("all"), st.none(), VALUES),
        st.tuples(st.just("group"), st.sampled_from(["near", "far"]), VALUES),
        st.tuples(st.just("collector"), st.sampled_from(sorted(GROUPS)), VALUES),
    ),
    max_size=12,
)


def made(changes: list[Any]) -> FleetParameters:
    found = FleetParameters()
    for number, (scope, name, values) in enumerate(changes, start=1):
        if scope == "all":
            version = found.set_for_all(values)
        elif scope == "group":
            version = found.set_for_group(name, values)
        else:
            version = found.set_by_collector({name: values})
        assert version == number
    return found


def concerns(change: Any, collector: str) -> bool:
    scope, name, _ = change
    return scope == "all" or name == (GROUPS[collector] if scope == "group" else collector)


@given(CHANGES)
def test_a_collector_has_what_was_set_for_it_last_under_the_newest_version_that_concerns_it(changes: list[Any]) -> None:
    state = made(changes)
    assert state.version == len(changes)
    for collector, group in GROUPS.items():
        theirs = [(number, one) for number, one in enumerate(changes, start=1) if concerns(one, collector)]
        found = state.of(collector, group)
        assert found.version == max((number for number, _ in theirs), default=0)
        expected: dict[str, int] = {}
        for _, (_, _, values) in theirs:
            expected |= values
        assert found.values == expected


@given(CHANGES, CHANGES)
def test_a_state_that_was_written_and_read_goes_on_as_the_one_that_was_not(before: list[Any], after: list[Any]) -> None:
    restored = FleetParameters()
    restored.load_state_dict(json.loads(json.dumps(made(before).state_dict())))
    for scope, name, values in after:
        if scope == "all":
            restored.set_for_all(values)
        elif scope == "group":
            restored.set_for_group(name, values)
        else:
            restored.set_by_collector({name: values})
    whole = made([*before, *after])
    assert restored.state_dict() == whole.state_dict()
    assert [restored.of(name, group) for name, group in GROUPS.items()] == [
        whole.of(name, group) for name, group in GROUPS.items()
    ]


def test_what_is_set_for_all_leaves_nobody_with_a_value_of_its_own() -> None:
    state = FleetParameters()
    state.set_for_group("far", {"level": 1, "wind": 2})
    state.set_by_collector({"c0": {"level": 3}, "c1": {"level": 4}})
    state.set_for_all({"level": 5})
    assert state.for_all == {"level": 5}
    assert state.for_groups == {"far": {"wind": 2}}
    assert state.for_collectors == {}


def test_the_version_of_a_collector_is_the_newest_change_that_concerns_it() -> None:
    state = FleetParameters()
    assert state.version_of("c0", "far") == 0
    state.set_for_all({"level": 1})
    state.set_for_group("far", {"level": 2})
    state.set_by_collector({"c0": {"level": 3}})
    found = [state.version_of(*of) for of in (("c0", "far"), ("c1", "far"), ("c2", "near"), ("c2", None))]
    assert found == [3, 2, 1, 1]
    state.set_for_all({"wind": 4})
    assert state.version_of("c0", "far") == state.version_of("c2", None) == 4


def test_a_copy_shares_nothing_with_the_parameters_that_it_was_made_of() -> None:
    state = FleetParameters()
    state.set_for_all({"levels": [1]})
    copy = state.copy()
    copy.for_all["levels"].append(2)
    copy.set_for_all({"wind": 1})
    assert (state.version, state.for_all) == (1, {"levels": [1]})
    assert (copy.version, copy.for_all) == (2, {"levels": [1], "wind": 1})

"""Which fleets stay parsed between two reconciles."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Iterable

import pytest
from pydantic import ValidationError
from tests.integration.odd_manifests import odd_manifests
from tests.manifests import manifest

from collectorfleet_api.rules.validation import read
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.edge.readings import Readings
from collectorfleet_operator.objects import Key, Object

MANY = 1_000
ODD = 400
# Places of problems that `kubectl scale` can cause. The operator adapts a stored fleet instead of refusing it.
SCALED = tuple(
    f"spec.{place}: "
    for place in ("collectors.replicas", "collection.framesPerBatch", "collection.stragglers.firstShares")
)


def stored(number: int, version: int = 1, fleet: Object | None = None) -> Object:
    fleet = manifest() if fleet is None else fleet
    fleet["metadata"] |= {
        "namespace": "default",
        "name": f"fleet-{number}",
        "uid": f"uid-{number}",
        "resourceVersion": str(version),
        "generation": 1,
    }
    return fleet


def parsed(readings: Readings, fleet: Object) -> object:
    """The model of a fleet without a driver; the same object unless it was parsed again."""
    found = readings.read(fleet, lambda: None)
    assert found is not None
    return found[0]


def test_a_thousand_fleets_that_are_reconciled_in_turn_are_parsed_once() -> None:
    readings = Readings()
    first = [parsed(readings, stored(number)) for number in range(MANY)]
    assert all(parsed(readings, stored(number)) is first[number] for number in range(MANY))


def test_a_fleet_is_parsed_again_when_it_changes() -> None:
    readings = Readings()
    before = parsed(readings, stored(1))
    after = parsed(readings, stored(1, version=2))
    assert after is not before
    assert parsed(readings, stored(1, version=2)) is after


def test_the_fleets_that_were_reconciled_longest_ago_give_way_when_the_budget_is_spent() -> None:
    readings = Readings(budget_bytes=2 * len(json.dumps(stored(1))))
    one, two = parsed(readings, stored(1)), parsed(readings, stored(2))
    assert parsed(readings, stored(1)) is one
    parsed(readings, stored(3))
    assert parsed(readings, stored(1)) is one
    assert parsed(readings, stored(2)) is not two


def test_a_fleet_that_is_larger_than_the_budget_stays_parsed_until_the_next_one() -> None:
    readings = Readings(budget_bytes=1)
    one = parsed(readings, stored(1))
    assert parsed(readings, stored(1)) is one
    parsed(readings, stored(2))
    assert parsed(readings, stored(1)) is not one


def test_the_operator_finds_the_problems_that_validate_finds() -> None:
    """Beside test_crd_agrees, which compares validate and the rules of the CRD on the same odd fleets."""
    compared = refused = 0
    for number, odd in enumerate(odd_manifests(ODD)):
        validated = read(odd)
        found = Readings().read(stored(number, fleet=odd), lambda: None)
        if not isinstance(validated, list):
            assert found is not None, odd["spec"]
            assert found[1] == [], odd["spec"]
        elif found is not None and is_of_the_right_shape(odd):
            assert but_scaled(found[1]) == but_scaled(str(problem) for problem in validated), odd["spec"]
            refused += 1
        compared += found is not None
    assert compared > ODD // 10, "the sample has fleets that can be read"
    assert refused > ODD // 50, "the sample has fleets that a rule refuses"


def but_scaled(found: Iterable[str]) -> list[str]:
    return [problem for problem in found if not problem.startswith(SCALED)]


def is_of_the_right_shape(fleet: Object) -> bool:
    """Whether validate knows all of its fields; of a stored fleet the operator drops the others."""
    try:
        CollectorFleet.parse(fleet)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("end", ["is deleted", "changes"])
def test_the_memory_of_a_parsed_fleet_is_freed_when_it(end: str) -> None:
    readings = Readings()
    before = weakref.ref(parsed(readings, stored(1)))
    if end == "is deleted":
        readings.forget(Key("default", "fleet-1"))
    else:
        parsed(readings, stored(1, version=2))
    gc.collect()
    assert before() is None

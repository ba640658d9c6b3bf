"""What is computed once for each model, and for how long it is kept."""

from __future__ import annotations

import gc
import weakref

import pytest
from tests.manifests import fleet

from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.by_identity import by_identity
from collectorfleet_operator.children.hashes import hashes_of
from collectorfleet_operator.decide.upkeep import built_children


def test_a_result_is_computed_once_for_each_model_even_among_equal_ones() -> None:
    computed: list[str] = []

    @by_identity
    def name(of: CollectorFleet) -> str:
        computed.append(of.metadata.name)
        return of.metadata.name

    one, equal = fleet(), fleet()
    assert one == equal
    assert [name(one), name(one), name(equal)] == [one.metadata.name] * 3
    assert len(computed) == 2


@pytest.mark.parametrize("derive", [built_children, lambda one: hashes_of(one.spec)], ids=["manifests", "hashes"])
def test_what_is_derived_from_a_fleet_does_not_keep_the_fleet_in_memory(derive: object) -> None:
    assert callable(derive)
    one = fleet()
    derived, model, spec = derive(one), weakref.ref(one), weakref.ref(one.spec)
    del one
    gc.collect()
    assert derived
    assert (model(), spec()) == (None, None)

"""What a scrape is told of the fleets."""

from __future__ import annotations

from typing import Any

from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.edge.metrics.state import State, families
from collectorfleet_operator.edge.summary import summary
from collectorfleet_operator.objects import Key, Object, name_of

Labels = tuple[tuple[str, str], ...]


def fleet(name: str, phase: str | None = None, ready: str | None = None) -> Object:
    status: dict[str, Any] = {}
    if phase is not None:
        status["phase"] = phase
    if ready is not None:
        status["conditions"] = [{"type": "Stalled", "status": "True"}, {"type": "Ready", "status": ready}]
    return {"metadata": {"namespace": "lab", "name": name}, "status": status}


def said(name: str, *fleets: Object) -> dict[Labels, float]:
    found = families(State(0, 0.0, {POD: 12.5}, {}, {Key("lab", name_of(one)): summary(one) for one in fleets}))
    (family,) = (one for one in found if one.name == f"collectorfleet_operator_{name}")
    return {tuple(sample.labels.items()): sample.value for sample in family.samples}


def test_every_phase_is_there_also_with_no_fleet_in_it() -> None:
    assert said("fleets") == {(("phase", phase.value),): 0 for phase in Phase}
    found = said("fleets", fleet("a", "Collecting"), fleet("b", "Collecting"), fleet("c", "Failed"))
    assert found[("phase", "Collecting"),] == 2
    assert found[("phase", "Failed"),] == 1
    assert sum(found.values()) == 3


def test_a_fleet_that_nobody_looked_at_yet_is_pending_and_one_of_another_release_too() -> None:
    new: Object = {"metadata": {"namespace": "lab", "name": "new"}}
    assert said("fleets", new, fleet("b"), fleet("c", "Hibernating"))[("phase", "Pending"),] == 3


def test_a_fleet_is_ready_or_not_by_its_condition_and_absent_without_one() -> None:
    found = said("fleet_ready", fleet("a", ready="True"), fleet("b", ready="False"), fleet("c", "Suspended"))
    assert found == {
        (("fleet_namespace", "lab"), ("fleet", "a")): 1,
        (("fleet_namespace", "lab"), ("fleet", "b")): 0,
    }


def test_ages_are_told_by_kind() -> None:
    assert said("cache_list_age_seconds") == {(("resource", "pods"),): 12.5}

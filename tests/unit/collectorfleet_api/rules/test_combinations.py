"""Options that need or exclude each other: each is said, and nothing that a mode does not use is silently ignored."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.combinations import GO_TOGETHER, REFUSED
from tests.manifests import fleet, manifest

from collectorfleet_api.rules.advice import warnings
from collectorfleet_api.rules.collector_kwargs import FIELDS
from collectorfleet_api.rules.combinations.table import COMBINATIONS
from collectorfleet_api.rules.validation import read, read_stored
from collectorfleet_api.schema.crd import schema
from collectorfleet_api.v1alpha1 import CollectorFleet


@pytest.mark.parametrize(("changes", "sentence"), REFUSED)
def test_options_that_do_not_go_together_are_refused(changes: dict[str, Any], sentence: str) -> None:
    found = read(manifest(changes))
    assert isinstance(found, list)
    assert [str(problem) for problem in found] == [sentence]


def test_each_combination_is_refused_by_a_case_here() -> None:
    specs = [fleet(case.values[0]).spec for case in REFUSED]
    broken = {c.name for spec in specs for c in COMBINATIONS if not c.holds(spec)}
    assert [c.name for c in COMBINATIONS if c.name not in broken] == []


def test_each_combination_has_a_name_of_its_own() -> None:
    names = [c.name for c in COMBINATIONS]
    assert len(names) == len(set(names)) > 20
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)] == []


@pytest.mark.parametrize("changes", GO_TOGETHER)
def test_options_that_go_together_pass_without_a_word(changes: dict[str, Any]) -> None:
    found = read(manifest(changes))
    assert isinstance(found, CollectorFleet), found
    assert warnings(found) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param(
            {"spec.collection.shares": 6},
            "spec.collection.framesPerBatch: 4000 does not divide into 6 shares (collection.shares); "
            "use 3996 or 4002, or 5 or 8 shares",
            id="fixed shares",
        ),
        pytest.param(
            {"spec.collection.stragglers": {"firstShares": 3}, "spec.collection.maxStaleness": 1},
            "spec.collection.framesPerBatch: 4000 does not divide into 3 shares (collection.stragglers.firstShares); "
            "use 3999 or 4002, or 2 or 4 shares",
            id="first shares",
        ),
        pytest.param(
            {"spec.collectors.class": "Sync", "spec.collectors.numWorkersPerCollector": 3},
            "spec.collection.framesPerBatch: 4000 is not a multiple of the 3 environments of a collector that step "
            "together (environment.perCollector, collectors.numWorkersPerCollector); use 3999 or 4002",
            id="processes in step",
        ),
        pytest.param(
            {
                "spec.collectors.class": "Sync",
                "spec.collectors.numWorkersPerCollector": 4,
                "spec.environment.perCollector": 8,
            },
            "spec.collection.framesPerBatch: 4000 does not divide into 4 shares (collectors.replicas) of whole steps "
            "of 32 environments; use 3968 or 4096, or 1 or 5 collectors",
            id="vectorised environments in each of several processes",
        ),
    ],
)
def test_a_batch_divides_into_whole_steps_of_its_shares(changes: dict[str, Any], sentence: str) -> None:
    found = read(manifest(changes))
    assert isinstance(found, list)
    assert [str(problem) for problem in found] == [sentence]


def test_processes_that_are_gathered_as_they_come_each_make_whole_batches() -> None:
    changes = {"spec.collectors.class": "Async", "spec.collectors.numWorkersPerCollector": 3}
    assert isinstance(read(manifest(changes)), CollectorFleet)


def test_a_stored_fleet_with_first_shares_may_be_scaled_to_any_number() -> None:
    changes = {"spec.collection.stragglers": {"firstShares": 2}, "spec.collection.maxStaleness": 1}
    scaled = manifest({**changes, "spec.collectors.replicas": 1, "metadata.uid": "u"})
    assert isinstance(read_stored(scaled), CollectorFleet)


def test_fixed_shares_need_not_divide_by_the_number_of_collectors() -> None:
    changes = {"spec.collection.shares": 8, "spec.collectors.replicas": 3}
    assert isinstance(read(manifest(changes)), CollectorFleet)


def test_an_argument_of_torchrls_collector_is_said_once() -> None:
    assert isinstance(read(manifest({"spec.collectors.kwargs": {"cat_results": "stack"}})), CollectorFleet)
    found = read(manifest({"spec.collectors.kwargs": {"max_frames_per_traj": 100, "weight_updater": None}}))
    assert isinstance(found, list)
    assert [str(problem) for problem in found] == [
        "spec.collectors.kwargs.max_frames_per_traj: it has a field of its own; use spec.collection.maxFramesPerTraj",
        "spec.collectors.kwargs.weight_updater: it has a field of its own; use spec.weights",
    ]


@pytest.mark.parametrize("field", sorted(set(FIELDS.values())))
def test_the_field_to_use_instead_exists(field: str) -> None:
    node = schema()["properties"]["spec"]
    for part in field.split("."):
        node = node["properties"][part]


def test_a_list_that_would_let_nothing_travel_is_refused() -> None:
    found = read(manifest({"spec.weights.include": []}))
    assert isinstance(found, list)
    assert [str(problem) for problem in found] == [
        "spec.weights.include: empty; write at least one item or leave the field out"
    ]


def test_a_module_named_twice_is_refused_as_the_api_server_does() -> None:
    model = {"path": "env.world_model", "factory": "my_models:make"}
    found = read(manifest({"spec.weights.models": [model, model]}))
    assert isinstance(found, list)
    assert [str(problem) for problem in found] == [
        "spec.weights.models[1].path: env.world_model appears twice; name each module once"
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param(
            {"spec.collection.shares": 2},
            "spec.collectors.replicas: at most 2 of 4 collectors busy: a batch has 2 shares",
            id="fewer shares than collectors",
        ),
        pytest.param(
            {
                "spec.collection.stragglers": {"firstShares": 2},
                "spec.collection.maxStaleness": 1,
                "spec.collectors.replicas": 8,
            },
            "spec.collectors.replicas: at most 4 of 8 collectors busy: a batch has 2 shares, and 2 batches may be "
            "under way (collection.maxStaleness 1)",
            id="far fewer first shares than collectors",
        ),
        pytest.param(
            {"spec.collectors.resources.gpu": 0.25},
            "spec.collectors.devices: absent: 0.25 GPU of each collector is used only by code that asks for cuda "
            "itself; set device to cuda to have TorchRL put environment and policy there",
            id="a GPU without a device",
        ),
        pytest.param(
            {"spec.weights.models": [{"path": "env.model", "factory": "a:b", "kwargs": {"width": None}}]},
            "spec.weights.models[0].kwargs.width: `kubectl apply` drops a null; "
            "leave it out, and give the function that default",
            id="a keyword that is null, in a list",
        ),
    ],
)
def test_what_is_hardly_meant_is_warned_of(changes: dict[str, Any], sentence: str) -> None:
    assert [str(found) for found in warnings(fleet(changes))] == [sentence]

"""Arguments of TorchRL's collectors are said once."""

from __future__ import annotations

from typing import Any

import pytest
from tests.manifests import manifest

from collectorfleet_api.rules.collector_kwargs import FIELDS, collector_kwargs_problems
from collectorfleet_api.rules.validation import read
from collectorfleet_api.schema.crd import schema
from collectorfleet_api.v1alpha1 import CollectorFleet


def test_an_argument_of_torchrls_collector_is_said_once() -> None:
    assert isinstance(read(manifest({"spec.collectors.kwargs": {"cat_results": "stack"}})), CollectorFleet)
    found = read(manifest({"spec.collectors.kwargs": {"max_frames_per_traj": 100, "weight_updater": None}}))
    assert isinstance(found, list)
    assert [str(problem) for problem in found] == [
        (
            "spec.collectors.kwargs.max_frames_per_traj: this argument has a separate field; use "
            "spec.collection.maxFramesPerTraj"
        ),
        "spec.collectors.kwargs.weight_updater: this argument has a separate field; use spec.weights",
    ]


@pytest.mark.parametrize("field", sorted(set(FIELDS.values())))
def test_the_field_to_use_instead_exists(field: str) -> None:
    node = schema()["properties"]["spec"]
    for part in field.split("."):
        node = node["properties"][part]


def test_a_script_says_all_arguments_and_a_manifest_those_without_a_field() -> None:
    def told(**kwargs: Any) -> list[str]:
        return [str(one) for one in collector_kwargs_problems(kwargs)]

    assert told() == told(cat_results="stack") == []
    assert told(cat_results="stack", device="cpu") == [
        "spec.collectors.kwargs.device: this argument has a separate field; use spec.collectors.devices.device"
    ]
    assert list(collector_kwargs_problems({}, runs_script=True)) == []
    (found,) = collector_kwargs_problems({"cat_results": "stack", "device": "cpu"}, runs_script=True)
    assert str(found) == ("spec.collectors.kwargs: driver.script sets this in its FleetCollector; leave this field out")

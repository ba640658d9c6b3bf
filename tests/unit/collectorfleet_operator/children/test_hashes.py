"""What a child was made from, part by part."""

from __future__ import annotations

from typing import Any

import pytest
from tests.manifests import fleet

from collectorfleet_api.v1alpha1 import CollectorFleetSpec
from collectorfleet_operator.children.hashes import changed_parts, hash_annotations, hashes_of
from collectorfleet_operator.objects import Object


def spec(changes: dict[str, Any] | None = None) -> CollectorFleetSpec:
    return fleet(changes).spec


def made_from(changes: dict[str, Any] | None = None) -> Object:
    return {"metadata": {"annotations": {"somebody/else": "x", **hash_annotations(spec(changes))}}}


def test_driver_head_and_every_group_have_a_hash() -> None:
    assert list(hashes_of(spec())) == ["driver", "head", "group-collectors"]


def test_a_default_that_is_written_out_is_no_change() -> None:
    assert changed_parts(made_from({"spec.collectors.resources": {"cpu": 1}}), spec()) == set()


def test_replicas_and_min_available_are_followed_by_a_run() -> None:
    assert changed_parts(made_from(), spec({"spec.collectors": {"replicas": 9, "minAvailable": 5}})) == set()
    assert changed_parts(made_from(), spec({"spec.collectors": {"replicas": 1}})) == set()


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        pytest.param({"spec.driver.train": {"function": "my_train:other"}}, {"driver"}, id="training"),
        pytest.param({"spec.workers.template": {"spec": {}}}, {"group-collectors"}, id="worker pods"),
        pytest.param({"spec.image": "cheetah:2"}, {"driver", "head", "group-collectors"}, id="image"),
    ],
)
def test_what_has_changed_is_known_part_by_part(changes: dict[str, Any], parts: set[str]) -> None:
    assert changed_parts(made_from(), spec(changes)) == parts


def test_of_a_child_that_says_nothing_everything_has_changed() -> None:
    assert changed_parts({"metadata": {}}, spec()) == set(hashes_of(spec()))


def test_a_group_that_is_no_longer_asked_for_has_changed() -> None:
    child = made_from()
    child["metadata"]["annotations"]["collectorfleet.dev/hash-group-large"] = "0123456789abcdef"
    assert changed_parts(child, spec()) == {"group-large"}

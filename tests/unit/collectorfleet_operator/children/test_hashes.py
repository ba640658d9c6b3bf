"""What a child was made from, part by part."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from tests.cluster.binaries import ROOT
from tests.combinations import GO_TOGETHER
from tests.combinations.parts import EVALUATION, LEARNERS
from tests.manifests import fleet
from tests.unit.collectorfleet_operator.children import other_defaults

from collectorfleet_api.v1alpha1 import CollectorFleetSpec
from collectorfleet_operator.children.hashes import changed_parts, hash_annotations, hashes_of, hashes_on
from collectorfleet_operator.objects import Object


def spec(changes: dict[str, Any] | None = None) -> CollectorFleetSpec:
    return fleet(changes).spec


def made_from(changes: dict[str, Any] | None = None) -> Object:
    return {"metadata": {"annotations": {"somebody/else": "x", **hash_annotations(spec(changes))}}}


def test_driver_head_and_every_group_have_a_hash() -> None:
    assert list(hashes_of(spec())) == ["driver", "head", "group-collectors"]


def test_a_default_that_is_written_out_is_no_change() -> None:
    assert changed_parts(hashes_on(made_from({"spec.collectors.resources": {"cpu": 1}})), spec()) == set()


# As releases before the table of defaults, and before GPUs of evaluators, computed them.
HASHED_BEFORE = [
    ({}, {"driver": "9377646e5ce613b0", "head": "20bcb0f5d58223ee", "group-collectors": "20bcb0f5d58223ee"}),
    (
        {"spec.ray.version": "2.59.0"},
        {"driver": "a1312f30fb3bf794", "head": "6846140c21cb3005", "group-collectors": "6846140c21cb3005"},
    ),
    (
        {"spec.evaluation": EVALUATION, "spec.workers.gpu": {"mode": "TimeSlicing"}},
        {
            "driver": "b9e08a0abd2f926d",
            "head": "20bcb0f5d58223ee",
            "group-collectors": "4fcddb09157058f9",
            "group-evaluators": "fb1c4ddf41f5b3cc",
        },
    ),
]


@pytest.mark.parametrize(("changes", "hashes"), HASHED_BEFORE)
def test_hashes_are_those_of_earlier_releases(changes: dict[str, Any], hashes: dict[str, str]) -> None:
    assert hashes_of(spec(changes)) == hashes


def test_a_release_with_other_defaults_sees_no_changed_spec() -> None:
    specs = [spec(dict(changes)) for (changes, *_) in (case.values for case in GO_TOGETHER)]
    # With every default, as the API server stores them.
    stored = json.dumps([one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in specs])
    words = [sys.executable, "-m", other_defaults.__name__]
    done = subprocess.run(words, input=stored, capture_output=True, text=True, check=True, cwd=ROOT)
    changed, hashes = json.loads(done.stdout)
    assert changed > 50
    assert hashes == [hashes_of(one) for one in specs]


def test_a_child_that_a_newer_release_hashed_otherwise_is_left_as_it_is() -> None:
    child = made_from()
    child["metadata"]["annotations"]["collectorfleet.dev/scheme-of-hashes"] = "2"
    assert changed_parts(hashes_on(child), spec({"spec.image": "cheetah:2"})) == set()
    child["metadata"]["annotations"]["collectorfleet.dev/scheme-of-hashes"] = "1"
    assert changed_parts(hashes_on(child), spec({"spec.image": "cheetah:2"})) == {"driver", "head", "group-collectors"}


def test_replicas_and_min_available_are_followed_by_a_run() -> None:
    assert changed_parts(hashes_on(made_from()), spec({"spec.collectors": {"replicas": 9, "minAvailable": 5}})) == set()
    assert changed_parts(hashes_on(made_from()), spec({"spec.collectors": {"replicas": 1}})) == set()


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        pytest.param({"spec.driver.train": {"function": "my_train:other"}}, {"driver"}, id="training"),
        pytest.param({"spec.workers.template": {"spec": {}}}, {"group-collectors"}, id="worker pods"),
        pytest.param({"spec.learners": LEARNERS}, {"driver", "group-learners"}, id="learners"),
        pytest.param({"spec.image": "cheetah:2"}, {"driver", "head", "group-collectors"}, id="image"),
    ],
)
def test_what_has_changed_is_known_part_by_part(changes: dict[str, Any], parts: set[str]) -> None:
    assert changed_parts(hashes_on(made_from()), spec(changes)) == parts


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        pytest.param({"batchSize": 64}, {"driver"}, id="what the driver does with them"),
        pytest.param({"policies": [{"id": "red"}]}, {"driver"}, id="a policy, in as many places"),
        pytest.param({"maxPolicies": 4}, {"driver", "group-learners"}, id="places"),
        pytest.param({"template": {"spec": {}}}, {"driver", "group-learners"}, id="their pods"),
    ],
)
def test_a_change_of_learners_makes_their_pods_anew_only_where_those_see_it(
    changes: dict[str, Any], parts: set[str]
) -> None:
    before = {**LEARNERS, "maxPolicies": 2}
    child = made_from({"spec.learners": before})
    assert changed_parts(hashes_on(child), spec({"spec.learners": {**before, **changes}})) == parts


def test_learner_pods_are_made_anew_where_there_are_as_many_places_as_policies_and_one_comes() -> None:
    more = {**LEARNERS, "policies": [*LEARNERS["policies"], {"id": "green"}]}
    found = changed_parts(hashes_on(made_from({"spec.learners": LEARNERS})), spec({"spec.learners": more}))
    assert found == {"driver", "group-learners"}


def test_learner_pods_that_keep_checkpoints_elsewhere_are_others() -> None:
    kept = {"spec.learners": LEARNERS, "spec.driver.checkpoint": {"claimName": "runs"}}
    assert changed_parts(hashes_on(made_from({"spec.learners": LEARNERS})), spec(kept)) == {"driver", "group-learners"}


def test_of_a_child_that_says_nothing_everything_has_changed() -> None:
    assert changed_parts(hashes_on({"metadata": {}}), spec()) == set(hashes_of(spec()))


def test_a_group_that_is_no_longer_asked_for_has_changed() -> None:
    child = made_from()
    child["metadata"]["annotations"]["collectorfleet.dev/hash-group-large"] = "0123456789abcdef"
    assert changed_parts(hashes_on(child), spec()) == {"group-large"}

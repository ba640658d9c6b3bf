"""What a running fleet takes of a spec that changed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.manifests import manifest

from collectorfleet_api.rules.followed import LIVE_FIELDS, as_run
from collectorfleet_api.v1alpha1 import CollectorFleet

STARTED = manifest({"spec.collectors": {"replicas": 4, "minAvailable": 3}})["spec"]


def run(changes: dict[str, Any]) -> CollectorFleet:
    found = as_run(manifest(changes), STARTED)
    assert isinstance(found, CollectorFleet)
    return found


def test_only_the_size_is_followed() -> None:
    # By the operator alone; no driver looks at them.
    of_the_operator = {
        *("updateStrategy", "progressDeadlineSeconds", "suspend", "whenFinished", "ttlSecondsAfterFinished"),
        *("activeDeadlineSeconds", "startupDeadlineSeconds", "idleTimeoutSeconds", "networkPolicy"),
        "driver.livenessDeadlineSeconds",
    }
    assert set(LIVE_FIELDS) == {"collectors.replicas", "collectors.minAvailable", *of_the_operator}
    changes = {"spec.image": "ghcr.io/you/cheetah:2.0", "spec.collectors": {"replicas": 8, "minAvailable": 2}}
    spec = run(changes).spec
    assert (spec.collectors.replicas, spec.collectors.min_available) == (8, 2)
    assert spec.image == STARTED["image"]


def test_a_size_that_was_taken_back_is_the_default_again() -> None:
    assert run({"spec.collectors": {"replicas": 4}}).spec.collectors.min_available == 1


@pytest.mark.parametrize(
    "changes",
    [{"spec.collection": 7}, {"spec.collectors.mood": 1}, {"spec.collectors.resources": {"gpu": 1.5}}],
    ids=["unreadable", "unknown", "impossible"],
)
def test_what_else_is_stored_does_not_matter(changes: dict[str, Any]) -> None:
    spec = run(changes | {"spec.collectors.replicas": 8}).spec
    assert spec.collectors.replicas == 8
    assert spec.collection.frames_per_batch == STARTED["collection"]["framesPerBatch"]


@pytest.mark.parametrize("collectors", [{"replicas": 0}, {"replicas": "many"}, 7])
def test_what_no_fleet_can_follow_is_not_followed(collectors: Any) -> None:
    spec = run({"spec.collectors": collectors}).spec
    assert spec.collectors.replicas == 4

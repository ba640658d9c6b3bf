"""What a Ray of one machine has in the place of a fleet's worker pods."""

from __future__ import annotations

from tests.combinations.parts import LEARNERS
from tests.manifests import fleet

from collectorfleet.local.ray_resources import ray_cpus, ray_resources


def test_a_slot_for_each_collector() -> None:
    assert ray_resources(fleet({"spec.collectors": {"replicas": 3}}).spec) == {"collector": 3}


def test_custom_resources_of_all_pods_together() -> None:
    changes = {
        "spec.collectors": {"replicas": 5, "resources": {"custom": {"license": 0.5}}},
        "spec.workers.customPerPod": {"license": 2, "disk": 1},
    }
    # Two pods of four collectors.
    assert ray_resources(fleet(changes).spec) == {"collector": 5, "license": 4, "disk": 2}


def test_each_group_brings_its_own() -> None:
    changes = {
        "spec.collectors.replicas": 4,
        "spec.collectors.resources.custom": {"license": 1},
        "spec.workers.customPerPod": {"license": 1},
        "spec.collectors.groups": [
            {"name": "small", "replicas": 3},
            {"name": "big", "resources": {"custom": {}}, "workers": {"customPerPod": {"license": 5}}},
        ],
    }
    assert ray_resources(fleet(changes).spec) == {
        "collector": 4,
        "collector-small": 3,
        "collector-big": 1,
        "license": 8,
    }


def test_learners_have_slots_and_cpus_of_their_own() -> None:
    asked = fleet({"spec.learners": {**LEARNERS, "resources": {"cpu": "1500m"}}, "spec.collectors.replicas": 3}).spec
    # Two shards of a replay actor, which counts 1, and a policy, which counts 2.
    assert ray_resources(asked) == {"collector": 3, "learner": 4}
    assert (ray_cpus(asked), ray_cpus(fleet().spec)) == (9, 4)

"""Rules for options about the launcher and the transport, and for options that need Ray."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.rules.combinations.combination import Combination
from collectorfleet_api.v1alpha1.collection import Transport
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec


def _has_group(spec: CollectorFleetSpec) -> bool:
    return spec.collection.transport is Transport.TORCH_DISTRIBUTED


LAUNCHERS: Final = (
    Combination(
        "transport-of-the-launcher",
        "collection.transport",
        lambda spec: spec.has_ray is not _has_group(spec),
        "(self.launcher == 'RayCluster') == (self.collection.transport == 'ObjectStore')",
        "launcher RayCluster needs transport ObjectStore, and launcher Job needs transport TorchDistributed; change "
        "launcher or collection.transport",
    ),
    Combination(
        "only-with-ray",
        "replayBuffer",
        lambda spec: spec.has_ray or spec.replay_buffer is None,
        "self.launcher == 'RayCluster' || !has(self.replayBuffer)",
        "the replay buffer is a Ray actor, but launcher Job runs collectors without Ray; set launcher to RayCluster, "
        "or fill a buffer in driver.train",
    ),
    Combination(
        "groups-need-ray",
        "collectors.groups",
        lambda spec: spec.has_ray or not spec.collectors.groups,
        "self.launcher == 'RayCluster' || !has(self.collectors.groups) || self.collectors.groups.size() == 0",
        "with launcher Job, all collectors are alike; leave collectors.groups out, or set launcher to RayCluster",
    ),
    Combination(
        "custom-resources-need-ray",
        "collectors.resources.custom",
        lambda spec: spec.has_ray or spec.collectors.resources.custom is None,
        "self.launcher == 'RayCluster' || !has(self.collectors.resources.custom)",
        "Ray counts custom resources, but launcher Job runs collectors without Ray; set launcher to RayCluster, or "
        "leave resources.custom and workers.customPerPod out",
    ),
    Combination(
        "custom-resources-of-pods-need-ray",
        "workers.customPerPod",
        # If both fields are set, the previous rule reports the problem.
        lambda spec: (
            spec.has_ray or spec.workers.custom_per_pod is None or spec.collectors.resources.custom is not None
        ),
        "self.launcher == 'RayCluster' || !has(self.workers.customPerPod) || has(self.collectors.resources.custom)",
        "Ray counts custom resources, but launcher Job runs collectors without Ray; set launcher to RayCluster, or "
        "leave customPerPod out",
    ),
    Combination(
        "heads-need-ray",
        "ray.head.template",
        lambda spec: spec.has_ray or not {"metadata", "spec"} & spec.ray.head.template.keys(),
        "self.launcher == 'RayCluster' || !has(self.ray.head.template) || "
        "!(has(self.ray.head.template.metadata) || has(self.ray.head.template.spec))",
        "launcher Job has no head pod; use launcher RayCluster, or leave this template out",
    ),
    Combination(
        "highest-indexes-leave",
        "collectors.scalingPolicy",
        lambda spec: spec.has_ray or spec.collectors.scaling_policy is None,
        "self.launcher == 'RayCluster' || !has(self.collectors.scalingPolicy)",
        "with launcher Job, Kubernetes removes the pods with the highest indexes first; use launcher RayCluster, or "
        "leave scalingPolicy out",
    ),
)

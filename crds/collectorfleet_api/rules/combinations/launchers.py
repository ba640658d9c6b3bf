"""What holds the collectors, what carries their frames, and what there is only in Ray."""

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
        "launcher RayCluster has its collectors in Ray and goes with ObjectStore, launcher Job has processes and goes "
        "with TorchDistributed; change one of the two",
    ),
    Combination(
        "only-with-ray",
        "replayBuffer",
        lambda spec: spec.has_ray or spec.replay_buffer is None,
        "self.launcher == 'RayCluster' || !has(self.replayBuffer)",
        "collectors write to a buffer that is a Ray actor, and with launcher Job they are not in Ray; use launcher "
        "RayCluster, or extend a buffer in driver.train with the batches that it gets",
    ),
    Combination(
        "groups-need-ray",
        "collectors.groups",
        lambda spec: spec.has_ray or not spec.collectors.groups,
        "self.launcher == 'RayCluster' || !has(self.collectors.groups) || self.collectors.groups.size() == 0",
        "groups are kinds of worker pods of a RayCluster, and with launcher Job all collectors are alike; use launcher "
        "RayCluster, or leave groups out",
    ),
    Combination(
        "custom-resources-need-ray",
        "collectors.resources.custom",
        lambda spec: spec.has_ray or spec.collectors.resources.custom is None,
        "self.launcher == 'RayCluster' || !has(self.collectors.resources.custom)",
        "these are resources that Ray counts, and with launcher Job collectors are not in Ray; use launcher "
        "RayCluster, or leave it out",
    ),
)

"""Arguments of TorchRL's collectors that ``spec.collectors.kwargs`` may not have, because other fields set them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from collectorfleet_api.rules.problem import Problem

FIELDS: Final = {
    "create_env_fn": "environment.factory",
    "create_env_kwargs": "environment.kwargs",
    "policy": "policy.factory",
    "policy_factory": "policy.factory",
    "trust_policy": "policy.trust",
    "frames_per_batch": "collection.framesPerBatch",
    "total_frames": "collection.totalFrames",
    "sync": "collection.mode",
    "max_frames_per_traj": "collection.maxFramesPerTraj",
    "init_random_frames": "collection.initRandomFrames",
    "reset_at_each_iter": "collection.resetAtEachIter",
    "postproc": "collection.postproc",
    "split_trajs": "collection.splitTrajs",
    "trajs_per_batch": "collection.trajsPerBatch",
    "exploration_type": "collection.explorationType",
    "preemptive_threshold": "collection.stragglers.preemptiveThreshold",
    "interruptor": "collection.stragglers.preemptiveThreshold",
    "num_collectors": "collectors.replicas",
    "collector_class": "collectors.class",
    "num_workers": "collectors.numWorkersPerCollector",
    "device": "collectors.devices.device",
    "storing_device": "collectors.devices.storingDevice",
    "env_device": "collectors.devices.envDevice",
    "policy_device": "collectors.devices.policyDevice",
    "no_cuda_sync": "collectors.noCudaSync",
    "pre_collect_hook": "collectors.preCollectHook",
    "post_collect_hook": "collectors.postCollectHook",
    "update_at_each_batch": "weights.updateAfterEachBatch",
    "weight_updater": "weights",
    "weight_sync_schemes": "weights",
    "weight_recv_schemes": "weights",
    "replay_buffer": "replayBuffer",
}


def collector_kwargs_problems(kwargs: dict[str, Any], *, runs_script: bool = False) -> Iterator[Problem]:
    """Yield a problem for each argument that has a field in the spec or belongs into a script."""
    if kwargs and runs_script:
        yield Problem("spec.collectors.kwargs", "driver.script sets this in its FleetCollector; leave this field out")
        return
    for name in kwargs:
        if name in FIELDS:
            yield Problem(
                f"spec.collectors.kwargs.{name}", f"this argument has a separate field; use spec.{FIELDS[name]}"
            )

"""Run in a process of its own: ten policies on four nodes of one GPU each, one of which dies, and another one comes.

The GPUs are Ray's count of them: no process here uses one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import ray
from ray.cluster_utils import Cluster
from ray.exceptions import RayActorError
from tests.runtime.a_node_dies import QUICKLY
from tests.runtime.learners import Mean, frames
from tests.wait import eventually

from collectorfleet import LearnerShards

NODE: dict[str, Any] = {"num_cpus": 4, "num_gpus": 1}


def places(shards: LearnerShards) -> dict[str, tuple[int, str]]:
    found: list[tuple[int, str]] = ray.get([policy.place.remote() for _, policy, _ in shards], timeout=120)
    return dict(zip([name for name, _, _ in shards], found, strict=True))


def node_of_replay(replay: Any) -> str:
    node: str = ray.get(replay.__ray_call__.remote(lambda _: ray.get_runtime_context().get_node_id()), timeout=60)
    return node


def main() -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": QUICKLY})
    raylets = {node.node_id: node for node in [cluster.add_node(**NODE) for _ in range(4)]}
    ray.init(address=cluster.address, log_to_driver=False)
    with tempfile.TemporaryDirectory() as folder:
        shards = LearnerShards(Mean, 10, gpus=4, checkpoint_dir=Path(folder) / "kept")
        for index in range(10):
            shards.add_policy(f"p{index}")
            policy, replay = shards.get_policy_actor(f"p{index}"), shards.get_replay_and_policy_actors(f"p{index}")[0]
            ray.get(policy.learn.remote(frames(float(index))))
            ray.get(replay.extend.remote(f"p{index}", frames(float(index))))
        before = places(shards)
        sizes = sorted(Counter(node for _, node in before.values()).values())
        said = [f"ten policies of {shards.packing.gpu_per_policy} GPU, on nodes of {sizes}"]
        shards.checkpoint()
        doomed = before["p0"][1]
        lost = {name for name, (_, node) in before.items() if node == doomed}
        cluster.add_node(**NODE)
        os.kill(raylets[doomed].all_processes["raylet"][0].process.pid, signal.SIGKILL)
        for name in lost:
            with contextlib.suppress(ProcessLookupError):  # a worker ends with its raylet
                os.kill(before[name][0], signal.SIGKILL)
        after = eventually(lambda: places(shards), within=120, tolerate=(RayActorError,))
        (node,) = {after[name][1] for name in lost}
        # The replay actor may still be on its way when its policies are there.
        replay = shards.get_replay_and_policy_actors("p0")[0]
        beside = eventually(lambda: node_of_replay(replay), within=120, tolerate=(RayActorError,)) == node
        said.append(f"{len(lost)} came back on one other node: {node != doomed}, with their replay actor: {beside}")
        said.append(f"others stayed: {all(after[name] == before[name] for name in before.keys() - lost)}")
        values = ray.get([policy.seen.remote() for _, policy, _ in shards], timeout=60)
        counts = ray.get([replay.size.remote(name) for name, _, replay in shards], timeout=60)
        said.append(f"they know: {values == [float(i) for i in range(10)]}, frames: {counts}")
        shards.stop()
    ray.shutdown()
    cluster.shutdown()
    print("\n".join(said))


if __name__ == "__main__":
    main()

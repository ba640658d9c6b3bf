"""Whether a collector's rollouts can be made by the loop of our own, and that loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torchrl.collectors import Collector

from collectorfleet.actor.rollout.environments import find_environments
from collectorfleet.actor.rollout.exact import require
from collectorfleet.actor.rollout.frame import Frame
from collectorfleet.actor.rollout.loop import Loop
from collectorfleet.actor.rollout.memory import ENDS, TRAJECTORY
from collectorfleet.actor.rollout.policies import find_policy
from collectorfleet.actor.rollout.transforms import vector_forms

_CPU = (None, torch.device("cpu"))


def find_loop(collector: Collector) -> Loop:
    """The loop for a collector that was built, and has not stepped.

    Raises:
        NotExact: what its environment, policy or options do is not understood; all of it is TorchRL's to step then.
    """
    _require_plain(collector)
    envs, transforms = find_environments(collector.env)
    observed, stepping = vector_forms(transforms, envs.key)
    batched = bool(collector.env.batch_size)
    batch = collector._final_rollout
    keys = [envs.key, *(one.key for one in stepping)]
    policy = find_policy(collector._wrapped_policy, [*keys, *ENDS], collector.env.batch_size)
    found = _require_keys(batch, keys, policy.writes, compact=set(collector._compact_next_keys))
    now = {key: collector._carrier.get(key) for key in keys}
    for key, tensor in now.items():
        require(tensor.dtype == batch.get(key).dtype, f"{key} is {tensor.dtype} and is kept as {batch.get(key).dtype}")
    raw = None
    if observed is not None:
        raw = np.zeros((len(envs), *envs.shape), envs.dtype), observed
    reward = np.zeros((len(envs), 1), batch.get(("next", "reward")).numpy().dtype)
    frames = Frame(now, batched=batched), Frame(now, batched=batched)
    # Environments begin with no end, and go on from none.
    ends = {key: torch.zeros_like(collector._carrier.get(key)) for key in ENDS}
    return Loop(envs, raw, stepping, policy, found, frames, reward, ends, batched=batched)


def _require_plain(collector: Collector) -> None:
    devices = (collector.storing_device, collector.policy_device, collector.env_device)
    require(all(device in _CPU for device in devices), "frames are made or stored on another device than the CPU")
    require(not (collector.compiled_policy or collector.cudagraphed_policy), "the policy is compiled")
    require(collector.replay_buffer is None, "TorchRL's collector writes to a replay buffer itself")
    require(collector.trajs_per_batch is None, "whole trajectories are put together from several rollouts")
    require(collector.policy_version_tracker is None, "TorchRL's PolicyVersion writes to the frames")
    require(collector.track_traj_ids, "trajectories have no ids")
    require(collector._use_buffers, "the collector keeps no memory for a batch")
    require(len(collector.env.batch_size) <= 1, "environments have several batch dimensions")


def _require_keys(batch: Any, keys: list[str], writes: list[Any], compact: set[Any]) -> set[Any]:
    expected = {*keys, *ENDS, *writes, TRAJECTORY, ("next", "reward")}
    expected |= {("next", key) for key in (*keys, *ENDS)}
    found = set(batch.keys(True, True))
    unknown = found ^ (expected - compact)
    require(not unknown, f"frames have or lack {', '.join(sorted(map(str, unknown)))}")
    for key in found:
        tensor = batch.get(key)
        require(type(tensor) is torch.Tensor, f"{key} is a {type(tensor).__name__}")
        require(tensor.dtype not in (torch.bfloat16,), f"{key} is {tensor.dtype}, which no array has")
    return found

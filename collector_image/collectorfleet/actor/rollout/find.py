"""Find the fast loop for a collector, or the reason why the collector needs TorchRL's loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import torch
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import ProbabilisticTensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import GymLikeEnv, Transform

from collectorfleet.actor.rollout.device_loop import DeviceLoop
from collectorfleet.actor.rollout.environment_loop import EnvironmentLoop
from collectorfleet.actor.rollout.environments import find_environments
from collectorfleet.actor.rollout.exact import FastLoopUnsupported, require
from collectorfleet.actor.rollout.loop import Loop
from collectorfleet.actor.rollout.memory import ENDS, TRAJECTORY
from collectorfleet.actor.rollout.policies import Policy, find_policy
from collectorfleet.actor.rollout.stage import Stage
from collectorfleet.actor.rollout.structure import Structure, chain, containers, require_own_methods
from collectorfleet.actor.rollout.tensor_environment import TensorEnvironment, base_of
from collectorfleet.actor.rollout.transforms import BY_ITSELF, vector_forms
from collectorfleet.errors import with_article
from collectorfleet.torchrl_private.collectors import acting_policy, carrier_of, compact_keys, keeps_batch, kept_batch

CPU = (None, torch.device("cpu"))


class ChosenLoop(NamedTuple):
    """A loop, and the structure that environment and policy had when the loop was chosen."""

    loop: Loop | DeviceLoop | EnvironmentLoop
    structure: Structure


def find_loop(collector: Collector) -> ChosenLoop:
    """Return the fast loop for a collector. Call this between two rollouts.

    Raises:
        FastLoopUnsupported: the fast loops do not support the policy or an option. The collector has to use TorchRL's
            loop.
    """
    _require_plain(collector)
    if _device_of_environment(collector).type != "cpu":
        return find_tensor_loop(collector)
    require(collector.storing_device in CPU, "frames are stored on a device other than the environment's")
    _bring_to_cpu(kept_batch(collector))
    try:
        return _found(collector, _find_whole_loop(collector), list(chain(collector.env)))
    except FastLoopUnsupported as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001  (the user's code may raise any error; the environment can step itself)
        why = f"inspecting it raised {type(error).__name__}: {error}"
    if not isinstance(base_of(collector.env), GymLikeEnv):  # a GymLikeEnv converts CPU arrays into tensors
        with suppress(FastLoopUnsupported):
            return find_tensor_loop(collector)
    return _found(collector, _find_environment_loop(collector, why), list(containers(collector.env)))


def find_tensor_loop(collector: Collector) -> ChosenLoop:
    """Return the loop for an environment that consists of batched tensors.

    Raises:
        FastLoopUnsupported: the environment does not consist of batched tensors, or replaces TorchRL's methods for a
            step.
    """
    loop = _find_device_loop(collector)
    all_of_it = chain(collector.env) if loop.records_steps else containers(collector.env)
    return _found(collector, loop, list(all_of_it), recorded=loop.records_steps)


def _found(
    collector: Collector, loop: Loop | DeviceLoop | EnvironmentLoop, environments: list[Any], *, recorded: bool = False
) -> ChosenLoop:
    policy_parts = list(loop.policy.modules)
    kept: list[Any] = []  # objects whose tensors a CUDA graph reads by address
    if recorded or loop.policy.is_recorded:
        # A replay uses values from the time of the recording, such as numbers in attributes. The structure includes all
        # inner modules, so that changes of such values are detected.
        policy_parts = list({id(inner): inner for one in policy_parts for inner in one.modules()}.values())
        kept = [*policy_parts, *(environments if recorded else [])]
    objects = [*environments, *policy_parts]
    require_own_methods(objects)

    def facts() -> list[Any]:
        policy = acting_policy(collector)
        # A replay uses the exploration type and the tensor addresses from the time of the recording. So a change of one
        # of them must be detected.
        read = [tensor.data_ptr() for tensor in _tensors_of(kept)]
        return [id(collector.env), id(policy), collector.exploration_type, read, *loop.methods_of_environments()]

    return ChosenLoop(loop, Structure(objects, facts, _tensors_read_once(objects)))


def _tensors_of(objects: Iterable[Any]) -> Iterator[torch.Tensor]:
    """Yield all parameters and buffers of ``objects``, and all other attributes that are tensors."""
    for one in objects:
        for values in (vars(one), *(vars(one).get(name, {}) for name in ("_parameters", "_buffers"))):
            yield from (value for value in values.values() if isinstance(value, torch.Tensor))


def _tensors_read_once(objects: list[Any]) -> Iterator[torch.Tensor]:
    """Yield the tensors that a loop reads only once: tensors in the settings of transforms and distributions."""
    for one in objects:
        values: Iterable[Any] = ()
        if isinstance(one, Transform) and type(one) in BY_ITSELF:
            values = one.buffers()
        elif isinstance(one, ProbabilisticTensorDictModule):
            values = one.distribution_kwargs.values()
        yield from (value for value in values if isinstance(value, torch.Tensor))


def _find_environment_loop(collector: Collector, why: str) -> EnvironmentLoop:
    env, batch = collector.env, kept_batch(collector)
    require(list(env.action_keys) == ["action"], "the action is not a single entry named 'action'")
    specs = (env.observation_spec, env.state_spec, env.full_done_spec)
    known = {key for spec in specs for key in spec.keys(True, True)}
    policy = _policy(collector, list(known), recorded=is_recorded(collector))
    keys = _tensors(batch)
    require(set(policy.writes) <= keys, "the batch lacks an entry that the policy writes")
    return EnvironmentLoop(policy, keys - {TRAJECTORY}, policy.reads, why)


def _find_device_loop(collector: Collector) -> DeviceLoop:
    """Return the loop for an environment that consists of batched tensors. The policy must be on the same device."""
    device, policy_device = _device_of_environment(collector), _device_of_policy(collector)
    require(policy_device in (None, device), f"the environment is on {device} and the policy on {policy_device}")
    storing = collector.storing_device
    require(storing in CPU or _with_index(storing) == device, f"frames are stored on {storing}")
    envs = TensorEnvironment(collector.env)
    recorded = is_recorded(collector)
    policy = _policy(collector, envs.keys, recorded=recorded and envs.capture_problem is not None)
    keys = _tensors(kept_batch(collector))
    nested = [key for key in policy.writes if not isinstance(key, str)]
    require(not nested, "the policy writes a nested entry")
    known = {*envs.keys, *policy.writes, *collector.env.reward_keys, "action", TRAJECTORY}
    kept = {*keys, *carrier_of(collector).keys(True, True)}
    unknown = [key for key in kept - known if key != "collector" and not (isinstance(key, tuple) and key[0] == "next")]
    require(not unknown, f"no spec describes {', '.join(sorted(map(str, unknown)))}")
    require(set(policy.writes) <= keys, "the batch lacks an entry that the policy writes")
    return DeviceLoop(envs, policy, keys, device, records=recorded and envs.capture_problem is None)


def _device_of_environment(collector: Collector) -> torch.device:
    return _with_index(collector.env_device or collector.env.device or torch.device("cpu"))


def _device_of_policy(collector: Collector) -> torch.device | None:
    """Return the device of the policy. Return None if the collector sets no device and the policy has no tensors."""
    if collector.policy_device is not None:
        return _with_index(collector.policy_device)
    policy = acting_policy(collector)
    tensors = [*policy.parameters(), *policy.buffers()] if isinstance(policy, torch.nn.Module) else []
    return tensors[0].device if tensors else None


def _with_index(device: torch.device) -> torch.device:
    """Return ``device`` with its index, as tensors report it: ``cuda:0`` for ``cuda``."""
    return torch.empty(0, device=device).device


def _find_whole_loop(collector: Collector) -> Loop:
    require(len(collector.env.batch_size) <= 1, "environments have several batch dimensions")
    envs, transforms = find_environments(collector.env)
    observed, stepping = vector_forms(transforms, envs.key)
    require(
        not (envs.resets_itself and any(one.cuts for one in stepping)),
        "a transform truncates episodes, but a vector environment that resets itself ignores this",
    )
    batched = bool(collector.env.batch_size)
    batch = kept_batch(collector)
    keys = [envs.key, *(one.key for one in stepping)]
    policy = _policy(collector, [*keys, *ENDS], recorded=is_recorded(collector))
    found = _require_keys(batch, keys, policy.writes, compact=compact_keys(collector))
    now = {key: carrier_of(collector).get(key) for key in keys}
    for key, tensor in now.items():
        require(
            tensor.dtype == batch.get(key).dtype,
            f"{key} is {tensor.dtype}, but the batch stores it as {batch.get(key).dtype}",
        )
    raw = None
    if observed is not None:
        raw = np.zeros((len(envs), *envs.shape), envs.dtype), observed
    outputs = {key: batch.get(key).select(batch.ndim - 1, 0) for key in policy.writes}
    acts, spec = outputs.get("action"), collector.env.full_action_spec["action"]
    require(acts is None or acts.shape == spec.shape, "the policy's action has another shape than the action spec")
    reward = batch.get(("next", "reward")).select(batch.ndim - 1, 0)
    stage = Stage(now, policy.reads, outputs, reward, batched=batched)
    # At the start of a step these entries are always False, because every ended environment has been reset.
    ends = {key: torch.zeros_like(carrier_of(collector).get(key)) for key in ENDS if key in policy.reads}
    return Loop(envs, raw, stepping, policy, found, stage, ends, batched=batched)


def is_recorded(collector: Collector) -> bool:
    """Return whether the loop has to record the policy as a CUDA graph.

    Raises:
        FastLoopUnsupported: the collector requests options that only TorchRL's recorder supports.
    """
    # If CUDA is not available, TorchRL's recorder logs a warning, and calls the policy without a graph.
    if not (collector.cudagraphed_policy and torch.cuda.is_available()):
        return False
    device = collector.policy_device
    require(device is not None and device.type == "cuda", "cudagraph_policy records a policy that is on the CPU")
    require(not collector.cudagraphed_policy_kwargs, "cudagraph_policy has options of TorchRL's recorder")
    return True


def _policy(collector: Collector, known: list[Any], *, recorded: bool) -> Policy:
    policy, device = acting_policy(collector), collector.policy_device
    beside = None if device is None or _with_index(device) == _device_of_environment(collector) else device
    found = find_policy(policy, known, collector.env.batch_size, beside)
    if collector.compiled_policy:
        found.compile(**collector.compiled_policy_kwargs)
    if recorded:
        found.record()
    return found


def _require_plain(collector: Collector) -> None:
    require(collector.replay_buffer is None, "TorchRL's collector writes to a replay buffer itself")
    require(collector.trajs_per_batch is None, "whole trajectories are assembled from several rollouts")
    require(collector.policy_version_tracker is None, "TorchRL's PolicyVersion writes to the frames")
    require(collector.track_traj_ids, "trajectories have no ids")
    require(keeps_batch(collector), "the collector has no preallocated batch")


def _require_keys(batch: Any, keys: list[str], writes: list[Any], compact: set[Any]) -> set[Any]:
    expected = {*keys, *ENDS, *writes, TRAJECTORY, ("next", "reward")}
    expected |= {("next", key) for key in (*keys, *ENDS)}
    found = _tensors(batch)
    unknown = found ^ (expected - compact)
    require(
        not unknown,
        f"the entries of the frames differ from the expected entries: {', '.join(sorted(map(str, unknown)))}",
    )
    for key in found:
        dtype = batch.get(key).dtype
        require(dtype is not torch.bfloat16, f"{key} is {dtype}, which NumPy does not support")
    return found


def _bring_to_cpu(batch: TensorDictBase) -> None:
    """Move the entries of the batch to the CPU, because the collector sends frames from CPU memory.

    TorchRL may have allocated the policy's outputs on another device.
    """
    for key, entry in batch.items(True, True):
        if isinstance(entry, torch.Tensor) and entry.device.type != "cpu":
            batch.set(key, entry.cpu())


def _tensors(batch: TensorDictBase) -> set[Any]:
    """Return the keys of a batch. Raise FastLoopUnsupported if an entry is no tensor."""
    for key, entry in batch.items(True):
        require(type(entry) in (torch.Tensor, TensorDict), f"{key} is {with_article(type(entry).__name__)}")
    return set(batch.keys(True, True))

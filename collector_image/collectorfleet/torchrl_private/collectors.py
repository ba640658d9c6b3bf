"""Private names of TorchRL's collectors of one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tensordict import TensorDictBase
from torch import Tensor, nn
from torchrl._utils import _check_for_faulty_process, compile_with_warmup
from torchrl.collectors import Collector

__all__ = ["compile_with_warmup"]  # Compiles a policy when TorchRL's collector would, after as many calls.

# TorchRL raises the death of a process of a collector here, with nothing in the error that says so.
PROCESS_CHECK = _check_for_faulty_process.__code__


# -------------------------------------------------------------- rollouts
def carrier_of(collector: Collector) -> TensorDictBase:
    """Return the TensorDict that the next step begins with: a loop of ours begins and ends where TorchRL's does."""
    carrier: TensorDictBase = collector._carrier
    return carrier


def set_carrier(collector: Collector, carrier: TensorDictBase) -> None:
    """Have the next step begin with ``carrier``."""
    collector._carrier = carrier


def make_carrier(collector: Collector) -> None:
    """Reset the environment into a new carrier. A transform may have changed which entries there are."""
    collector._make_carrier()


def lacks_device(collector: Collector) -> bool:
    """Return whether TorchRL's carrier has no device, so that its frames have none either."""
    return bool(collector._carrier_has_no_device)


def casts_to_environment(collector: Collector) -> bool:
    """Return whether TorchRL moves what an environment is given to the environment's device."""
    return bool(collector._cast_to_env_device)


def keeps_batch(collector: Collector) -> bool:
    """Return whether the collector reuses the memory of a batch, into which a loop of ours can write."""
    return bool(collector._use_buffers)


def kept_batch(collector: Collector) -> TensorDictBase:
    """Return the memory of the batch, ``[*environments, steps]``: a loop of ours writes where TorchRL's does."""
    batch: TensorDictBase = collector._final_rollout
    return batch


def set_kept_batch(collector: Collector, batch: TensorDictBase) -> None:
    """Have rollouts written into ``batch``: requests differ in their frames, and a rollout may have two loops."""
    collector._final_rollout = batch


def make_kept_batch(collector: Collector) -> None:
    """Make the memory of the batch anew. A transform may have changed which entries there are."""
    collector._maybe_make_final_rollout(make_rollout=keeps_batch(collector))


def set_frames(collector: Collector, frames: int) -> None:
    """Have each rollout make ``frames`` frames: TorchRL fixes the number when it builds a collector."""
    collector._setup_frames_per_batch(frames)


def frames_so_far(collector: Any) -> int:
    """Return how many frames were collected: TorchRL compares ``init_random_frames`` with this number."""
    frames: int = collector._frames
    return frames


def draws_random_actions(collector: Collector) -> bool:
    """Return whether the next rollout asks no policy: TorchRL's rule for ``init_random_frames``."""
    return bool(collector._should_use_random_frames())


def compact_keys(collector: Collector) -> set[Any]:
    """Return the keys that a batch leaves out of ``next``: a loop of ours must leave out the same."""
    return set(collector._compact_next_keys)


def truncated_at_end(collector: Collector, batch: TensorDictBase) -> TensorDictBase:
    """Return ``batch`` with its last step truncated if the collector's option ``set_truncated`` says so."""
    truncated: TensorDictBase = collector._maybe_set_truncated(batch)
    return truncated


# -------------------------------------------------------------- trajectories
def new_trajectories(collector: Collector, count: int, device: torch.device | None = None) -> Tensor:
    """Return ``[count]`` new ids: from TorchRL's numbers, so that its loop can go on after ours."""
    ids: Tensor = collector._traj_pool.get_traj_and_increment(count, device=device)
    return ids


def update_trajectories(collector: Collector, output: TensorDictBase) -> None:
    """Give new ids to the environments that a step ended, as TorchRL's own loop does."""
    collector._update_traj_ids(output)


def start_trajectories(collector: Collector) -> None:
    """Give new ids to all environments: they were reset between two rollouts."""
    collector._start_new_trajectories()


# -------------------------------------------------------------- the policy
def acting_policy(collector: Collector) -> Any:
    """Return the policy as TorchRL calls it, before it is compiled or recorded: its modules say what is called."""
    return collector._wrapped_policy_uncompiled


def recorded_policy(collector: Collector) -> Callable[[TensorDictBase], Any]:
    """Return the policy as TorchRL compiles and records it; to read it may do both."""
    policy: Callable[[TensorDictBase], Any] = collector._wrapped_policy
    return policy


def set_recorded_policy(collector: Collector, policy: Callable[[TensorDictBase], Any]) -> None:
    """Have TorchRL's loop call ``policy``. A hook of a recorded policy would run only while it is recorded."""
    collector._wrapped_policy_maybe_compiled = policy


def policy_writes(collector: Any) -> set[Any]:
    """Return the keys that the policy writes; nothing where the collector has processes, which know them."""
    writes: set[Any] = getattr(collector, "_policy_output_keys", set())
    return writes


def allow_no_weights(collector: Collector) -> None:
    """Have a collector without weights load a state: TorchRL's refuses any state where the policy has none."""
    if not hasattr(collector, "_policy_w_state_dict"):
        collector._policy_w_state_dict = nn.Module()

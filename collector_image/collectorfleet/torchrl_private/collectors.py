"""Private names of TorchRL's single-process collectors."""

from __future__ import annotations

import dis
from collections.abc import Callable
from types import CodeType
from typing import Any

import torch
from tensordict import TensorDictBase
from torch import Tensor, nn
from torchrl._utils import _check_for_faulty_process, compile_with_warmup
from torchrl.collectors import Collector

__all__ = ["compile_with_warmup"]  # Compiles a policy after the same number of calls as TorchRL's collector.

# The code that raises an error if a process of a collector has died. The error itself does not show this cause.
PROCESS_CHECK = _check_for_faulty_process.__code__


def called_option(code: CodeType, line: int) -> str | None:
    """Return the option whose function this line of a TorchRL collector calls, or None if it calls no such function."""
    # Collectors store the user's functions in these attributes. Each attribute has its option as the value.
    options = {
        "pre_collect_hook": "pre_collect_hook",
        "post_collect_hook": "post_collect_hook",
        "postproc": "postproc",
        "_postproc_per_device": "postproc",
    }
    names = (one.argval for one in dis.get_instructions(code) if one.positions and one.positions.lineno == line)
    return next((options[name] for name in names if isinstance(name, str) and name in options), None)


# -------------------------------------------------------------- rollouts
def carrier_of(collector: Collector) -> TensorDictBase:
    """Return the carrier. The next step begins with this TensorDict.

    The fast loop also begins and ends with this TensorDict.
    """
    carrier: TensorDictBase = collector._carrier
    return carrier


def set_carrier(collector: Collector, carrier: TensorDictBase) -> None:
    """Make the next step begin with ``carrier``."""
    collector._carrier = carrier


def make_carrier(collector: Collector) -> None:
    """Reset the environment into a new carrier. A new transform may have changed the entries."""
    collector._make_carrier()


def lacks_device(collector: Collector) -> bool:
    """Return whether TorchRL's carrier has no device. TorchRL's frames then have no device either."""
    return bool(collector._carrier_has_no_device)


def casts_to_environment(collector: Collector) -> bool:
    """Return whether TorchRL moves the inputs of an environment to the environment's device."""
    return bool(collector._cast_to_env_device)


def keeps_batch(collector: Collector) -> bool:
    """Return whether the collector reuses the memory of a batch, so that the fast loop can write into it."""
    return bool(collector._use_buffers)


def kept_batch(collector: Collector) -> TensorDictBase:
    """Return the memory of the batch, ``[*environments, steps]``. The fast loop and TorchRL's loop write into it."""
    batch: TensorDictBase = collector._final_rollout
    return batch


def set_kept_batch(collector: Collector, batch: TensorDictBase) -> None:
    """Make rollouts write into ``batch``.

    The memory changes if a request has another number of frames, or if TorchRL's loop continues a rollout of the fast
    loop.
    """
    collector._final_rollout = batch


def make_kept_batch(collector: Collector) -> None:
    """Create new memory for the batch. A new transform may have changed the entries."""
    collector._maybe_make_final_rollout(make_rollout=keeps_batch(collector))


def set_frames(collector: Collector, frames: int) -> None:
    """Set the number of frames of each rollout. TorchRL sets this number only when it builds a collector."""
    collector._setup_frames_per_batch(frames)


def frames_so_far(collector: Any) -> int:
    """Return the number of collected frames. TorchRL compares ``init_random_frames`` with this number."""
    frames: int = collector._frames
    return frames


def draws_random_actions(collector: Collector) -> bool:
    """Return whether the next rollout uses random actions, by TorchRL's rule for ``init_random_frames``."""
    return bool(collector._should_use_random_frames())


def compact_keys(collector: Collector) -> set[Any]:
    """Return the keys that ``next`` lacks in a batch. The fast loop has to omit the same keys."""
    return set(collector._compact_next_keys)


def truncated_at_end(collector: Collector, batch: TensorDictBase) -> TensorDictBase:
    """Return ``batch``. If the collector's option ``set_truncated`` is set, mark the last step as truncated."""
    truncated: TensorDictBase = collector._maybe_set_truncated(batch)
    return truncated


# -------------------------------------------------------------- trajectories
def new_trajectories(collector: Collector, count: int, device: torch.device | None = None) -> Tensor:
    """Return new ids ``[count]`` from TorchRL's pool, so that TorchRL's loop can continue after the fast loop."""
    ids: Tensor = collector._traj_pool.get_traj_and_increment(count, device=device)
    return ids


def update_trajectories(collector: Collector, output: TensorDictBase) -> None:
    """Give new ids to environments whose trajectory ended with a step, as TorchRL's loop does."""
    collector._update_traj_ids(output)


def start_trajectories(collector: Collector) -> None:
    """Give new ids to all environments, after a reset between two rollouts."""
    collector._start_new_trajectories()


# -------------------------------------------------------------- the policy
def acting_policy(collector: Collector) -> Any:
    """Return the policy without TorchRL's compilation and without a recorded CUDA graph.

    Callers inspect the modules of this policy.
    """
    return collector._wrapped_policy_uncompiled


def recorded_policy(collector: Collector) -> Callable[[TensorDictBase], Any]:
    """Return the policy after compilation and recording as a CUDA graph, if the options require these steps.

    Reading this attribute may compile and record the policy.
    """
    policy: Callable[[TensorDictBase], Any] = collector._wrapped_policy
    return policy


def set_recorded_policy(collector: Collector, policy: Callable[[TensorDictBase], Any]) -> None:
    """Make TorchRL's loop call ``policy``.

    A hook is not enough, because a hook of a recorded policy would run only during the recording.
    """
    collector._wrapped_policy_maybe_compiled = policy


def policy_writes(collector: Any) -> set[Any]:
    """Return the keys that the policy writes.

    The set is empty for a collector with processes, because only the processes know the keys.
    """
    writes: set[Any] = getattr(collector, "_policy_output_keys", set())
    return writes


def allow_no_weights(collector: Collector) -> None:
    """Allow a collector without weights to load a state. TorchRL's collector otherwise rejects every state."""
    if not hasattr(collector, "_policy_w_state_dict"):
        collector._policy_w_state_dict = nn.Module()

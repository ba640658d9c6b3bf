"""Private names of TorchRL's environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tensordict import TensorDictBase
from torchrl.envs import EnvBase, GymWrapper, ParallelEnv, SerialEnv

# The entry that says which environments to reset. Users meet it in TorchRL's documentation.
RESET_KEY: Final = "_reset"
# What a loop of ours calls instead of `step_and_maybe_reset`. An environment with methods of its own may differ there.
STEPPING: Final = (
    *("step", "_step_and_maybe_reset", "step_and_maybe_reset", "_complete_done"),
    *("maybe_reset", "any_done", "reset", "_reset_check_done", "_native_autoreset_set_invalid_next_observation"),
    "rand_action",
)
# Methods that an environment may define, and TorchRL calls on the results of a step and of a reset.
PROCESSING: Final = ("_step_proc_data", "_reset_proc_data")
# Set by TorchRL on an environment: how it resets itself, whether it compiles its step.
SETTINGS: Final = (
    *("_torchrl_native_autoreset", "_allow_done_after_reset", "_post_step_mdp_hooks", "run_type_checks"),
    "_compiled_step_and_maybe_reset",
)
# Methods after which an environment is no longer where the last observation was made, below the public ones.
CHANGE_STATE: Final = ("_step", RESET_KEY, "_set_seed")
# TorchRL's callable that sends a method's call to the processes of a ParallelEnv. Nothing public shows such a call.
PROCESS_CALL: Final = "_dispatch_caller_parallel"
# What environments and transforms cache, and no choice of a loop depends on.
CACHES: Final = frozenset({"_cache", "_parent", "_container", "_seed_calls_reset"})


# -------------------------------------------------------------- steps
def call_step(env: EnvBase, given: TensorDictBase) -> TensorDictBase:
    """Step without the additional work of ``EnvBase.step``, which launches many kernels."""
    reached: TensorDictBase = env._step(given)
    return reached


def call_reset(env: EnvBase, given: TensorDictBase, **options: Any) -> TensorDictBase:
    """Reset without the additional work of ``EnvBase.reset``, which reads the device."""
    begun: TensorDictBase = env._reset(given, **options)
    return begun


def reset_options(env: EnvBase) -> dict[str, Any]:
    """Return the arguments with which TorchRL resets an environment in a step: one that sets states, sets none."""
    return {"set_state": False} if env._supports_set_state else {}


def step_rules(env: EnvBase) -> Any:
    """Return TorchRL's rules for which keys a step carries on: ``observation_keys``, ``state_keys``, ``done_keys``."""
    return env._step_mdp


def resets_itself(env: EnvBase) -> bool:
    """Return whether TorchRL takes the environment for one that resets itself in its step."""
    return bool(vars(env).get("_torchrl_native_autoreset", False))


def has_own_reset_hook(env: EnvBase) -> bool:
    """Return whether an environment that resets itself has a hook for it: the hook is called only then."""
    return bool(type(env)._reset_on_native_autoreset is not EnvBase._reset_on_native_autoreset)


def call_reset_hook(env: EnvBase, following: TensorDictBase, output: TensorDictBase) -> TensorDictBase:
    """Call the hook of an environment that has reset itself."""
    after: TensorDictBase = env._reset_on_native_autoreset(following, output)
    return after


# -------------------------------------------------------------- what an environment allows
def compiles_step(env: EnvBase) -> bool:
    """Return whether TorchRL has compiled the environment's step: a loop of ours would not call the compiled one."""
    return "_compiled_step_and_maybe_reset" in vars(env)


def allows_done_after_reset(env: EnvBase) -> bool:
    """Return whether an episode may be over when it begins, which TorchRL refuses otherwise."""
    return bool(env._allow_done_after_reset)


def hooks_after_step(env: Any) -> Any:
    """Return the hooks that an environment calls after each step, or None if it has no hooks."""
    return env._post_step_mdp_hooks


def has_dynamic_specs(env: EnvBase) -> bool:
    """Return whether a spec has a size that varies, so that no memory for a batch fits."""
    return bool(env._has_dynamic_specs)


def has_simple_ends(env: EnvBase) -> bool:
    """Return whether an environment has nothing but ``done``, ``terminated`` and ``truncated`` at its root."""
    return bool(env._simple_done)


# -------------------------------------------------------------- what is inside
def environments_of(env: SerialEnv) -> Sequence[EnvBase]:
    """Return the environments of a SerialEnv that has started: their transforms are read and stepped one by one."""
    inner: Sequence[EnvBase] = env._envs
    return inner


def are_alike(env: SerialEnv | ParallelEnv) -> bool:
    """Return whether all inner environments are made alike, so that one of them speaks for all."""
    return bool(env._single_task)


def shares_buffers(env: SerialEnv) -> bool:
    """Return whether the inner environments write into common memory: without it, shapes may differ."""
    return bool(env._use_buffers)


def gymnasium_of(env: GymWrapper) -> Any:
    """Return the environment below the wrapper, which is stepped without it."""
    return env._env


def wrapped_by(env: EnvBase) -> Any:
    """Return the object that an environment wraps, of any library, or None if it wraps nothing."""
    return vars(env).get("_env")


def is_vector(env: EnvBase) -> bool:
    """Return whether the environment is a vector environment of Gymnasium, which resets in ways of its own."""
    return bool(getattr(env, "_is_batched", False))


def takes_arrays(env: GymWrapper) -> bool:
    """Return whether actions reach the environment as arrays of numpy."""
    return bool(env._convert_actions_to_numpy)

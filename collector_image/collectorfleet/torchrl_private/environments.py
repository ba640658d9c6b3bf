"""Private names of TorchRL's environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tensordict import TensorDictBase
from torchrl.envs import EnvBase, GymWrapper, ParallelEnv, SerialEnv

# The entry that selects the environments to reset. TorchRL's documentation describes it.
RESET_KEY: Final = "_reset"
# Methods that the fast loops do not call. If an environment overrides one of these methods, the environment may behave
# differently in a fast loop.
STEPPING: Final = (
    *("step", "_step_and_maybe_reset", "step_and_maybe_reset", "_complete_done"),
    *("maybe_reset", "any_done", "reset", "_reset_check_done", "_native_autoreset_set_invalid_next_observation"),
    "rand_action",
)
# Methods that TorchRL calls on the results of a step and of a reset. An environment may override them.
PROCESSING: Final = ("_step_proc_data", "_reset_proc_data")
# Attributes that TorchRL sets on an environment. They say, for example, how the environment resets itself, and whether
# it compiles its step.
SETTINGS: Final = (
    *("_torchrl_native_autoreset", "_allow_done_after_reset", "_post_step_mdp_hooks", "run_type_checks"),
    "_compiled_step_and_maybe_reset",
)
# Internal methods that change the state of an environment, so that the last observation is outdated.
CHANGE_STATE: Final = ("_step", RESET_KEY, "_set_seed")
# The class of TorchRL that sends a method call to the processes of a ParallelEnv. No public name shows such a call.
PROCESS_CALL: Final = "_dispatch_caller_parallel"
# Caches of environments and transforms, which do not affect the choice of a loop.
CACHES: Final = frozenset({"_cache", "_parent", "_container", "_seed_calls_reset"})


# -------------------------------------------------------------- steps
def call_step(env: EnvBase, given: TensorDictBase) -> TensorDictBase:
    """Step without ``EnvBase.step``. Its extra work would launch many kernels."""
    reached: TensorDictBase = env._step(given)
    return reached


def call_reset(env: EnvBase, given: TensorDictBase, **options: Any) -> TensorDictBase:
    """Reset without ``EnvBase.reset``. Its extra work would wait for the device."""
    begun: TensorDictBase = env._reset(given, **options)
    return begun


def reset_options(env: EnvBase) -> dict[str, Any]:
    """Return the arguments for a reset during a step, as TorchRL passes them. Such a reset does not set a state."""
    return {"set_state": False} if env._supports_set_state else {}


def step_rules(env: EnvBase) -> Any:
    """Return TorchRL's rules for the next step's keys: ``observation_keys``, ``state_keys``, ``done_keys``."""
    return env._step_mdp


def resets_itself(env: EnvBase) -> bool:
    """Return whether TorchRL assumes that the environment resets itself in its step."""
    return bool(vars(env).get("_torchrl_native_autoreset", False))


def has_own_reset_hook(env: EnvBase) -> bool:
    """Return whether the environment overrides the hook that TorchRL calls after the environment has reset itself."""
    return bool(type(env)._reset_on_native_autoreset is not EnvBase._reset_on_native_autoreset)


def call_reset_hook(env: EnvBase, following: TensorDictBase, output: TensorDictBase) -> TensorDictBase:
    """Call the hook of an environment that has reset itself."""
    after: TensorDictBase = env._reset_on_native_autoreset(following, output)
    return after


# -------------------------------------------------------------- what an environment allows
def compiles_step(env: EnvBase) -> bool:
    """Return whether TorchRL has compiled the environment's step. The fast loops would not call the compiled step."""
    return "_compiled_step_and_maybe_reset" in vars(env)


def allows_done_after_reset(env: EnvBase) -> bool:
    """Return whether an episode may be done right after its reset. TorchRL rejects this by default."""
    return bool(env._allow_done_after_reset)


def hooks_after_step(env: Any) -> Any:
    """Return the hooks that an environment calls after each step, or None if it has no hooks."""
    return env._post_step_mdp_hooks


def has_dynamic_specs(env: EnvBase) -> bool:
    """Return whether a spec has a variable size, so that a batch cannot have fixed memory."""
    return bool(env._has_dynamic_specs)


def has_simple_ends(env: EnvBase) -> bool:
    """Return whether an environment's only end flags are ``done``, ``terminated`` and ``truncated`` at the root."""
    return bool(env._simple_done)


# -------------------------------------------------------------- what is inside
def environments_of(env: SerialEnv) -> Sequence[EnvBase]:
    """Return the inner environments of a started SerialEnv, to read their transforms and step them one by one."""
    inner: Sequence[EnvBase] = env._envs
    return inner


def are_alike(env: SerialEnv | ParallelEnv) -> bool:
    """Return whether all inner environments are built alike, so that it is enough to inspect one."""
    return bool(env._single_task)


def shares_buffers(env: SerialEnv) -> bool:
    """Return whether the inner environments write into common memory. Without common memory, shapes may differ."""
    return bool(env._use_buffers)


def gymnasium_of(env: GymWrapper) -> Any:
    """Return the environment inside the wrapper. The fast loop steps this environment directly."""
    return env._env


def wrapped_by(env: EnvBase) -> Any:
    """Return the object that an environment wraps, or None. The object may belong to any library."""
    return vars(env).get("_env")


def is_vector(env: EnvBase) -> bool:
    """Return whether the environment is a vector environment of Gymnasium, which has its own rules for resets."""
    return bool(getattr(env, "_is_batched", False))


def takes_arrays(env: GymWrapper) -> bool:
    """Return whether the environment gets actions as numpy arrays."""
    return bool(env._convert_actions_to_numpy)

"""Find the statistics of an environment and of all inner environments.

Reject unsupported statistics with an error that names them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, Final

from torchrl.envs import Compose, EnvBase, ParallelEnv, SerialEnv, Transform, TransformedEnv, VecNormV2
from torchrl.envs.transforms import RNDTransform

from collectorfleet.actor.normalization.transforms import Kept, kept_by
from collectorfleet.errors import InvalidOption
from collectorfleet.torchrl_private.environments import are_alike, environments_of
from collectorfleet.torchrl_private.transforms import keys_of_vec_norm_v2

_INSTEAD: Final = "freeze the transform (freeze()), or make it constant (to_observation_norm())"


def find(env: EnvBase) -> dict[str, list[Kept]]:
    """Return all statistics of an environment by name.

    If several equal environments step together, as in a SerialEnv, each name has one item for each environment.
    Environments that share memory count once.

    Raises:
        InvalidOption: the environment has statistics that cannot be read.
    """
    found: dict[str, list[Kept]] = {}
    for name, kept in _in(env, ""):
        there = found.setdefault(name, [])
        # Environments of the same EnvCreator share the memory of their statistics. List this memory only once.
        if all(other.identity != kept.identity for other in there):
            there.append(kept)
    return found


def build_without_running_statistics(create: Callable[..., EnvBase], **arguments: Any) -> EnvBase:
    """Build an environment for a collector with several processes.

    Such an environment cannot share running statistics with the fleet.

    Raises:
        InvalidOption: the transforms of the environment keep running statistics.
    """
    env = create if isinstance(create, EnvBase) else create(**arguments)
    _refuse_running(env, "environments in separate processes", "Use envs_per_collector")
    return env


def transforms_of(env: EnvBase) -> Iterator[Transform]:
    """Yield all transforms of an environment of this process.

    For a `SerialEnv`, yield the transforms of each environment.
    """
    match env:
        case TransformedEnv():
            yield from transforms_of(env.base_env)
            yield from _flat(env.transform)
        case SerialEnv():
            if env.is_closed:
                env.start()
            for inner in environments_of(env):
                yield from transforms_of(inner)


def _in(env: EnvBase, place: str) -> Generator[tuple[str, Kept], None, int]:
    """Yield each name with its statistics. Return the number of transforms.

    The numbers of the transforms begin at the innermost transform. So transforms that are added outside do not change a
    name.
    """
    index = 0
    match env:
        case TransformedEnv():
            index = yield from _in(env.base_env, place)
            for transform in _flat(env.transform):
                _refuse_unknown(transform)
                for key, kept in kept_by(transform).items():
                    yield f"{place}{index}.{type(transform).__name__}.{key}", kept
                index += 1
        case SerialEnv():
            if env.is_closed:
                env.start()
            for number, inner in enumerate(environments_of(env)):
                index = yield from _in(inner, place if are_alike(env) else f"{place}env{number}.")
        case ParallelEnv():
            _look_into_processes(env)
    return index


def _flat(transform: Transform) -> Iterator[Transform]:
    if isinstance(transform, Compose):
        for inner in transform.transforms:
            yield from _flat(inner)
    else:
        yield transform


def _refuse_unknown(transform: Transform) -> None:
    if isinstance(transform, VecNormV2) and not transform.stateful and not transform.frozen:
        keys = ", ".join(map(str, keys_of_vec_norm_v2(transform)))
        raise InvalidOption(
            f"{type(transform).__name__} ({keys}): with stateful=False, each environment has separate statistics, "
            "which a restarted collector loses; leave stateful out"
        )
    if isinstance(transform, RNDTransform) and (transform.normalize_obs or transform.normalize_reward):
        keys = ", ".join(map(str, transform.in_keys))
        raise InvalidOption(
            f"{type(transform).__name__} ({keys}): each collector would have separate running means; turn the "
            "running means off (normalize_obs=False, normalize_reward=False), or apply the transform to the batches"
        )


def _look_into_processes(env: ParallelEnv) -> None:
    """Reject running statistics of environments in separate processes.

    This process cannot inspect an environment in another process. So this function builds one environment of each kind
    in this process, inspects it and closes it.
    """
    count = 1 if are_alike(env) else env.num_workers
    for create, arguments in list(zip(env.create_env_fn, env.create_env_kwargs, strict=True))[:count]:
        one = create(**arguments)
        try:
            _refuse_running(one, "a ParallelEnv", "Use envs_per_collector, use SerialEnv")
        finally:
            one.close(raise_if_closed=False)


def _refuse_running(env: EnvBase, where: str, instead: str) -> None:
    for name, kept in find(env).items():
        if any(one.is_updated_by_steps for one in kept):
            raise InvalidOption(
                f"{name}: running statistics in {where} cannot be sent to other collectors. {instead}, {_INSTEAD}"
            )

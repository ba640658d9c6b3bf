"""Seed the processes that a collector starts for environments. A process is seeded before it builds its environment.

:mod:`collectorfleet.actor.seeds` seeds forked processes only. TorchRL spawns processes, so they need this module.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from torchrl.envs import EnvBase, ParallelEnv, SerialEnv, TransformedEnv

from collectorfleet.actor.parameters.environments import answer_in_process
from collectorfleet.actor.seeds import Seeds
from collectorfleet.errors import InvalidOption
from collectorfleet.parameters import EnvironmentParameters
from collectorfleet.torchrl_private.environments import environments_of
from collectorfleet.torchrl_private.transforms import forget_steps_at_full_resets


def seeding(create: Any, seeds: Seeds, parameters: EnvironmentParameters | None = None) -> Callable[..., Any]:
    """Return a factory that seeds its process, and then builds an environment with ``create``.

    If the process that calls :func:`seeding` also calls the factory, the factory does not seed this process. If
    ``parameters`` are given, the process with the ``ParallelEnv`` can send parameters to the environment.
    """
    return partial(_build, create, seeds, parameters, os.getpid())


def prepare_workers(env: EnvBase, seeds: Seeds, parameters: EnvironmentParameters | None = None) -> None:
    """Make each ``ParallelEnv`` in ``env`` seed the processes that it starts later. Running processes do not change.

    Raises:
        InvalidOption: ``parameters`` are given, but the processes are already running.
    """
    numbers = itertools.count()
    for one in _parallel(env):
        if one.is_closed:
            workers = (seeds.of_worker(next(numbers)) for _ in one.create_env_fn)
            one.create_env_fn = [
                seeding(create, of, parameters) for create, of in zip(one.create_env_fn, workers, strict=True)
            ]
        elif parameters is not None:
            raise InvalidOption(
                "environment_parameters: the factory has started its ParallelEnv, whose processes can no longer get "
                "parameters; do not reset or step the environment in the factory"
            )


def _build(
    create: Any, seeds: Seeds, parameters: EnvironmentParameters | None, begun_by: int, /, **arguments: Any
) -> Any:
    # TorchRL also builds one environment in the collector's own process, to read the specs. This process must not be
    # seeded again.
    apart = os.getpid() != begun_by
    if apart:
        forget_steps_at_full_resets()
        seeds.seed_process()
    env = create if isinstance(create, EnvBase) else create(**arguments)
    if apart:
        prepare_workers(env, seeds, parameters)
        if parameters is not None:
            answer_in_process(env, parameters)
    return env


def _parallel(env: EnvBase) -> Iterator[ParallelEnv]:
    match env:
        case TransformedEnv():
            yield from _parallel(env.base_env)
        case SerialEnv() if not env.is_closed:
            for inner in environments_of(env):
                yield from _parallel(inner)
        case ParallelEnv():
            yield env

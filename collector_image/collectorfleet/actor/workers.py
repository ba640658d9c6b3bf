"""Environments in processes that a collector starts: each process is seeded before it builds its environment.

Processes that are forked are seeded by :mod:`collectorfleet.actor.seeds` in any case; TorchRL spawns its own.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from torchrl.envs import EnvBase, ParallelEnv, SerialEnv, TransformedEnv

from collectorfleet.actor.seeds import Seeds


def seeding(create: Any, seeds: Seeds) -> Callable[..., Any]:
    """Return what builds the environment that ``create`` builds or is, and seeds the process in which it does so."""
    return partial(_build, create, seeds, os.getpid())


def seed_workers(env: EnvBase, seeds: Seeds) -> None:
    """Have each ``ParallelEnv`` in ``env`` seed its processes; those that run already stay as they are."""
    numbers = itertools.count()
    for one in _parallel(env):
        if one.is_closed:
            one.create_env_fn = [seeding(create, seeds.of_worker(next(numbers))) for create in one.create_env_fn]


def _build(create: Any, seeds: Seeds, begun_by: int, /, **arguments: Any) -> Any:
    # TorchRL builds one in the collector's own process as well, to look at its specs.
    apart = os.getpid() != begun_by
    if apart:
        seeds.seed_process()
    env = create if isinstance(create, EnvBase) else create(**arguments)
    if apart:
        seed_workers(env, seeds)
    return env


def _parallel(env: EnvBase) -> Iterator[ParallelEnv]:
    match env:
        case TransformedEnv():
            yield from _parallel(env.base_env)
        case SerialEnv() if not env.is_closed:
            for inner in env._envs:
                yield from _parallel(inner)
        case ParallelEnv():
            yield env

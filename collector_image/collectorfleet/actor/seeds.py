"""Seed torch, numpy, Python's ``random`` and environments in collectors. No other module may seed them.

A forked process inherits the state of the random generators, and some transports fork all collectors from one process.
In a new process, torch always starts with the same seed. Without new seeds, all collectors would draw the same numbers.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import torch

# These numbers mark the kind of a process in a path: a forked process, or a process that builds an environment. The
# next entry of the path is the index of the process.
_FORKED: Final = 0
_WORKER: Final = 1
_WORDS: Final = 8


@dataclass(frozen=True, slots=True)
class Seeds:
    """The seeds of one process of a collector. Two processes have equal seeds only if all fields are equal.

    Args:
        fleet: the seed of the fleet, at least 0.
        collector: the index of the collector's slot.
        generation: the number of earlier collectors of the slot. A restarted collector gets new seeds.
        path: the position of the process below the collector's main process. The path of the main process is empty.
    """

    fleet: int
    collector: int
    generation: int
    path: tuple[int, ...] = ()

    def of_worker(self, number: int) -> Seeds:
        """Return the seeds of worker process ``number``.

        A worker process builds and steps an environment for this process.
        """
        return replace(self, path=(*self.path, _WORKER, number))

    def of_fork(self, number: int) -> Seeds:
        """Return the seeds of the ``number``-th process that this process forks."""
        return replace(self, path=(*self.path, _FORKED, number))

    @property
    def environment(self) -> int:
        """The seed for TorchRL's ``set_seed``.

        The seed is below 2**31, because some simulators accept no larger seeds.
        """
        *_, environment = self._sequences()
        return int(environment.generate_state(1)[0]) % 2**31

    def seed_process(self) -> None:
        """Seed the global generators of torch, numpy and ``random`` in this process. Later forks get derived seeds."""
        global _here, _forks
        _here, _forks = self, 0
        _seed_generators(*self._sequences()[:3])

    def _sequences(self) -> list[np.random.SeedSequence]:
        """Return the seed sequences of torch, numpy, ``random`` and the environment."""
        key = (self.collector, self.generation, *self.path)
        return np.random.SeedSequence(self.fleet, spawn_key=key).spawn(4)


def seed_everything(seed: int) -> None:
    """Seed the global generators of torch, numpy and ``random`` in this process, for one episode."""
    _seed_generators(*np.random.SeedSequence(seed).spawn(3))


def seed_of_batch(seed: int, environments: int) -> int:
    """Return the seed for TorchRL's ``set_seed`` of an environment, for the episodes of ``seed``.

    In a batch, Gymnasium gives row ``i`` the result plus ``i``. So the rows of two seeds get different numbers. Very
    large seeds are an exception: by chance, some rows may get equal numbers. A single environment gets ``seed`` itself.
    """
    return seed if environments == 1 else seed * environments % (2**31 - environments)


@contextmanager
def unchanged_generators() -> Iterator[None]:
    """At the end of the context, restore the generators of torch (on the CPU), numpy and ``random``."""
    numpys, pythons = np.random.get_state(), random.getstate()
    with torch.random.fork_rng(devices=[]):
        try:
            yield
        finally:
            np.random.set_state(numpys)
            random.setstate(pythons)


def _seed_generators(
    for_torch: np.random.SeedSequence, for_numpy: np.random.SeedSequence, for_random: np.random.SeedSequence
) -> None:
    torch.manual_seed(int(for_torch.generate_state(1, np.uint64)[0]))
    np.random.seed(for_numpy.generate_state(_WORDS))
    random.seed(for_random.generate_state(_WORDS).tobytes())


# The seeds of a collector outside a fleet.
ALONE: Final = Seeds(fleet=0, collector=0, generation=0)

# The seeds of this process (None: the process belongs to no collector), and the number of forks since seeding.
_here: Seeds | None = None
_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


def _seed_fork() -> None:
    # Vector environments, such as Gymnasium's, fork workers. Without new seeds, all workers would draw the same
    # numbers.
    if _here is not None:
        _here.of_fork(_forks).seed_process()


os.register_at_fork(before=_count_fork, after_in_child=_seed_fork)

"""The one place where the processes of collectors are seeded: torch, numpy, Python's ``random``, and environments.

Transports fork collectors from one process, and torch begins each process with the same seed: collectors that are not
seeded draw the same numbers.
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

# What follows in a path: the number of a process that was forked, or of one that builds an environment for this one.
_FORKED: Final = 0
_WORKER: Final = 1
_WORDS: Final = 8


@dataclass(frozen=True, slots=True)
class Seeds:
    """The seeds of one process of a collector: two processes have the same ones only if all fields are equal.

    Args:
        fleet: the seed of the fleet, from 0 on.
        collector: the index of the collector's slot.
        generation: how many collectors its slot had before, so that a replacement repeats nothing.
        path: which process of the collector; empty for its own.
    """

    fleet: int
    collector: int
    generation: int
    path: tuple[int, ...] = ()

    def of_worker(self, number: int) -> Seeds:
        """Return the seeds of a process that builds and steps an environment for this process."""
        return replace(self, path=(*self.path, _WORKER, number))

    def of_fork(self, number: int) -> Seeds:
        """Return the seeds of the ``number``-th process that this process forks."""
        return replace(self, path=(*self.path, _FORKED, number))

    @property
    def environment(self) -> int:
        """The seed for TorchRL's ``set_seed``: below 2**31, which every simulator takes."""
        *_, environment = self._sequences()
        return int(environment.generate_state(1)[0]) % 2**31

    def seed_process(self) -> None:
        """Seed the global state of torch, numpy and ``random`` in this process, and in what it forks later."""
        global _here, _forks
        _here, _forks = self, 0
        _seed_generators(*self._sequences()[:3])

    def _sequences(self) -> list[np.random.SeedSequence]:
        """Of torch, numpy, ``random`` and the environment."""
        key = (self.collector, self.generation, *self.path)
        return np.random.SeedSequence(self.fleet, spawn_key=key).spawn(4)


def seed_everything(seed: int) -> None:
    """Seed the global state of torch, numpy and ``random`` in this process, for one episode."""
    _seed_generators(*np.random.SeedSequence(seed).spawn(3))


@contextmanager
def unchanged_generators() -> Iterator[None]:
    """Give the generators of torch (on the CPU), numpy and ``random`` their state back: nothing drawn inside counts."""
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


# Of a collector that is in no fleet.
ALONE: Final = Seeds(fleet=0, collector=0, generation=0)

# What this process was seeded with, if it is a collector's, and how many processes it has forked since.
_here: Seeds | None = None
_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


def _seed_fork() -> None:
    # The workers of a vector environment, such as Gymnasium's: they would all go on from this process's state.
    if _here is not None:
        _here.of_fork(_forks).seed_process()


os.register_at_fork(before=_count_fork, after_in_child=_seed_fork)

"""The tests' environment and policy, which fail once on the order of the benchmark, in one collector.

The order is a file. The first collector that finds the file removes it and fails. The other collectors continue.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule
from tests.envs import Constant, Counting

from benchmarks.common.patience import answer_with_stacks

STEP_SECONDS = 0.01
_HOG_BYTES = 2**30
# The messages of the errors that the environment and the policy raise.
SAYS = {"raise in step": "the game is broken", "raise in policy": "the policy is broken"}


def order(folder: Path, what: str) -> None:
    """Order the fault ``what`` from the collector that finds the order first."""
    new = folder / "order.new"
    new.write_text(what)
    new.rename(folder / "order")


def _taken(folder: Path, *mine: str) -> str | None:
    """Return the order and remove it, if it is one of ``mine``; None if there is no such order."""
    path = folder / "order"
    if not path.exists() or path.read_text() not in mine:
        return None
    try:
        path.rename(folder / "order.taken")
    except FileNotFoundError:
        return None  # another collector was faster
    return (folder / "order.taken").read_text()


def collector_processes(folder: Path) -> list[int]:
    """Return the process ids of the collectors in the order in which they were built."""
    files = sorted(folder.glob("pid-*"), key=lambda file: file.stat().st_mtime_ns)
    return [int(file.name.removeprefix("pid-")) for file in files]


class Obedient(Counting):
    """An environment that raises an error or exhausts its memory when its file says so."""

    def __init__(self, folder: Path, step_seconds: float) -> None:
        super().__init__(length=100, step_seconds=step_seconds)
        self._folder = folder
        self._hog: list[np.ndarray[Any, Any]] = []

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        match _taken(self._folder, "raise in step", "eat memory"):
            case "raise in step":
                raise ValueError(SAYS["raise in step"])
            case "eat memory":
                self._eat()
        return super()._step(tensordict)

    def _eat(self) -> None:
        (self._folder / "eater").write_text(str(os.getpid()))
        while not (self._folder / "limited").exists():
            pass  # until the benchmark has limited the memory of this process
        self._hog.append(np.ones(_HOG_BYTES, dtype=np.uint8))
        raise AssertionError("the limit did not hold")


class MakeEnv:
    """A factory that records its process id. The first environment steps ``slow_first`` times slower."""

    def __init__(self, folder: Path, slow_first: float = 1.0) -> None:
        self._folder = folder
        self._slow_first = slow_first

    def __call__(self) -> Obedient:
        answer_with_stacks()
        first = False
        if self._slow_first > 1:
            try:
                (self._folder / "slow").touch(exist_ok=False)
                first = True
            except FileExistsError:
                pass
        (self._folder / f"pid-{os.getpid()}").touch()
        return Obedient(self._folder, STEP_SECONDS * (self._slow_first if first else 1.0))


class ObedientPolicy(Constant):
    """A policy that raises on order."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        if _taken(self._folder, "raise in policy"):
            raise ZeroDivisionError(SAYS["raise in policy"])
        return super().forward(observation)


def make_policy(folder: Path) -> TensorDictModule:
    """Return a policy with the action ``[value, value]``. Half of a reward is the value of the weights that made it."""
    return TensorDictModule(ObedientPolicy(folder), in_keys=["observation"], out_keys=["action"])

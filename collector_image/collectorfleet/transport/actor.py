"""What runs in a Ray actor: one collector of TorchRL's, its policy, and the weights on offer.

The class is a plain wrapper. Ray looks at the truth value of a half-built actor, so it has no ``__len__``; errors of
the user's code come back as values, so that they are never mistaken for a broken actor; and the environment is built
by a call rather than by ``__init__``, so that its error arrives as it was raised.

This module must not import ``torchrl.collectors.distributed``: that asks for CUDA at import, before Ray has said which
GPUs the actor may see.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import ray
import torch
from tensordict import TensorDictBase
from torch import nn
from torchrl.collectors import Collector

from collectorfleet.data import wire
from collectorfleet.errors import describe
from collectorfleet.user_code import name_of
from collectorfleet.weights import snapshot as snapshots

WEIGHTS_GROUP = "weights"
LIFE_GROUP = "life"
# Offers wait for the rollout to end; a newer one makes an older one return, so few are ever waiting.
CONCURRENCY_GROUPS = {WEIGHTS_GROUP: 4, LIFE_GROUP: 1}

# How long a rollout waits for weights on their way. Offers leave the driver before the requests that need them.
_WEIGHTS_WITHIN_SECONDS = 120.0


@dataclass(frozen=True)
class ActorConfig:
    """What one collector is made of; travels pickled. ``policy`` is None for uniformly random actions."""

    create_env: Callable[[], Any]
    policy: Any
    frames_per_request: int
    collector_options: dict[str, Any] = field(default_factory=dict)
    collector_class: type = Collector
    threads: int = 1
    gpu_fraction: float = 0.0


@dataclass(frozen=True)
class Built:
    pod: str
    pid: int


@dataclass(frozen=True)
class Rollout:
    payload: wire.Encoded
    version: int
    seconds: float


@dataclass(frozen=True)
class UserError:
    """An exception of the user's code, as text: its class may not exist where this is read."""

    where: str
    cause: str
    traceback: str


def _user_error(where: str, error: BaseException) -> UserError:
    return UserError(where, describe(error), "".join(traceback.format_exception(error)))


class CollectorActor:
    """One collector. Calls of the default group come one after another, on one thread; offers come beside them."""

    def __init__(self, config: ActorConfig) -> None:
        self._config = config
        self._collector: Any = None
        self._rollouts: Iterator[TensorDictBase] | None = None
        self._weights = _WeightsHolder()
        self._over = threading.Event()

    def build(self, seed: int) -> Built | UserError:
        """Build environment and policy. Blocks for as long as the user's code takes."""
        config = self._config
        # Torch begins every process with the same seed: unseeded collectors would all draw the same actions.
        torch.manual_seed(seed)
        # Arrays of Ray's object store are read-only, and nothing here writes to them.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        torch.set_num_threads(config.threads)
        if config.gpu_fraction and config.gpu_fraction < 1 and torch.cuda.is_available():
            torch.cuda.set_per_process_memory_fraction(config.gpu_fraction)
        try:
            env = config.create_env()
        except Exception as error:  # noqa: BLE001  (the user's code may raise anything)
            return _user_error(f"environment {name_of(config.create_env)}", error)
        try:
            self._collector = config.collector_class(
                env, config.policy, frames_per_batch=config.frames_per_request, **config.collector_options
            )
            self._rollouts = iter(self._collector)
        except Exception as error:  # noqa: BLE001  (the user's code may raise anything)
            return _user_error(self._whose(error), error)
        if isinstance(self._collector.policy, nn.Module):
            self._weights.tensors = snapshots.tensors_of(self._collector.policy)
        return Built(os.environ.get("COLLECTORFLEET_POD") or socket.gethostname(), os.getpid())

    def rollout(self, min_version: int) -> Rollout | UserError:
        """One batch, with weights of at least ``min_version``."""
        if self._rollouts is None:
            raise RuntimeError("a rollout was asked for before build()")
        version = self._weights.begin_rollout(min_version)
        started = time.perf_counter()
        try:
            batch = next(self._rollouts)
        except Exception as error:  # noqa: BLE001  (the user's code may raise anything)
            return _user_error(self._whose(error), error)
        finally:
            self._weights.end_rollout()
        return Rollout(wire.encode(batch), version, time.perf_counter() - started)

    @ray.method(concurrency_group=WEIGHTS_GROUP)
    def offer(self, version: int, weights: snapshots.Snapshot) -> tuple[int, str]:
        """Return (version, digest) of what is loaded once that is ``version`` or newer, or once a newer offer came."""
        return self._weights.offer(version, weights)

    @ray.method(concurrency_group=LIFE_GROUP)
    def life(self) -> None:
        """Blocks for as long as the actor lives: its driver learns of the end without asking."""
        self._over.wait()

    def _whose(self, error: BaseException) -> str:
        """Whether the environment or the policy raised: by the deepest frame that belongs to one of them."""
        where = "policy"
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if "/torchrl/envs/" in frame.f_code.co_filename:
                where = f"environment {name_of(self._config.create_env)}"
        return where


class _WeightsHolder:
    """Loads offered weights between rollouts: at once while idle, else when the running rollout ends."""

    def __init__(self) -> None:
        self.tensors: dict[str, torch.Tensor] = {}
        self._changed = threading.Condition()
        self._busy = False
        self._offered: tuple[int, snapshots.Snapshot] | None = None
        self._version = 0
        self._digest = ""

    def offer(self, version: int, weights: snapshots.Snapshot) -> tuple[int, str]:
        with self._changed:
            if version > max(self._version, self._offered[0] if self._offered else 0):
                self._offered = (version, weights)
                if not self._busy:
                    self._load()
                self._changed.notify_all()
            newest = self._offered[0] if self._offered else self._version
            self._changed.wait_for(
                lambda: self._version >= version or (self._offered is not None and self._offered[0] > newest)
            )
            return self._version, self._digest

    def begin_rollout(self, min_version: int) -> int:
        with self._changed:
            self._load()
            if not self._changed.wait_for(lambda: self._version >= min_version, _WEIGHTS_WITHIN_SECONDS):
                raise TimeoutError(
                    f"weights of version {min_version} did not arrive within {_WEIGHTS_WITHIN_SECONDS:g} s; "
                    f"version {self._version} is loaded"
                )
            self._busy = True
            return self._version

    def end_rollout(self) -> None:
        with self._changed:
            self._busy = False
            self._load()

    def _load(self) -> None:
        if self._offered is None:
            return
        version, weights = self._offered
        self._offered = None
        snapshots.load(weights, self.tensors)
        # Of what is loaded now, not of what came: this is the proof.
        self._version, self._digest = version, snapshots.digest(snapshots.take(self.tensors))
        self._changed.notify_all()

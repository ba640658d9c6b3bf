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
from dataclasses import dataclass, replace
from typing import Any

import ray
import torch

from collectorfleet.actor.runner import Built, CollectorConfig, Rolled, RolloutRunner, build
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.codec import tensors as wire
from collectorfleet.codec.frames import Part
from collectorfleet.errors import describe
from collectorfleet.user_code import name_of

WEIGHTS_GROUP = "weights"
LIFE_GROUP = "life"
# Offers wait for the rollout to end; a newer one makes an older one return, so few are ever waiting.
CONCURRENCY_GROUPS = {WEIGHTS_GROUP: 4, LIFE_GROUP: 1}


@dataclass(frozen=True)
class Rollout:
    """``part`` is None if the frames were written to a replay buffer."""

    part: Part | None
    frames: int
    version: int
    seconds: float


@dataclass(frozen=True)
class UserError:
    """An exception of the user's code, as text: its class may not exist where this is read."""

    where: str
    cause: str
    traceback: str


@dataclass(frozen=True)
class OutOfMemory:
    """The collector has no memory left: not a mistake of the environment, and not to be tried in this process again."""

    cause: str


class CollectorActor:
    """One collector. Calls of the default group come one after another, on one thread; offers come beside them."""

    def __init__(self, config: CollectorConfig, policy: Any, life: int) -> None:
        self._config = replace(config, policy=policy)
        self._life = life
        self._runner: RolloutRunner | None = None
        self._over = threading.Event()

    def build(self, seed: int, seed_environment: bool) -> Built | UserError | OutOfMemory:
        """Build environment and policy. Blocks for as long as the user's code takes."""
        # Torch begins every process with the same seed: unseeded collectors would all draw the same actions.
        torch.manual_seed(seed)
        torch.set_num_threads(self._config.threads)
        fraction = self._config.gpu_fraction
        if fraction and fraction < 1 and torch.cuda.is_available():
            torch.cuda.set_per_process_memory_fraction(fraction)
        try:
            self._runner = build(self._config, self._life)
            if seed_environment:
                self._runner.collector.set_seed(seed % 2**31)
        except Exception as error:  # noqa: BLE001  (the user's code may raise anything)
            return self._failure(error)
        return Built(os.environ.get("COLLECTORFLEET_POD") or socket.gethostname(), os.getpid())

    def rollout(
        self, request: tuple[int, int, int, bool], version: int | None = None, weights: Any = None
    ) -> Rollout | UserError | OutOfMemory:
        """One batch. ``request`` is (id, frames, least version, random); ``version`` and ``weights`` ask for exactly
        those."""
        if self._runner is None:
            raise RuntimeError("a rollout was asked for before build()")
        request_id, frames, min_version, random = request
        started = time.perf_counter()
        try:
            rolled = self._runner.roll(
                request_id, frames, min_version, random=random, exactly=None if version is None else (version, weights)
            )
        except Exception as error:  # noqa: BLE001  (the user's code may raise anything)
            return self._failure(error)
        return Rollout(self._part(rolled), rolled.frames, rolled.oldest_version, time.perf_counter() - started)

    def _part(self, rolled: Rolled) -> Part | None:
        if rolled.batch is None:
            return None
        segments = None if rolled.segments is None else tuple(rolled.segments)
        return Part(wire.encode(rolled.batch), segments, self._life)

    def set_seed(self, seed: int, static_seed: bool) -> int:
        """Seed the environments, between two rollouts; returns the next seed."""
        following: int = self._built().collector.set_seed(seed, static_seed)
        return following

    def environment_state(self) -> dict[str, Any]:
        """What the environments keep, such as running statistics, between two rollouts."""
        return self._built().environment_state()

    def load_environment_state(self, state: dict[str, Any]) -> None:
        self._built().load_environment_state(state)

    def _built(self) -> RolloutRunner:
        if self._runner is None:
            raise RuntimeError("the collector was asked for something before build()")
        return self._runner

    @ray.method(concurrency_group=WEIGHTS_GROUP)
    def offer(self, version: int, weights: snapshots.Snapshot) -> tuple[int, str] | UserError:
        """Return (version, digest) of what is loaded once that is ``version`` or newer, or once a newer offer came."""
        if self._runner is None:
            raise RuntimeError("weights were offered before build()")
        try:
            return self._runner.inbox.offer(version, weights)
        except ValueError as error:
            return UserError("policy", str(error), "".join(traceback.format_exception(error)))

    @ray.method(concurrency_group=WEIGHTS_GROUP)
    def cut_short(self, request_id: int) -> None:
        """Answer that request with what there is after the running step."""
        if self._runner is not None:
            self._runner.cut_short(request_id)

    @ray.method(concurrency_group=LIFE_GROUP)
    def life(self) -> None:
        """Blocks for as long as the actor lives: its driver learns of the end without asking."""
        self._over.wait()

    def _failure(self, error: Exception) -> UserError | OutOfMemory:
        if isinstance(error, MemoryError | torch.cuda.OutOfMemoryError):
            return OutOfMemory(describe(error))
        return UserError(self._whose(error), describe(error), "".join(traceback.format_exception(error)))

    def _whose(self, error: BaseException) -> str:
        """Whether the environment or the policy raised: by the deepest frame that belongs to one of them."""
        environment = f"environment {name_of(self._config.create_env)}"
        where = "policy"
        for frame, _ in traceback.walk_tb(error.__traceback__):
            file, function = frame.f_code.co_filename, frame.f_code.co_name
            if "/torchrl/envs/" in file or (file == build.__code__.co_filename and function == "_environments"):
                where = environment
        return where

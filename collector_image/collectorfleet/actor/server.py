"""The methods of a collector's process that the driver calls. They do not depend on a launcher.

If the user's code raises an error, a method returns a message about the error. So the driver does not mistake the error
for a broken process. The method ``build`` builds the environment, because the constructor cannot return a message.

Three threads call a server at the same time. The first thread calls ``build`` and ``run``. The second thread calls
``offer`` and ``cut_short``. The third thread calls ``next_applied``.

This module must not import ``torchrl.collectors.distributed``, because that import queries CUDA. When this module is
imported, the launcher has not yet set which GPUs the process may use.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import torch

from collectorfleet.actor.build import build, build_player
from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.evaluation.player import EpisodePlayer
from collectorfleet.actor.findings import findings
from collectorfleet.actor.finished_rollout import Rollout
from collectorfleet.actor.inbox import Offer
from collectorfleet.actor.origin import Origin, calling, cause_of, origin_of
from collectorfleet.actor.results import copied
from collectorfleet.actor.rollout.exact import FastLoopUnsupported
from collectorfleet.actor.rollouts import RolloutRunner
from collectorfleet.actor.seeds import Seeds
from collectorfleet.actor.simulator.failure import SimulatorFailed
from collectorfleet.actor.simulator.watch import WatchedSimulator
from collectorfleet.codec import tensors
from collectorfleet.codec.frames import Part
from collectorfleet.errors import PolicyServiceLost, ReplayBufferLost, describe
from collectorfleet.messages import (
    POLICY,
    Answer,
    Applied,
    CollectorId,
    Fault,
    Lost,
    Placed,
    Raised,
    Request,
    ServiceLost,
    Started,
)
from collectorfleet.user_code import name_of

_LOWEST_PRIORITY: Final = 19


class CollectorServer:
    """The server of one collector or evaluator. All returned objects can be pickled."""

    def __init__(self, collector: CollectorId, config: CollectorConfig) -> None:
        self._id = collector
        self._config = config
        self._made: RolloutRunner | EpisodePlayer | None = None
        self._built = threading.Event()
        self._simulator: WatchedSimulator | None = None
        self._simulator_failed: SimulatorFailed | None = None

    def placed(self) -> Placed:
        """Return the pod of this collector. This method may be called at any time, also while another method runs."""
        return Placed(self._id, _pod())

    def build(self, seed: int, *, seed_environment: bool) -> Started | Raised | Lost | ServiceLost:
        """Seed this process, then build environment and policy. ``seed`` is the seed of the fleet.

        Blocks while the user's code runs.
        """
        # All evaluators build the environment with index 0, so that all environments are equal.
        index = 0 if self._config.plays_episodes else self._id.index
        seeds = Seeds(int(seed) % 2**64, index, self._id.generation)
        seeds.seed_process()
        torch.set_num_threads(self._config.threads)
        fraction = self._config.gpu_fraction
        if fraction and fraction < 1 and torch.cuda.is_available():
            torch.cuda.set_per_process_memory_fraction(fraction)
        try:
            if self._config.plays_episodes:
                _lower_priority()  # before the simulator starts, because the simulator inherits the priority
            config = self._with_simulator()
            if config.plays_episodes:
                self._made = build_player(config, seeds)
                found: tuple[str, ...] = ()
            else:
                self._made = runner = build(config, self._id.incarnation, seeds)
                # ``worker_idx`` is TorchRL's name of the index. It is set here, because a user's class might not accept
                # it as a constructor argument.
                runner.collector.worker_idx = self._id.index
                if self._simulator is not None:
                    runner.while_stepping = self._simulator.stepping
                if seed_environment:
                    runner.set_seed(seeds.environment, static_seed=False)
                found = findings(runner.collector)
        except BaseException as error:  # noqa: BLE001  (the user's code may raise anything, and call sys.exit)
            return self.failure(error)
        if self._simulator is not None:
            self._simulator.built()
        self._built.set()
        normalization = self._made.normalization
        begun = None if normalization is None else normalization.begun
        return Started(self._id, _pod(), os.getpid(), begun, self._made.loop, found)

    def run(self, request: Request, weights: Offer | None = None) -> Answer | Raised | Lost | ServiceLost:
        """Make one rollout.

        ``weights`` arrived with the request. They are the version that the request demands, or an offer.
        """
        started = time.perf_counter()
        try:
            rollout = self._runner.run(request, weights)
            with calling(Origin.FRAMES):
                return self._answer(request, rollout, time.perf_counter() - started)
        except BaseException as error:  # noqa: BLE001  (the user's code may raise anything, and call sys.exit)
            return self.failure(error)

    def offer(self, policy: str, offered: Offer) -> None:
        """Load these weights as soon as no rollout runs. They replace an earlier offer that is not loaded yet."""
        self._runner.inboxes[policy].offer(offered)

    def next_applied(self, policy: str, seen: int) -> Applied | Raised | Lost | ServiceLost | None:
        """Block until a version other than ``seen`` is loaded, without a time limit.

        Return None after :meth:`close`.
        """
        self._built.wait()
        failed, self._simulator_failed = self._simulator_failed, None
        if failed is not None:
            return self.failure(failed)
        if self._made is None:
            return None  # closed before the collector was built
        try:
            loaded = self._made.inboxes[policy].next_applied(seen)
        except SimulatorFailed as error:
            self._simulator_failed = None
            return self.failure(error)
        except ValueError as error:  # weights of another policy
            return Raised(self._id, "policy", str(error), "".join(traceback.format_exception(error)))
        except Exception as error:  # noqa: BLE001  (such as an error of a device or of a collector's process)
            return self.lost(error)
        return None if loaded is None else Applied(self._id, *loaded, policy)

    def cut_short(self, request_id: int) -> None:
        """End the rollout of this request after the running step. :meth:`run` then returns the frames so far."""
        self._runner.cut_short(request_id)

    def set_seed(self, seed: int, static_seed: bool) -> int:
        """Seed the environments between two rollouts, and return the next seed."""
        with self._between_rollouts() as runner:
            return runner.set_seed(seed, static_seed=static_seed)

    def execute(self, path: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Call the method at ``path`` in TorchRL's collector, and raise its errors. Call this between two rollouts."""
        with self._between_rollouts() as runner:
            return runner.execute(path, arguments, keywords)

    def attribute(self, path: str) -> Any:
        """Return a copy of the attribute at ``path`` in TorchRL's collector. Call this between two rollouts."""
        with self._between_rollouts() as runner:
            return copied(runner.collector.get_distant_attr(path))

    def environment_state(self) -> dict[str, Any]:
        """Return the state of the environments, such as running statistics. Call this between two rollouts."""
        with self._between_rollouts() as runner:
            return runner.environment_state()

    def load_environment_state(self, state: dict[str, Any]) -> None:
        """Load a result of :meth:`environment_state`. Call this between two rollouts."""
        with self._between_rollouts() as runner:
            runner.load_environment_state(state)

    def failure(self, error: BaseException, where: str | None = None) -> Raised | Lost | ServiceLost:
        """Return the message to the driver about an error.

        ``where`` is the origin of the error. If ``where`` is None, the method determines the origin from ``error``.
        """
        if isinstance(error, ReplayBufferLost | PolicyServiceLost):
            return ServiceLost(self._id, error)
        if _fault_of(error) is Fault.OUT_OF_MEMORY:
            # If memory runs out, the environment is not at fault. The driver must restart the collector and not retry
            # in this process.
            return self.lost(error)
        text = "".join(traceback.format_exception(error))
        whose = where or ("rollout" if isinstance(error, FastLoopUnsupported) else origin_of(error))
        by_environment = whose == Origin.ENVIRONMENT
        named = f"environment {name_of(self._config.create_env)}" if by_environment else whose
        return Raised(self._id, str(named), self._cause(error, by_environment), text, by_environment)

    def lost(self, error: BaseException) -> Lost:
        """Return the message to the driver about an error that does not come from one part of the user's code."""
        return Lost(self._id, describe(error), _fault_of(error))

    def close(self) -> None:
        """Release all threads that wait in :meth:`next_applied`, and stop the simulator."""
        for inbox in self._made.inboxes.values() if self._made is not None else ():
            inbox.close()
        self._built.set()
        if self._simulator is not None:
            self._simulator.stop()

    def _with_simulator(self) -> CollectorConfig:
        """Start the simulator if the configuration has one.

        Return the configuration. The factory's arguments then include the simulator's addresses.
        """
        config = self._config
        if config.simulator is None:
            return config
        with calling(Origin.ENVIRONMENT):
            self._simulator = WatchedSimulator(config.simulator, self._report)
            arguments = self._simulator.arguments(config.create_env, config.create_env_kwargs)
        return replace(config, create_env_kwargs=arguments)

    def _report(self, failed: SimulatorFailed) -> None:
        """Make :meth:`next_applied` report the failed simulator.

        A running :meth:`run` may never return, because the environment may wait for the simulator.
        """
        self._simulator_failed = failed
        for inbox in self._made.inboxes.values() if self._made is not None else ():
            inbox.fail(failed)
        self._built.set()

    def _cause(self, error: BaseException, by_environment: bool) -> str:
        if isinstance(error, SimulatorFailed):
            return str(error)
        cause = cause_of(error, describe(error))
        return self._simulator.explained(cause) if by_environment and self._simulator is not None else cause

    @property
    def _runner(self) -> RolloutRunner | EpisodePlayer:
        if self._made is None:
            raise RuntimeError("the collector got a request before build()")
        return self._made

    @contextmanager
    def _between_rollouts(self) -> Iterator[RolloutRunner]:
        """Yield the collector. No thread loads weights inside the context."""
        runner = self._runner
        if not isinstance(runner, RolloutRunner):
            raise RuntimeError("an evaluator got a request for a collector")
        with runner.inboxes[POLICY].unchanged():
            yield runner

    def _answer(self, request: Request, rollout: Rollout, seconds: float) -> Answer:
        part = self._part(rollout)
        return Answer(
            self._id,
            request.id,
            part,
            rollout.frames,
            rollout.oldest_version,
            seconds,
            size_bytes=part.encoded.size_bytes if part else 0,
            pickled=len(part.encoded.pickled) if part else 0,
            policy=request.policy,
            normalization=rollout.normalization,
            episodes=rollout.episodes,
            loop=rollout.loop,
            first_starts=rollout.first_starts,
            parameters=rollout.oldest_parameters,
            recorded=rollout.recorded,
        )

    def _part(self, rollout: Rollout) -> Part | None:
        if rollout.batch is None:
            return None
        segments = None if rollout.segments is None else tuple(rollout.segments)
        return Part(
            tensors.encode(rollout.batch, compact=self._config.compact_observations),
            segments,
            self._id.incarnation,
            rollout.parameters,
            rollout.varies,
        )


def _lower_priority() -> None:
    """Lower the priority of the calling thread, so that collectors and the driver of the same machine run first.

    The priority has no effect between pods.
    """
    # On Linux, the new priority applies to the calling thread, and to all threads and processes that this thread starts
    # later.
    os.setpriority(os.PRIO_PROCESS, 0, _LOWEST_PRIORITY)


def _pod() -> str:
    return os.environ.get("COLLECTORFLEET_POD") or socket.gethostname()


def _fault_of(error: BaseException) -> Fault:
    out_of_memory = isinstance(error, MemoryError | torch.cuda.OutOfMemoryError)
    return Fault.OUT_OF_MEMORY if out_of_memory else Fault.DIED

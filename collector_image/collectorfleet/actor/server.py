"""A collector as its process serves it: what the driver may ask, and what it hears. Knows no launcher.

Errors of the user's code come back as messages, so that they are not mistaken for a broken process. A call builds the
environment instead of the constructor, so that its error arrives as it was raised.

Three threads at a time: one for ``build`` and ``run``, one for ``offer`` and ``cut_short``, one for ``next_applied``.

Nothing here may import ``torchrl.collectors.distributed``: that asks for CUDA at import, before the launcher has said
which GPUs the process may see.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import torch

from collectorfleet.actor.build import build, build_player
from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.evaluation.player import EpisodePlayer
from collectorfleet.actor.findings import findings
from collectorfleet.actor.inbox import Offer
from collectorfleet.actor.origin import Origin, calling, cause_of, origin_of
from collectorfleet.actor.rollout.exact import NotExact
from collectorfleet.actor.rollouts import Rollout, RolloutRunner
from collectorfleet.actor.seeds import Seeds
from collectorfleet.actor.simulator.failure import SimulatorFailed
from collectorfleet.actor.simulator.watch import WatchedSimulator
from collectorfleet.codec import tensors
from collectorfleet.codec.frames import Part
from collectorfleet.errors import PolicyServiceLost, ReplayBufferLost, describe
from collectorfleet.messages import (
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
    """One collector. Everything that it returns travels."""

    def __init__(self, collector: CollectorId, config: CollectorConfig) -> None:
        self._id = collector
        self._config = config
        self._made: RolloutRunner | EpisodePlayer | None = None
        self._built = threading.Event()
        self._simulator: WatchedSimulator | None = None
        self._simulator_failed: SimulatorFailed | None = None

    def placed(self) -> Placed:
        """Where this is. Beside everything else that it is asked."""
        return Placed(self._id, _pod())

    def build(self, seed: int, *, seed_environment: bool) -> Started | Raised | Lost | ServiceLost:
        """Build environment and policy in this process, which is seeded; ``seed`` is the fleet's.

        Blocks for as long as the user's code takes.
        """
        # What an evaluator builds does not depend on how many there are.
        index = 0 if self._config.plays_episodes else self._id.index
        seeds = Seeds(int(seed) % 2**64, index, self._id.generation)
        seeds.seed_process()
        torch.set_num_threads(self._config.threads)
        fraction = self._config.gpu_fraction
        if fraction and fraction < 1 and torch.cuda.is_available():
            torch.cuda.set_per_process_memory_fraction(fraction)
        try:
            if self._config.plays_episodes:
                _give_way()  # before the simulator starts, which does the same then
            config = self._with_simulator()
            if config.plays_episodes:
                self._made = build_player(config, seeds)
                found: tuple[str, ...] = ()
            else:
                self._made = runner = build(config, self._id.incarnation, seeds)
                # TorchRL's name for it. Not an argument: not every class that a user brings along takes it.
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
        """One rollout. ``weights`` are a version that came along: exactly the one asked for, or an offer."""
        started = time.perf_counter()
        try:
            rollout = self._runner.run(request, weights)
            with calling(Origin.FRAMES):
                return self._answer(request, rollout, time.perf_counter() - started)
        except BaseException as error:  # noqa: BLE001  (the user's code may raise anything, and call sys.exit)
            return self.failure(error)

    def offer(self, policy: str, offered: Offer) -> None:
        """Load these weights once no rollout runs; they replace what was offered before."""
        self._runner.inboxes[policy].offer(offered)

    def next_applied(self, policy: str, seen: int) -> Applied | Raised | Lost | ServiceLost | None:
        """Block until another version than ``seen`` is loaded, however long that takes; None after :meth:`close`."""
        self._built.wait()
        failed, self._simulator_failed = self._simulator_failed, None
        if failed is not None:
            return self.failure(failed)
        if self._made is None:
            return None  # closed before it was built
        try:
            loaded = self._made.inboxes[policy].next_applied(seen)
        except SimulatorFailed as error:
            self._simulator_failed = None
            return self.failure(error)
        except ValueError as error:  # weights of another policy
            return Raised(self._id, "policy", str(error), "".join(traceback.format_exception(error)))
        except Exception as error:  # noqa: BLE001  (a device, or the processes of a collector that has some)
            return self.lost(error)
        return None if loaded is None else Applied(self._id, *loaded, policy)

    def cut_short(self, request_id: int) -> None:
        """Answer that request with what there is after the running step."""
        self._runner.cut_short(request_id)

    def set_seed(self, seed: int, static_seed: bool) -> int:
        """Seed the environments, between two rollouts; returns the next seed."""
        return self._collecting.set_seed(seed, static_seed=static_seed)

    def execute(self, path: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Call what is at ``path`` in TorchRL's collector, between two rollouts; raises what it raises."""
        return self._collecting.execute(path, arguments, keywords)

    def attribute(self, path: str) -> Any:
        """What is at ``path`` in TorchRL's collector, between two rollouts."""
        return self._collecting.collector.get_distant_attr(path)

    def environment_state(self) -> dict[str, Any]:
        """What the environments keep, such as running statistics, between two rollouts."""
        return self._collecting.environment_state()

    def load_environment_state(self, state: dict[str, Any]) -> None:
        self._collecting.load_environment_state(state)

    def failure(self, error: BaseException, where: str | None = None) -> Raised | Lost | ServiceLost:
        """What the driver is told of an error: whose it is, which the error says unless ``where`` does."""
        if isinstance(error, ReplayBufferLost | PolicyServiceLost):
            return ServiceLost(self._id, error)
        if _fault_of(error) is Fault.OUT_OF_MEMORY:
            # Not a mistake of the environment, and not to be tried in this process again.
            return self.lost(error)
        text = "".join(traceback.format_exception(error))
        whose = where or ("rollout" if isinstance(error, NotExact) else origin_of(error))
        by_environment = whose == Origin.ENVIRONMENT
        named = f"environment {name_of(self._config.create_env)}" if by_environment else whose
        return Raised(self._id, str(named), self._cause(error, by_environment), text, by_environment)

    def lost(self, error: BaseException) -> Lost:
        """What the driver is told of an error that is nobody's in particular."""
        return Lost(self._id, describe(error), _fault_of(error))

    def close(self) -> None:
        """Let go whoever waits in :meth:`next_applied`."""
        for inbox in self._made.inboxes.values() if self._made is not None else ():
            inbox.close()
        self._built.set()
        if self._simulator is not None:
            self._simulator.stop()

    def _with_simulator(self) -> CollectorConfig:
        """Start the simulator, if there is one; return the configuration with its addresses for the factory."""
        config = self._config
        if config.simulator is None:
            return config
        with calling(Origin.ENVIRONMENT):
            self._simulator = WatchedSimulator(config.simulator, self._report)
            arguments = self._simulator.arguments(config.create_env, config.create_env_kwargs)
        return replace(config, create_env_kwargs=arguments)

    def _report(self, failed: SimulatorFailed) -> None:
        """Tell the driver by the standing call: the environment may wait for the simulator for ever."""
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

    @property
    def _collecting(self) -> RolloutRunner:
        if not isinstance(self._runner, RolloutRunner):
            raise RuntimeError("an evaluator got a request for a collector")
        return self._runner

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
        )


def _give_way() -> None:
    """Leave the cores of a shared machine to collectors and driver; of no effect between pods."""
    # Of the calling thread, on Linux, and of those that it starts.
    os.setpriority(os.PRIO_PROCESS, 0, _LOWEST_PRIORITY)


def _pod() -> str:
    return os.environ.get("COLLECTORFLEET_POD") or socket.gethostname()


def _fault_of(error: BaseException) -> Fault:
    out_of_memory = isinstance(error, MemoryError | torch.cuda.OutOfMemoryError)
    return Fault.OUT_OF_MEMORY if out_of_memory else Fault.DIED

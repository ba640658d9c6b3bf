"""Run one rollout of TorchRL's collector for each request. Return its frames with their versions and statistics."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import reduce
from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from torch import nn

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.early_end import EarlyEnd, padded
from collectorfleet.actor.environment_calls import watch_environments
from collectorfleet.actor.episodes import EpisodeCounter
from collectorfleet.actor.factories import PolicyFactory
from collectorfleet.actor.finished_rollout import Rollout, with_parameters, write_frames
from collectorfleet.actor.first_starts import FirstStarts
from collectorfleet.actor.frame_entries import (
    SERVICE_VERSION,
    take_stamped_versions,
    valid_frames,
    with_service_version,
)
from collectorfleet.actor.inbox import Inbox, Offer
from collectorfleet.actor.normalization.environment import EnvironmentNormalization
from collectorfleet.actor.origin import Origin, calling
from collectorfleet.actor.parameters.stamps import ParameterStamps
from collectorfleet.actor.results import OF_THE_COLLECTOR, copied
from collectorfleet.actor.rollout.collector import FastCollector, call_in_steps
from collectorfleet.actor.stamp import SharedVersion
from collectorfleet.actor.target import ModulesTarget
from collectorfleet.messages import POLICY, Request, Segment
from collectorfleet.torchrl_private.collectors import (
    frames_so_far,
    keeps_batch,
    kept_batch,
    make_carrier,
    make_kept_batch,
    set_frames,
    set_kept_batch,
)
from collectorfleet.torchrl_private.environments import has_dynamic_specs

_OF_THE_DRIVER = ("policy_state_dict", "iter", "frames")


class RolloutRunner:
    """A collector that makes one rollout for each request."""

    def __init__(
        self,
        config: CollectorConfig,
        collector: Any,
        incarnation: int,
        cutter: EarlyEnd | None,
        shared: SharedVersion | None,
        normalization: EnvironmentNormalization | None,
    ) -> None:
        self.collector = collector
        self._config = config
        self._incarnation = incarnation
        self._cutter = cutter
        self._shared = shared
        self._episodes = EpisodeCounter()
        self._first_starts = FirstStarts()
        self.normalization = normalization
        self._frames = config.frames_per_request
        # Whether the state of the environment has changed since the last observation. If so, the next rollout begins
        # with a reset.
        self._begins_anew = False
        # Whether the environment's entries differ from the entries of the batch that the collector reuses.
        self._has_other_entries = False
        self._has_run = False
        env = getattr(collector, "env", None)
        # The specs of environments in other processes are unknown, so the sizes of entries may vary.
        self._varies = env is None or has_dynamic_specs(env)
        self._rollouts: Iterator[TensorDictBase] = iter(collector)
        self._policy = _policy_of(collector, config)
        self.inboxes = {POLICY: Inbox(ModulesTarget(self._modules()), self._pass_on, normalization)}
        if config.update_between_steps and isinstance(self._policy, nn.Module):
            before_step = self.inboxes[POLICY].before_step
            if getattr(collector, "compiled_policy", False):
                # Loading weights copies them with numpy, and torch.compile cannot trace these copies.
                before_step = torch.compiler.disable(before_step)  # type: ignore[no-untyped-call]
            if isinstance(collector, FastCollector):
                collector.call_before_policy(before_step)
            else:
                call_in_steps(collector, self._policy, before_step)
        self._known_loop = self.loop
        self._parameters = None if config.parameters is None else ParameterStamps(collector, config.parameters)
        # A function that returns a context. The context is active during the steps of each rollout. If there is a
        # simulator, the server of the collector sets a function of the simulator's watch.
        self.while_stepping: Callable[[], AbstractContextManager[None]] = nullcontext

    def run(self, request: Request, weights: Offer | None = None) -> Rollout:
        """Run one request to its end. ``weights`` are the weights that arrived with the request."""
        inbox = self.inboxes[request.policy]
        if request.version is None:
            inbox.begin_rollout(request.min_version, also=weights)
        else:
            inbox.begin_rollout(request.min_version, exactly=weights)
        try:
            with self.while_stepping():
                self._set_parameters(request)
                self._begin_anew_if_needed()
                self._ask_for(request.frames, random=request.random)
                if self._cutter is not None:
                    self._cutter.begin(request.id)
                if self._parameters is not None:
                    self._parameters.begin_rollout()
                batch = next(self._rollouts)
        finally:
            segments = inbox.end_rollout()
        self._has_run = True
        with calling(Origin.FRAMES):
            first_starts = self._first_starts.digest(batch)
            rollout = replace(self._finish(batch, segments), loop=self._changed_loop(), first_starts=first_starts)
        if self.normalization is None:
            return rollout
        with calling(Origin.ENVIRONMENT):
            return replace(rollout, normalization=self.normalization.contribution())

    @property
    def loop(self) -> str:
        """The loop in use: ``Fast``, ``TorchRL``, or ``TorchRL: REASON``.

        ``REASON`` is the reason why the fast loop does not support the collector.
        """
        return self.collector.steps_by if isinstance(self.collector, FastCollector) else "TorchRL"

    def _changed_loop(self) -> str | None:
        before, self._known_loop = self._known_loop, self.loop
        return None if self._known_loop == before else self._known_loop

    def cut_short(self, request_id: int) -> None:
        """End the rollout of a request after the running step. This method may be called before the rollout begins."""
        if self._cutter is not None:
            self._cutter.cut(request_id)

    def set_seed(self, seed: int, *, static_seed: bool) -> int:
        """Seed the environments and return the next seed. The next rollout begins with a reset."""
        following: int = self.collector.set_seed(seed, static_seed)
        # If the collector has processes, TorchRL has already reset their environments.
        self._begins_anew |= not self._config.has_processes
        return following

    def execute(self, path: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Call the method at ``path`` in the collector. Raises the errors that the method raises.

        If the method stepped, reset, seeded or restored an environment, the next rollout begins with a reset. So the
        first frame of that rollout is a valid transition. If the method returns an environment, a transform or a
        collector, the result is None, because such objects cannot be sent. Other results are copies, see
        :func:`.results.copied`.
        """
        before = self._entries()
        with watch_environments() as calls:
            try:
                returned = self.collector.cascade_execute(path, *arguments, **keywords)
            finally:
                self._begins_anew |= calls.changed_state
                self._has_other_entries |= self._entries() != before
        return None if isinstance(returned, OF_THE_COLLECTOR) else copied(returned)

    def environment_state(self) -> dict[str, Any]:
        """Return a copy of the collector's state without the policy and the counters, because the driver has both."""
        # Statistics that are loaded while the state is sent must not change the state.
        return {
            key: copy.deepcopy(value) for key, value in self.collector.state_dict().items() if key not in _OF_THE_DRIVER
        }

    def load_environment_state(self, state: dict[str, Any]) -> None:
        """Load a result of :meth:`environment_state`. The next rollout begins with a reset."""
        if not state.get("env_state_dict", True):
            # For some environments, TorchRL's collector saves no buffers, but requires buffers when it loads a state.
            # So the present buffers are loaded again.
            state = {**state, "env_state_dict": self.collector.env.state_dict()}
        self.collector.load_state_dict({**self.collector.state_dict(), **state})
        # The loaded frame stacks and statistics do not belong to the present episode. So the next rollout begins with a
        # reset.
        self._begins_anew = True
        if self.normalization is not None:
            self.normalization.reset_base()

    def _set_parameters(self, request: Request) -> None:
        if request.parameters is None or self._parameters is None:
            return
        self._parameters.offer(request.parameters)
        # The collector's constructor has reset the environments with their original parameters. So the first rollout
        # begins with another reset.
        self._begins_anew |= not self._has_run

    def _begin_anew_if_needed(self) -> None:
        if self._has_other_entries:
            # The user has added or removed a transform. So the carrier and the batch are made again, as in TorchRL's
            # constructor.
            with calling(Origin.ENVIRONMENT):
                make_carrier(self.collector)
            make_kept_batch(self.collector)
        elif self._begins_anew:
            with calling(Origin.ENVIRONMENT):
                self.collector.reset()
        self._begins_anew = self._has_other_entries = False

    def _entries(self) -> dict[Any, Any]:
        """Return shape and dtype of each entry of the environment.

        If the environments run in separate processes, the result is empty.
        """
        if self._config.has_processes:
            return {}
        return {key: (spec.shape, spec.dtype) for key, spec in self.collector.env.specs.items(True, True)}

    def _finish(self, batch: TensorDictBase, segments: list[Segment]) -> Rollout:
        if self._cutter is not None:
            batch = padded(batch, self._steps_of(batch))
        frames, episodes = valid_frames(batch), self._episodes.ended(batch)
        if self._shared is not None:
            batch, oldest = take_stamped_versions(batch)
            rollout = Rollout(batch, frames, oldest, None, episodes=episodes)
        elif self._config.uses_policy_service and SERVICE_VERSION in batch:
            rollout = Rollout(with_service_version(batch), frames, 0, None, episodes=episodes)
        else:
            oldest = min(segment.version for segment in segments)
            rollout = Rollout(batch, frames, oldest, segments, episodes=episodes)
        if self._parameters is not None:
            rollout = with_parameters(rollout, self._parameters)
        rollout = replace(rollout, varies=self._varies)
        buffer = self._config.replay_buffer
        return rollout if buffer is None else write_frames(rollout, buffer, self._incarnation)

    def _steps_of(self, batch: TensorDictBase) -> int:
        environments: int = math.prod(batch.shape[:-1])
        return -(-self._frames // environments)

    def _ask_for(self, frames: int, *, random: bool) -> None:
        collector = self.collector
        # TorchRL's collector compares this limit with the number of its own frames. The driver counts random frames of
        # the whole fleet, and decides which requests have random actions.
        collector.init_random_frames = frames_so_far(collector) + frames if random else 0
        if frames != self._frames:
            if self._config.has_processes:
                raise RuntimeError(f"{type(collector).__name__} cannot change from {self._frames} to {frames} frames")
            set_frames(collector, frames)
            if keeps_batch(collector):
                memory = kept_batch(collector)
                shape = (*memory.shape[:-1], collector.frames_per_batch)
                set_kept_batch(collector, memory[..., :1].expand(shape).clone())
            self._frames = frames

    def _modules(self) -> dict[str, nn.Module]:
        """Return the modules to load weights into. The key of each module is the prefix of its tensors' names."""
        found = {"": self._policy} if isinstance(self._policy, nn.Module) else {}
        return found | {f"{path}:": reduce(getattr, path.split("."), self.collector) for path in self._config.models}

    def _pass_on(self, loaded: Offer) -> None:
        """Send the loaded weights to the collector's processes. Then set the version of the frames that follow."""
        if self._config.has_processes and isinstance(self._policy, nn.Module):
            self.collector.update_policy_weights_(TensorDict.from_module(self._policy).data)
        if self._shared is not None:
            self._shared.set(loaded.version)
        tracker = getattr(self.collector, "policy_version_tracker", None)
        if tracker is not None:
            _track(tracker, loaded)


def _track(tracker: Any, loaded: Offer) -> None:
    """Set TorchRL's ``PolicyVersion`` to the publisher's count.

    If there is no such count, set it to the fleet's version. If TorchRL identifies versions by UUIDs, make a new UUID.
    """
    if isinstance(tracker.version, str):
        tracker.increment_version()
    else:
        counted = loaded.weights.policy_version
        tracker.version = loaded.version if counted is None else counted


def _policy_of(collector: Any, config: CollectorConfig) -> Any:
    """Return the module to load weights into. Processes of the collector have copies of this module."""
    if not config.has_processes:
        return collector.policy
    return config.policy if config.policy_factory is None else PolicyFactory(config.policy_factory)()

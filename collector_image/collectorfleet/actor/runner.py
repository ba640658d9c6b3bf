"""From a collector's configuration to TorchRL's collector, and one rollout of it. Runs in the actor, knows no Ray."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tensordict import TensorDict, TensorDictBase
from torch import Tensor, nn
from torchrl.collectors import BaseCollector, Collector, MultiAsyncCollector, MultiCollector
from torchrl.envs import EnvBase

from collectorfleet.actor.cutting import Cutter, padded
from collectorfleet.actor.inbox import Inbox
from collectorfleet.actor.stamp import STAMP, STAMP_KEY, SharedVersion, stamped
from collectorfleet.actor.target import WeightsTarget
from collectorfleet.codec import frames as keys
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.messages import Segment

POLICY = "policy"
_OF_THE_DRIVER = ("policy_state_dict", "iter", "frames")


@dataclass(frozen=True)
class Built:
    pod: str
    pid: int


@dataclass(frozen=True)
class CollectorConfig:
    """What one collector is made of; travels pickled. Without policy and factory, actions are uniformly random.

    Args:
        create_env: builds an environment, or is one.
        workers: environments in processes of their own; for ``Multi*Collector``.
        options: further arguments of ``collector_class``.
        models: attribute paths in the collector, besides ``policy``, of modules whose weights are published.
        replay_buffer: a client of a replay buffer that the collector writes to itself.
        cut_short: whether rollouts may be cut short.
    """

    create_env: Any
    policy: Any
    frames_per_request: int
    policy_factory: Callable[[], Any] | None = None
    create_env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    collector_class: type[BaseCollector] = Collector
    workers: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    models: Sequence[str] = ()
    replay_buffer: Any = None
    update_between_steps: bool = False
    cut_short: bool = False
    threads: int = 1
    gpu_fraction: float = 0.0


@dataclass(frozen=True)
class Rolled:
    """``batch`` is None if it was written to a replay buffer; ``segments`` if the batch itself says the versions."""

    batch: TensorDictBase | None
    frames: int
    oldest_version: int
    segments: Sequence[Segment] | None


def build(config: CollectorConfig, life: int) -> RolloutRunner:
    """Build environment, policy and collector. Blocks for as long as the user's code takes."""
    several = issubclass(config.collector_class, MultiCollector)
    options = dict(config.options)
    # Trajectories that span rollouts, and processes that never pause, mix versions: the data then says them itself.
    mixes = issubclass(config.collector_class, MultiAsyncCollector) or options.get("trajs_per_batch") is not None
    shared = SharedVersion.create() if mixes else None
    env = _environments(config, shared, several=several)
    policy = config.policy
    if config.policy_factory is not None and not several:
        policy = config.policy_factory()
    elif config.policy_factory is not None:
        options |= _weights_for_factory(config.policy_factory)
    cutter = Cutter() if config.cut_short else None
    if cutter is not None and not several:
        options["interruptor"] = cutter
    if not several:
        options["return_same_td"] = True
    collector = config.collector_class(
        env, policy, frames_per_batch=config.frames_per_request, total_frames=-1, **options
    )
    return RolloutRunner(config, collector, life, cutter, shared)


def _environments(config: CollectorConfig, shared: SharedVersion | None, *, several: bool) -> Any:
    create = config.create_env
    if not isinstance(create, EnvBase):
        create = partial(create, **config.create_env_kwargs)
    if several:
        any_time = issubclass(config.collector_class, MultiAsyncCollector)
        maker = partial(stamped, create, shared, any_time=any_time) if shared is not None else create
        return [maker] * config.workers
    env = create if isinstance(create, EnvBase) else create()
    return stamped(env, shared, any_time=False) if shared is not None else env


def _weights_for_factory(factory: Callable[[], Any]) -> dict[str, Any]:
    # Without a scheme of its own, such a collector would keep the factory's weights in its processes for ever.
    from torchrl.weight_update import SharedMemWeightSyncScheme

    return {"policy_factory": factory, "weight_sync_schemes": {POLICY: SharedMemWeightSyncScheme()}}


class RolloutRunner:
    """A collector that answers requests."""

    def __init__(
        self, config: CollectorConfig, collector: Any, life: int, cutter: Cutter | None, shared: SharedVersion | None
    ) -> None:
        self.collector = collector
        self._config = config
        self._life = life
        self._cutter = cutter
        self._shared = shared
        self._several = isinstance(collector, MultiCollector)
        self._frames = config.frames_per_request
        self._rollouts: Iterator[TensorDictBase] = iter(collector)
        self._policy = _policy_of(collector, config)
        self.inbox = Inbox(WeightsTarget(self._tensors()), self._loaded if self._several or shared else None)
        if config.update_between_steps and isinstance(self._policy, nn.Module):
            self._policy.register_forward_pre_hook(lambda *_: self.inbox.before_step())

    def roll(
        self,
        request_id: int,
        frames: int,
        min_version: int,
        *,
        random: bool,
        exactly: tuple[int, snapshots.Snapshot] | None,
    ) -> Rolled:
        """Run one request to its end."""
        self.inbox.begin_rollout(min_version, exactly)
        try:
            self._ask_for(frames, random=random)
            if self._cutter is not None:
                self._cutter.begin(request_id)
            batch = next(self._rollouts)
        finally:
            segments = self.inbox.end_rollout()
        return self._finish(batch, segments)

    def cut_short(self, request_id: int) -> None:
        """End the rollout of that request after the step that runs, also if it has not begun yet."""
        if self._cutter is not None:
            self._cutter.cut(request_id)

    def environment_state(self) -> dict[str, Any]:
        """Of the collector's state, what the driver does not have: all but the policy and the counters."""
        return {key: value for key, value in self.collector.state_dict().items() if key not in _OF_THE_DRIVER}

    def load_environment_state(self, state: dict[str, Any]) -> None:
        self.collector.load_state_dict({**self.collector.state_dict(), **state})

    def _finish(self, batch: TensorDictBase, segments: list[Segment]) -> Rolled:
        if self._cutter is not None:
            batch = padded(batch, self._steps_of(batch))
        frames = _valid_frames(batch)
        if self._shared is not None:
            batch, oldest = _with_stamps(batch)
            rolled = Rolled(batch, frames, oldest, None)
        else:
            rolled = Rolled(batch, frames, min(segment.version for segment in segments), segments)
        return rolled if self._config.replay_buffer is None else self._written(rolled)

    def _steps_of(self, batch: TensorDictBase) -> int:
        environments: int = math.prod(batch.shape[:-1])
        return -(-self._frames // environments)

    def _written(self, rolled: Rolled) -> Rolled:
        batch = rolled.batch
        if batch is None:
            return rolled
        batch = batch.copy()
        if rolled.segments is not None:
            batch[keys.VERSION_KEY] = keys.versions_of(rolled.segments, batch.batch_size)
        ids = batch.get(keys.TRAJECTORY_KEY, None)
        if ids is not None:
            batch[keys.TRAJECTORY_KEY] = keys.distinct_trajectories(ids, self._life)
        mask = batch.get(keys.MASK_KEY, None)
        self._config.replay_buffer.extend(batch.reshape(-1) if mask is None else batch[mask])
        return Rolled(None, rolled.frames, rolled.oldest_version, None)

    def _ask_for(self, frames: int, *, random: bool) -> None:
        collector = self.collector
        # The collector counts frames by itself; the driver counts them over the whole fleet.
        collector.init_random_frames = collector._frames + frames if random else 0
        if frames != self._frames:
            if self._several:
                raise RuntimeError(f"{type(collector).__name__} cannot change from {self._frames} to {frames} frames")
            collector._setup_frames_per_batch(frames)
            if collector._use_buffers:
                memory = collector._final_rollout
                shape = (*memory.shape[:-1], collector.frames_per_batch)
                collector._final_rollout = memory[..., :1].expand(shape).clone()
            self._frames = frames

    def _tensors(self) -> dict[str, Tensor]:
        tensors = snapshots.by_every_name(self._policy) if isinstance(self._policy, nn.Module) else {}
        for path in self._config.models:
            module = self.collector
            for name in path.split("."):
                module = getattr(module, name)
            tensors |= {f"{path}:{name}": tensor for name, tensor in snapshots.by_every_name(module).items()}
        return tensors

    def _loaded(self, version: int) -> None:
        """Pass loaded weights on to the collector's processes, then say that they have them."""
        if self._several and isinstance(self._policy, nn.Module):
            self.collector.update_policy_weights_(TensorDict.from_module(self._policy).data)
        if self._shared is not None:
            self._shared.set(version)


def _policy_of(collector: Any, config: CollectorConfig) -> Any:
    """The module to load weights into. Processes have theirs; the one of this process is what they are sent."""
    if not isinstance(collector, MultiCollector):
        return collector.policy
    return config.policy_factory() if config.policy_factory is not None else config.policy


def _valid_frames(batch: TensorDictBase) -> int:
    mask = batch.get(keys.MASK_KEY, None)
    return batch.numel() if mask is None else int(mask.sum())


def _with_stamps(batch: TensorDictBase) -> tuple[TensorDictBase, int]:
    batch = batch.copy()
    batch["next"] = batch["next"].copy()
    stamps = batch.pop(STAMP_KEY)
    batch.pop(STAMP, None)  # what the step before left there
    collector = batch.get(keys.COLLECTOR, None)
    batch[keys.COLLECTOR] = TensorDict(batch_size=batch.batch_size) if collector is None else collector.copy()
    batch[keys.VERSION_KEY] = stamps
    mask = batch.get(keys.MASK_KEY, None)
    valid = stamps if mask is None else stamps[mask]
    return batch, int(valid.min()) if valid.numel() else 0

"""``FleetCollector``: TorchRL's collector interface over a fleet of Ray actors."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import ray
import torch
from tensordict import TensorDictBase
from torch import nn
from torchrl.collectors import BaseCollector, Collector
from torchrl.collectors.utils import split_trajectories
from torchrl.envs.utils import ExplorationType

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.codec.frames import COLLECTOR
from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.assemble import assemble
from collectorfleet.fleet.control import FleetControl
from collectorfleet.fleet.plans import check_arguments, check_collector, plan_of, replanning
from collectorfleet.fleet.pool import BufferPool
from collectorfleet.fleet.recipes import Recipes, refuse_schemes
from collectorfleet.fleet.weights import WeightsSource
from collectorfleet.gather.consumer import Consumer
from collectorfleet.gather.loop import GatherLoop
from collectorfleet.gather.shared import Limits, Shared, Staged
from collectorfleet.gather.state.admissions import Batch
from collectorfleet.gather.state.gather import Gather
from collectorfleet.gather.state.versions import PublishResult
from collectorfleet.policies.failure import FailurePolicy, ReplaceWithBackoff
from collectorfleet.policies.scaling import EmptyWholePods, ScalingPolicy
from collectorfleet.transport.ray.store import SpillWatch, room_for_batches
from collectorfleet.transport.ray.transport import RayTransport
from collectorfleet_api import ray_settings


class FleetCollector(FleetControl):
    """Collects with a fleet of Ray actors and survives them.

    Takes what :class:`torchrl.collectors.distributed.RayCollector` takes and iterates like it: Sync yields
    ``[shares, frames_per_batch / shares, ...]``, Async one collector's batch of ``frames_per_batch`` frames. Each frame
    carries the version of the weights that produced it under ``("collector", "weights_version")`` (int64). Nothing is
    collected before the first batch is asked for.

    Args:
        create_env_fn: builds the environment of a collector, in the collector. A :class:`~collectorfleet.Factory`
            travels as an import path; any other callable is pickled. A list gives each collector its own.
        policy: the module that is trained; published as version 1 before the first request.

    Keyword Args:
        policy_factory: builds the policy in each collector, when there is no ``policy``; a list gives each its own.
            Their weights are version 0 until ``update_policy_weights_(weights)`` publishes some.
        trust_policy, max_frames_per_traj, reset_at_each_iter, exploration_type, no_cuda_sync, trajs_per_batch,
            pre_collect_hook, post_collect_hook, use_env_creator: as in TorchRL.
        frames_per_batch: Sync: frames of one batch, over all shares. Async: frames of one collector's batch.
        total_frames: iteration ends once this many frames were handed out; -1 is endless.
        device, storing_device, env_device, policy_device: one for all, or a list with one for each collector.
        create_env_kwargs: arguments of ``create_env_fn``, for all or as a list.
        init_random_frames: frames with random actions before the policy acts, counted over all collectors, in whole
            requests.
        postproc, split_trajs: applied to each batch, here. Trajectory ids are unique over collectors and their lives.
        collector_class: "single", "sync", "async" or a class: what runs in each actor.
        num_workers_per_collector: processes of one collector, with "sync" or "async".
        collector_kwargs: more arguments of ``collector_class``, for all or as a list; they win over those given here.
        num_collectors: how many collectors; needed when no argument is a list.
        sync: batches of shares from all collectors, or each collector's batch as it comes.
        remote_configs: options of the Ray actors, for all or as a list; default ``{"num_cpus": 1}``.
        ray_init_config: arguments of ``ray.init`` if Ray is not initialised yet; a Ray that this starts gives memory
            back faster than it would by itself, see ``collectorfleet_api.ray_settings``. ``shutdown()`` leaves Ray
            running.
        update_after_each_batch: publish ``policy`` whenever the next batch is asked for.
        max_weight_update_interval: publish it after every so many batches; -1 never does.
        replay_buffer: one with ``service_backend="ray"``; collectors write into it and the iteration yields None.
        weight_updater, weight_sync_schemes, weight_recv_schemes: refused; weights have one way.
        envs_per_collector: environments stepped together in one collector (``SerialEnv``).
        shares: Sync: equal shares of a batch, whatever the number of collectors. Default: one for each collector, and
            anew when the fleet is resized.
        max_staleness: how many versions behind a frame may be when it is handed out. Sync: default 0, strictly
            on-policy. Async: None is unbounded, with two requests in flight per collector.
        exact_staleness: Sync: every share of a batch is made with the version that was published when it was asked for;
            with ``max_staleness=1`` each batch but the first is exactly one version behind.
        first_shares: Sync: a batch is the first so many answers; later ones go into the next. Needs ``max_staleness``.
        preemptive_threshold: Sync: once this part of the shares is there, the others return what they have. Missing
            frames have trajectory id -1 and are False in ``("collector", "mask")``.
        weights_dtype: floating tensors travel as this dtype, such as ``torch.bfloat16``.
        weights_filter: what travels, by prefixes of names or a function of the name; the rest stays as it was built.
        models: further modules to publish, by their attribute path in the collector: ``{"env.world_model": module}``.
        update_between_steps: new weights are loaded between two steps of a running rollout.
        copy: False hands out views of the object store, which must not be written to.
        threads_per_collector: threads of torch in a collector.
        min_available: fewest available collectors; fewer for ``available_timeout`` ends the iteration with
            :class:`~collectorfleet.TooFewCollectors`.
        available_timeout: for how long there may be too few, from the start as well.
        request_timeout: least time that one request may take, from the start of its execution, before its collector
            counts as hung; more if past requests took long.
        first_request_timeout: the same for the first request of a collector.
        failure_policy: decides what becomes of a lost collector.
        scaling_policy: decides which collectors leave a smaller fleet.
        resume_from: what ``state_dict()`` returned: counters go on, and the first version is the next one.

    Iterating raises :class:`~collectorfleet.UserCodeError` with the original text when the environment or the policy
    raises.
    """

    def __init__(
        self,
        create_env_fn: Any,
        policy: nn.Module | Callable[[TensorDictBase], TensorDictBase] | None = None,
        *,
        policy_factory: Callable[[], Any] | Sequence[Callable[[], Any]] | None = None,
        trust_policy: bool | None = None,
        frames_per_batch: int,
        total_frames: int = -1,
        device: Any = None,
        storing_device: Any = None,
        env_device: Any = None,
        policy_device: Any = None,
        create_env_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        max_frames_per_traj: int | None = -1,
        init_random_frames: int | None = -1,
        reset_at_each_iter: bool = False,
        postproc: Callable[[TensorDictBase], TensorDictBase] | None = None,
        split_trajs: bool = False,
        exploration_type: ExplorationType = ExplorationType.RANDOM,
        collector_class: str | type[BaseCollector] = Collector,
        collector_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        num_workers_per_collector: int = 1,
        sync: bool = False,
        ray_init_config: Mapping[str, Any] | None = None,
        remote_configs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        num_collectors: int | None = None,
        update_after_each_batch: bool = False,
        max_weight_update_interval: int = -1,
        replay_buffer: Any = None,
        weight_updater: Any = None,
        weight_sync_schemes: Any = None,
        weight_recv_schemes: Any = None,
        use_env_creator: bool = False,
        no_cuda_sync: bool | None = None,
        trajs_per_batch: int | None = None,
        pre_collect_hook: Callable[[], None] | None = None,
        post_collect_hook: Callable[[TensorDictBase], None] | None = None,
        envs_per_collector: int = 1,
        shares: int | None = None,
        max_staleness: int | None = None,
        exact_staleness: bool = False,
        first_shares: int | None = None,
        preemptive_threshold: float | None = None,
        weights_dtype: torch.dtype | None = None,
        weights_filter: Sequence[str] | Callable[[str], bool] | None = None,
        models: Mapping[str, nn.Module] | None = None,
        update_between_steps: bool = False,
        copy: bool = True,
        threads_per_collector: int = 1,
        min_available: int = 1,
        available_timeout: timedelta = timedelta(minutes=10),
        request_timeout: timedelta = timedelta(minutes=1),
        first_request_timeout: timedelta = timedelta(minutes=5),
        failure_policy: FailurePolicy | None = None,
        scaling_policy: ScalingPolicy | None = None,
        resume_from: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        refuse_schemes(
            weight_updater=weight_updater,
            weight_sync_schemes=weight_sync_schemes,
            weight_recv_schemes=weight_recv_schemes,
        )
        recipes = Recipes(
            create_env_fn=create_env_fn,
            create_env_kwargs=create_env_kwargs,
            policy_factory=policy_factory,
            collector_kwargs=collector_kwargs,
            remote_configs=remote_configs,
            devices={
                "device": device,
                "storing_device": storing_device,
                "env_device": env_device,
                "policy_device": policy_device,
            },
            num_collectors=num_collectors,
            collector_class=collector_class,
            workers=num_workers_per_collector,
            envs_per_collector=envs_per_collector,
            use_env_creator=use_env_creator,
            common={
                "max_frames_per_traj": max(0, max_frames_per_traj or 0) or None,
                "reset_at_each_iter": reset_at_each_iter,
                "exploration_type": exploration_type,
                "trust_policy": trust_policy,
                "no_cuda_sync": no_cuda_sync,
                "trajs_per_batch": trajs_per_batch,
                "pre_collect_hook": pre_collect_hook,
                "post_collect_hook": post_collect_hook,
            },
            models=list(models or {}),
            update_between_steps=update_between_steps,
            cut_short=preemptive_threshold is not None,
            threads=threads_per_collector,
        )
        plan = plan_of(
            frames_per_batch=frames_per_batch,
            total_frames=total_frames,
            collectors=recipes.collectors,
            sync=sync,
            shares=shares,
            steps_of=recipes.frames_of_a_step,
            max_staleness=max_staleness,
            exact_staleness=exact_staleness,
            first_shares=first_shares,
            preemptive_threshold=preemptive_threshold,
            init_random_frames=max(0, init_random_frames or 0),
        )
        check_collector(recipes.config(0, plan.frames_per_share), plan)
        check_arguments(policy, policy_factory, replay_buffer, split_trajs=split_trajs, postproc=postproc, plan=plan)
        # What TorchRL's own `len(collector)` and its trainers read.
        self.total_frames = total_frames
        self.frames_per_batch = self.requested_frames_per_batch = frames_per_batch
        self.init_random_frames = max(0, init_random_frames or 0)
        self.replay_buffer = replay_buffer
        self._stacked = sync
        self._copy = copy
        self._split_trajs = split_trajs
        self._postproc = postproc
        self._interval = 1 if update_after_each_batch else max_weight_update_interval
        self._batches_since_update = 0
        self._pool = BufferPool()
        self._thread: threading.Thread | None = None
        self._source = WeightsSource(policy, models or {}, dtype=weights_dtype, names=weights_filter)
        if not ray.is_initialized():
            for name, value in ray_settings.environment().items():
                os.environ.setdefault(name, value)
            ray.init(**dict(ray_init_config or {}))
        clients = [] if replay_buffer is None else replay_buffer.clients(recipes.collectors)

        def config_of(name: str) -> CollectorConfig:
            index = int(name[1:])
            client = clients[index % len(clients)] if clients else None
            return recipes.config(index, self._gather.shared.gather.plan.frames_per_share, client)

        self._transport = RayTransport(
            config_of,
            lambda name: recipes.remote_options(int(name[1:])),
            policy=self._source.for_collectors(),
            seed=torch.initial_seed(),
        )
        shared = Shared(
            Gather(replace(plan, store_bytes=room_for_batches())),
            recipes.collectors,
            Limits(request_timeout, first_request_timeout, available_timeout, min_available),
            has_weights=self._source.has_weights,
        )
        self._gather = Consumer(
            shared,
            self._transport,
            scaling_policy or EmptyWholePods(),
            replanned=replanning(frames_per_batch, recipes.frames_of_a_step, preemptive_threshold)
            if plan.in_order and shares is None and not recipes.has_processes
            else None,
        )
        self._loop = GatherLoop(shared, self._transport, failure_policy or ReplaceWithBackoff())
        if resume_from is not None:
            self._gather.restore(resume_from)
        self._spills = SpillWatch(self._gather.note)
        self._stage()
        self._loop.start()
        self._spills.start()

    @property
    def policy(self) -> Any:
        """The module that is published; train it in place. None with a ``policy_factory``."""
        return self._source.policy

    @property
    def models(self) -> Mapping[str, nn.Module]:
        """The further modules that are published, by their attribute path in a collector; train them in place."""
        return self._source.models

    @property
    def num_collectors(self) -> int:
        """Collectors that are wanted."""
        return self._gather.shared.slots.desired

    num_workers = num_collectors

    @property
    def remote_collectors(self) -> list[Any]:
        """The Ray actors of the collectors that live now."""
        return self._transport.handles()

    # ---------------------------------------------------------------- batches
    def iterator(self) -> Iterator[TensorDictBase | None]:
        while True:
            if self._batches_since_update and 0 <= self._interval <= self._batches_since_update:
                if not self._gather.finished:
                    self._stage()
                self._batches_since_update = 0
            found = self._gather.next()
            if found is None:
                self.shutdown()
                return
            self._batches_since_update += 1
            batch = self._assembled(found)
            del found
            # Handed over, not kept: a buffer is used again only once nobody refers to it.
            held = [batch]
            del batch
            yield held.pop()

    def _assembled(self, batch: Batch) -> TensorDictBase | None:
        parts = [share.payload for share in batch.shares]
        if parts[0] is None:
            return None
        made = assemble(parts, stacked=self._stacked, pool=self._pool, copy=self._copy)
        if self._split_trajs:
            made = split_trajectories(made, prefix=COLLECTOR)
        return made if self._postproc is None else self._postproc(made)

    # ---------------------------------------------------------------- weights
    def update_policy_weights_(
        self,
        policy_or_weights: Any = None,
        *,
        weights: Any = None,
        policy: Any = None,
        model_id: str | None = None,
        weights_dict: Mapping[str, Any] | None = None,
        worker_ids: Any = None,
        wait: bool = False,
        timeout: float = 60.0,
    ) -> Mapping[str, PublishResult] | None:
        """Publish a new version: a copy is taken here, everything else happens in the background.

        Takes a module, a TensorDict or a dict of tensors; nothing is the policy as it is now. Returns at once;
        ``wait=True`` returns what became of it in each collector, by name, after all applied it or ``timeout`` seconds.
        A staleness bound lets the version advance once for each batch handed out: until then the publish waits, and
        ``wait=True`` says so.
        """
        if worker_ids is not None:
            raise InvalidOption("worker_ids: every collector takes the newest weights; drop this argument")
        given = [one for one in (policy_or_weights, weights, policy, weights_dict) if one is not None]
        if len(given) > 1:
            raise InvalidOption("update_policy_weights_: weights came in several arguments; pass one of them")
        staged = self._stage(given[0] if given else None, model_id)
        return self._gather.wait_applied(staged, timeout) if wait and staged else None

    def _stage(self, given: Any = None, model: str | None = None) -> Staged | None:
        snapshot = self._source.take(given, model)
        if snapshot is None:
            if given is not None or model is not None:
                raise InvalidOption("update_policy_weights_: there is no tensor in what was passed")
            return None
        return self._gather.stage(snapshot)

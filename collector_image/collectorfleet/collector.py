"""``FleetCollector``: TorchRL's collector interface over a fleet of Ray actors."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import ray
import torch
from tensordict import TensorDict, TensorDictBase
from torch import nn
from torchrl.collectors import BaseCollector
from torchrl.envs import SerialEnv

from collectorfleet.data import assemble
from collectorfleet.errors import InvalidOption
from collectorfleet.gather.loop import GatherLoop, Limits
from collectorfleet.gather.state import Gather, Plan
from collectorfleet.policies.failure import FailurePolicy, ReplaceWithBackoff
from collectorfleet.report import report
from collectorfleet.transport.actor import ActorConfig
from collectorfleet.transport.ray_objects import RayObjects
from collectorfleet.user_code import name_of
from collectorfleet.weights import snapshot as snapshots
from collectorfleet_api.shares import divides
from collectorfleet_api.v1alpha1.status import DriverReport

VERSION_KEY = assemble.VERSION_KEY


class FleetCollector(BaseCollector):
    """Collects with a fleet of Ray actors and survives them.

    Takes what :class:`torchrl.collectors.distributed.RayCollector` takes and iterates like it: Sync yields
    ``[shares, frames_per_batch / shares, ...]``, Async one collector's batch of ``frames_per_batch`` frames. Each frame
    carries the version of the weights that produced it under ``("collector", "weights_version")`` (int64).

    Args:
        create_env_fn: builds the environment of a collector, in the collector. A :class:`~collectorfleet.Factory`
            travels as an import path; any other callable is pickled. A list gives each collector its own.
        policy: the module that is trained; published as version 1 before the first request.

    Keyword Args:
        policy_factory: called once, here, when there is no ``policy``.
        frames_per_batch: Sync: frames of one batch, over all shares. Async: frames of one collector's batch.
        total_frames: iteration ends once this many frames were handed out; -1 is endless.
        num_collectors: how many collectors; needed when ``create_env_fn`` is not a list.
        envs_per_collector: environments stepped together in one collector (``SerialEnv``).
        sync: batches of shares from all collectors, or each collector's batch as it comes.
        shares: Sync: equal shares of a batch, which the collectors work off between them; default one for each.
        max_staleness: how many versions behind a frame may be when it is handed out. Sync: default 0, strictly
            on-policy. Async: None is unbounded, with two requests in flight per collector.
        update_after_each_batch: publish ``policy`` whenever the next batch is asked for.
        remote_configs: options of the Ray actors; default ``{"num_cpus": 1}``.
        ray_init_config: arguments of ``ray.init`` if Ray is not initialised yet.
        min_available: fewest available collectors; fewer for ``available_timeout`` ends the iteration with
            :class:`~collectorfleet.TooFewCollectors`.
        available_timeout: for how long there may be too few, from the start as well.
        request_timeout: least time that one request may take, from the start of its execution, before its collector
            counts as hung; more if past requests took long.
        first_request_timeout: the same for the first request of a collector.
        failure_policy: decides what becomes of a lost collector.

    Iterating raises :class:`~collectorfleet.UserCodeError` with the original text when the environment or the policy
    raises.
    """

    def __init__(
        self,
        create_env_fn: Callable[[], Any] | Sequence[Callable[[], Any]],
        policy: nn.Module | Callable[[TensorDictBase], TensorDictBase] | None = None,
        *,
        policy_factory: Callable[[], Any] | None = None,
        frames_per_batch: int,
        total_frames: int = -1,
        num_collectors: int | None = None,
        envs_per_collector: int = 1,
        sync: bool = False,
        shares: int | None = None,
        max_staleness: int | None = None,
        update_after_each_batch: bool = False,
        remote_configs: Mapping[str, Any] | None = None,
        ray_init_config: Mapping[str, Any] | None = None,
        min_available: int = 1,
        available_timeout: timedelta = timedelta(minutes=10),
        request_timeout: timedelta = timedelta(minutes=1),
        first_request_timeout: timedelta = timedelta(minutes=5),
        failure_policy: FailurePolicy | None = None,
    ) -> None:
        super().__init__()
        envs = list(create_env_fn) if isinstance(create_env_fn, Sequence) else [create_env_fn]
        collectors = _number_of(envs, num_collectors)
        if envs_per_collector > 1:
            envs = [_Serial(env, envs_per_collector) for env in envs]
        if not sync and max_staleness == 0:
            raise InvalidOption("max_staleness: 0 in Async leaves one collector busy; use sync=True, or at least 1")
        shares = _shares(frames_per_batch, shares or collectors, envs_per_collector) if sync else 1
        plan = Plan(
            shares=shares,
            frames_per_share=frames_per_batch // shares,
            in_order=sync,
            bound=(max_staleness or 0) if sync else max_staleness,
            total_frames=None if total_frames == -1 else total_frames,
        )
        self._policy = policy if policy is not None or policy_factory is None else policy_factory()
        self._update_after_each_batch = update_after_each_batch
        # What TorchRL's own `len(collector)` reads.
        self.total_frames = total_frames
        self.requested_frames_per_batch = frames_per_batch
        if not ray.is_initialized():
            ray.init(**dict(ray_init_config or {}))
        options = dict(remote_configs or {"num_cpus": 1})

        def config_of(name: str) -> ActorConfig:
            return ActorConfig(
                create_env=envs[int(name[1:]) % len(envs)],
                policy=self._policy,
                frames_per_request=plan.frames_per_share,
                collector_options={"total_frames": -1, "return_same_td": True},
                gpu_fraction=float(options.get("num_gpus") or 0.0),
            )

        transport = RayObjects(config_of, lambda _name: options, seed=torch.initial_seed())
        self._transport_name = transport.name
        self._loop = GatherLoop(
            transport,
            Gather(plan),
            collectors=collectors,
            min_available=min_available,
            limits=Limits(request_timeout, first_request_timeout, available_timeout),
            policy=failure_policy or ReplaceWithBackoff(),
            has_weights=isinstance(self._policy, nn.Module),
        )
        self._publish()
        self._loop.start()

    @property
    def policy(self) -> Any:
        """The module that is published; train it in place."""
        return self._policy

    def iterator(self) -> Iterator[TensorDictBase]:
        first = True
        while True:
            if self._update_after_each_batch and not first and not self._loop.finished:
                self._publish()
            first = False
            batch = self._loop.next()
            if batch is None:
                self.shutdown()
                return
            yield assemble.assemble(batch, stacked=self._loop.gather.plan.in_order)

    def update_policy_weights_(
        self, policy_or_weights: Any = None, *, wait: bool = False, timeout: float = 60.0
    ) -> dict[str, int | None] | None:
        """Publish a new version: a copy is taken here, everything else happens in the background.

        Returns at once; ``wait=True`` returns what version each collector has, after all available ones applied the
        new one or ``timeout`` seconds.
        """
        with self._loop.changed:
            version = self._loop.gather.version + 1
        self._publish(policy_or_weights)
        return self._loop.wait_applied(version, timeout) if wait else None

    def status(self) -> DriverReport:
        """What is true now: ``weights``, ``progress`` (without ``metrics``) and ``collectors``.

        Any thread may call it; it still answers after ``shutdown()``.
        """
        with self._loop.changed:
            return report(self._loop, time.monotonic(), self._transport_name)

    def wait_for_change(self, seen: int, timeout: float) -> int:
        """Block until something changed that a person wants to know at once, or ``timeout`` seconds passed.

        Such a change is a collector that becomes available or is lost, the first batch, an error, the end. Returns the
        number of changes so far; pass it as ``seen`` the next time (0 at first).
        """
        with self._loop.changed:
            self._loop.changed.wait_for(lambda: self._loop.changes > seen, timeout)
            return self._loop.changes

    def resize(self, num_collectors: int) -> None:
        """Change how many collectors there are, while iterating or not."""
        if num_collectors < 1:
            raise InvalidOption(f"num_collectors: {num_collectors} is fewer than 1")
        self._loop.resize(num_collectors)

    def shutdown(self, timeout: float | None = None, close_env: bool = True, raise_on_error: bool = True) -> None:  # noqa: ARG002 (TorchRL's signature)
        """End the collectors; blocks for at most ``timeout`` seconds. Ray itself goes on."""
        self._loop.close(timeout)

    def set_seed(self, seed: int, static_seed: bool = False) -> int:  # noqa: ARG002
        raise InvalidOption("set_seed: seed the environments in their factory")

    def state_dict(self) -> OrderedDict[str, Any]:
        with self._loop.changed:
            return OrderedDict(frames=self._loop.gather.frames_handed_out, version=self._loop.gather.version)

    def load_state_dict(self, state_dict: OrderedDict[str, Any]) -> None:
        with self._loop.changed:
            self._loop.gather.frames_handed_out = int(state_dict["frames"])
            self._loop.gather.version = int(state_dict["version"])

    def _publish(self, policy_or_weights: Any = None) -> None:
        tensors = _tensors_of(self._policy if policy_or_weights is None else policy_or_weights)
        if tensors is not None:
            self._loop.publish(snapshots.take(tensors))


def _tensors_of(source: Any) -> dict[str, torch.Tensor] | None:
    if isinstance(source, nn.Module):
        return snapshots.tensors_of(source)
    if isinstance(source, TensorDictBase):
        flat: TensorDict = source.flatten_keys(".")
        return {str(key): value.detach() for key, value in flat.items()}
    if isinstance(source, Mapping):
        return {str(key): value.detach() for key, value in source.items()}
    return None


class _Serial:
    """Several environments of one factory, stepped together."""

    def __init__(self, create_env: Callable[[], Any], envs: int) -> None:
        self._create_env = create_env
        self._envs = envs
        self.__qualname__ = name_of(create_env)

    def __call__(self) -> Any:
        return SerialEnv(self._envs, self._create_env)


def _number_of(envs: Sequence[Any], num_collectors: int | None) -> int:
    if num_collectors is None:
        return len(envs)
    if len(envs) not in (1, num_collectors):
        raise InvalidOption(
            f"create_env_fn: {len(envs)} environments for {num_collectors} collectors; pass 1 or as many"
        )
    return num_collectors


def _shares(frames_per_batch: int, shares: int, envs_per_collector: int) -> int:
    if not divides(frames_per_batch, shares, envs_per_collector):
        raise InvalidOption(
            f"frames_per_batch: {frames_per_batch} does not divide into {shares} shares of whole steps of "
            f"{envs_per_collector} environments; use a multiple of {shares * envs_per_collector}"
        )
    return shares

# ruff: noqa: ARG002
"""``FleetCollector``: TorchRL's collector interface over a fleet of Ray actors."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from tensordict import TensorDictBase
from torch import nn
from torchrl.collectors import BaseCollector

from collectorfleet_api.v1alpha1.status import DriverReport

# In every batch: int64, the batch's own shape; the weights version that produced each frame.
VERSION_KEY = ("collector", "weights_version")


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
        max_staleness: int | None = None,
        update_after_each_batch: bool = False,
        remote_configs: Mapping[str, Any] | None = None,
        ray_init_config: Mapping[str, Any] | None = None,
        min_available: int = 1,
        available_timeout: timedelta = timedelta(minutes=10),
        request_timeout: timedelta = timedelta(minutes=1),
        first_request_timeout: timedelta = timedelta(minutes=5),
    ) -> None:
        super().__init__()
        raise NotImplementedError

    @property
    def policy(self) -> Any:
        """The module that is published; train it in place."""
        raise NotImplementedError

    def iterator(self) -> Iterator[TensorDictBase]:
        raise NotImplementedError

    def update_policy_weights_(self, policy_or_weights: Any = None, *, wait: bool = False, **kwargs: Any) -> Any:
        """Publish a new version: a copy is taken here, everything else happens in the background.

        Returns at once; ``wait=True`` returns what each collector did with it.
        """
        raise NotImplementedError

    def status(self) -> DriverReport:
        """What is true now: ``weights``, ``progress`` (without ``metrics``) and ``collectors``. Any thread may call it;
        still answers after ``shutdown()``."""
        raise NotImplementedError

    def wait_for_change(self, seen: int, timeout: float) -> int:
        """Block until something changed that a person wants to know at once, or ``timeout`` seconds passed.

        Such a change is a collector that becomes available or is lost, a publish, an error, the end. Returns the number
        of changes so far; pass it as ``seen`` the next time (0 at first).
        """
        raise NotImplementedError

    def resize(self, num_collectors: int) -> None:
        """Change how many collectors there are, while iterating or not."""
        raise NotImplementedError

    def shutdown(self, timeout: float | None = None, close_env: bool = True, raise_on_error: bool = True) -> None:
        """End the collectors; blocks for at most ``timeout`` seconds. Ray itself goes on."""
        raise NotImplementedError

    def set_seed(self, seed: int, static_seed: bool = False) -> int:
        raise NotImplementedError

    def state_dict(self) -> OrderedDict[str, Any]:
        raise NotImplementedError

    def load_state_dict(self, state_dict: OrderedDict[str, Any]) -> None:
        raise NotImplementedError

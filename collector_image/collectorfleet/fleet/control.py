"""What is asked of a fleet besides batches and weights: its state, its size, a pause, the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import ray
from torch import nn
from torchrl.envs import EnvBase

from collectorfleet.actor.normalization.environment import load
from collectorfleet.codec import normalization as codec
from collectorfleet.errors import CollectorClosed, InvalidOption
from collectorfleet.fleet.calls import calls_of_each
from collectorfleet.fleet.evaluation_status import evaluation_status
from collectorfleet.fleet.inquiry import Inquiry
from collectorfleet.fleet.parameter_control import ParameterControl
from collectorfleet.fleet.report import report, stats
from collectorfleet.gather import counters
from collectorfleet.transport.interface import FleetTransport
from collectorfleet_api.v1alpha1.report import DriverReport

log = logging.getLogger(__name__)

# What collectors load at the end is of no use to anybody but the reader of the status.
_SETTLE_SECONDS: Final = 5.0
_PUBLISHES: Final = "update_policy_weights_"


class FleetControl(ParameterControl):
    """Methods of :class:`~collectorfleet.FleetCollector` that do not iterate."""

    replay_buffer: Any
    requested_frames_per_batch: int
    _thread: threading.Thread | None = None

    @property
    @abstractmethod
    def policy(self) -> Any:
        """The module that is published."""

    @abstractmethod
    def _stage(self) -> object:
        """Have the policy published as it is now."""

    @property
    def _transport(self) -> FleetTransport:
        return self._engine.transport

    def status(self) -> DriverReport:
        """What is true now: ``weights``, ``progress`` (without ``metrics``) and ``collectors``.

        Any thread may call it; it still answers after ``shutdown()``.
        """
        evaluation = self._engine.evaluation
        evaluated = None if evaluation is None else evaluation_status(evaluation)
        with self._consumer.shared.changed:
            found = report(self._consumer.shared, time.monotonic(), self._transport.name, self._engine.spilled_bytes)
        return found.model_copy(update={"evaluation": evaluated})

    def stats(
        self, workers: Literal["aggregate", "per_worker", "both"] = "aggregate", *, timeout: float | None = None
    ) -> dict[str, int | float | bool]:
        """Progress as TorchRL has it, from what is known here: asks no collector and so needs no ``timeout``."""
        del timeout
        with self._consumer.shared.changed:
            return stats(self._consumer.shared, workers, self.requested_frames_per_batch)

    def wait_for_change(self, seen: int, timeout: float) -> int:
        """Block until something changed that a person wants to know at once, or ``timeout`` seconds passed.

        Such a change is a collector that becomes available or is lost, the first batch, an error, the end. Returns the
        number of changes so far; pass it as ``seen`` the next time (0 at first).
        """
        shared = self._consumer.shared
        with shared.changed:
            shared.changed.wait_for(lambda: shared.changes > seen, timeout)
            return shared.changes

    def counters(self) -> dict[str, Any]:
        """What :meth:`state_dict` has of the fleet itself; asks no collector."""
        with self._consumer.shared.changed:
            return counters.counters_of(self._consumer.shared)

    def state_dict(self, timeout: float = 60.0) -> OrderedDict[str, Any]:
        """Counters, the policy's state, :meth:`normalization`, and the state of each collector's environment.

        Collectors answer between two rollouts; raises TimeoutError as :meth:`map_fn` does.
        """
        state: OrderedDict[str, Any] = OrderedDict(self.counters())
        if isinstance(self.policy, nn.Module):
            state["policy_state_dict"] = self.policy.state_dict()
        state["normalization"] = self.normalization()
        state["environment_parameters"] = self.environment_parameters_state()
        state["collectors"] = self._inquiry("state_dict", timeout).of_all("environment_state")
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any], timeout: float = 60.0) -> None:
        """Go on where ``state_dict()`` was taken; before the first batch is asked for.

        Raises:
            InvalidOption: batches were collected already.
        """
        counters.restore(self._consumer.shared, state_dict)
        self.load_environment_parameters_state(state_dict.get("environment_parameters", {}))
        if isinstance(self.policy, nn.Module) and "policy_state_dict" in state_dict:
            self.policy.load_state_dict(state_dict["policy_state_dict"])
        saved = {name: (state,) for name, state in state_dict.get("collectors", {}).items()}
        self._inquiry("load_state_dict", timeout).of_all("load_environment_state", saved)
        self._stage()

    def normalization(self) -> dict[str, Any]:
        """What the environments of all collectors have seen so far, as if one had seen all of it; asks no collector.

        By name, such as ``1.VecNormV2.observation`` (its place among the transforms, its class, the key): ``decay``,
        ``updates``, and ``sums`` (float64), as ``docs/normalization.md`` has them. Empty as long as no collector is
        built, and if environments keep nothing.
        """
        return codec.to_state(self._consumer.normalization)

    def load_normalization(self, env: EnvBase) -> None:
        """Give an environment of this process, such as one for evaluation, what :meth:`normalization` has now.

        It goes on from there by itself unless its transforms are frozen, which may be done before or after.

        Raises:
            InvalidOption: it has other transforms than the environments of the collectors, or some in other processes.
        """
        load(env, self._consumer.normalization)

    def set_seed(self, seed: int, static_seed: bool = False, timeout: float = 60.0) -> int:
        """Seed the environments of all collectors, one after the other; returns the next seed.

        A collector that is replaced later gets a seed of its own, so that it does not repeat the lost one's episodes.
        """
        inquiry = self._inquiry("set_seed", timeout)
        for name in inquiry.names():
            for following in inquiry.of_one(name, "set_seed", seed, static_seed):
                seed = following
        self._transport.seed_later_incarnations(seed)
        return seed

    def _inquiry(self, what: str, timeout: float) -> Inquiry:
        return Inquiry(self._consumer, self._transport, what, timeout)

    # ---------------------------------------------------------------- size and end
    def map_fn(
        self,
        method_name: str,
        list_of_args: Sequence[Sequence[Any]] | None = None,
        list_of_kwargs: Sequence[Mapping[str, Any]] | None = None,
        timeout: float = 60.0,
    ) -> list[Any]:
        """Call a method of TorchRL's collector in each actor, or what is at a path such as ``env.set_seed``.

        The lists have an entry for each collector, in the order of their names, as the returned list has. Collectors
        answer between two rollouts. One that is lost before it answered is asked again once it is replaced, and one
        that nothing replaces has no entry. What is changed this way is not in a later replacement, which is logged.

        Raises:
            InvalidOption: the arguments are no lists with an entry for each collector, or weights would be changed.
            TimeoutError: a collector is missing after ``timeout`` seconds, or did not answer within as many again.
            UserCodeError: the method raised, or what it returns cannot travel.
        """
        if method_name.rpartition(".")[2] == _PUBLISHES:
            raise InvalidOption(
                f"map_fn: {method_name} would give collectors weights without a version; call {_PUBLISHES}() "
                "of the fleet"
            )
        inquiry = self._inquiry(f"map_fn({method_name!r})", timeout)
        calls = calls_of_each(method_name, inquiry.names(), list_of_args, list_of_kwargs)
        returned = inquiry.of_all("execute", calls)
        self._consumer.note_mapped(method_name)
        return list(returned.values())

    def get_distant_attr(self, attr: str, timeout: float = 60.0) -> list[Any]:
        """What is at the path ``attr`` in TorchRL's collector in each actor, as :meth:`map_fn` asks for it."""
        inquiry = self._inquiry(f"get_distant_attr({attr!r})", timeout)
        return list(inquiry.of_all("attribute", dict.fromkeys(inquiry.names(), (attr,))).values())

    def getattr_env(self, attr: str) -> Any:
        """What an attribute of the environment is in the first collector, as TorchRL's trainers ask for it."""
        return self.get_distant_attr(f"env.{attr}")[0]

    def getattr_rb(self, attr: str) -> Any:
        """What an attribute of the replay buffer is."""
        return getattr(self.replay_buffer, attr)

    def resize(self, num_collectors: int, min_available: int | None = None) -> None:
        """Change how many collectors there are, and how few are enough, while iterating or not."""
        if num_collectors < 1:
            raise InvalidOption(f"num_collectors: {num_collectors} is fewer than 1")
        self._consumer.resize(num_collectors, min_available)

    def drain_pods(self, pods: Collection[str]) -> None:
        """Take the collectors off these pods (or hosts), and off no others, each at the end of its rollouts.

        They are no loss and cost no budget: each starts again, wherever Ray finds room, once its pod is not named any
        more. ``status().drained_pods`` lists pods that are empty. Returns at once.
        """
        self._consumer.drain_pods(pods)

    def start(self) -> None:
        """Collect on a thread of its own, into ``replay_buffer``.

        What ends it too early is logged, and raised by the next ``update_policy_weights_()``.
        """
        if self.replay_buffer is None:
            raise InvalidOption("start: no replay buffer receives the batches; pass replay_buffer")
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="collectorfleet-run", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            for _ in self.iterator():
                pass
        except CollectorClosed:
            pass
        except Exception as error:
            log.exception("collecting into the replay buffer ended")
            self._consumer.abort(error)

    @contextlib.contextmanager
    def pause(self, timeout: float = 30.0, *, resume: bool = True) -> Iterator[None]:
        """Collect nothing inside of the context: requests under way are answered first.

        Raises:
            TimeoutError: they were not within ``timeout`` seconds; collection goes on.
        """
        is_paused_already = self._consumer.paused
        if not self._consumer.pause(timeout):
            raise TimeoutError(f"pause: requests are still under way after {timeout:g} s")
        try:
            yield
        finally:
            if resume and not is_paused_already:
                self._consumer.resume()

    def settle(self) -> None:
        """Wait until collectors have acknowledged the newest version, so that the last status says so.

        Blocks for a few seconds at most, and not at all if nothing is outstanding or no collector is available.
        """
        self._consumer.settle(_SETTLE_SECONDS)

    def shutdown(
        self,
        timeout: float | None = None,
        close_env: bool = True,  # noqa: ARG002 (TorchRL's signature)
        raise_on_error: bool = True,  # noqa: ARG002 (TorchRL's signature)
        shutdown_ray: bool = False,
    ) -> None:
        """End the collectors; blocks for at most ``timeout`` seconds. Ray itself goes on unless asked otherwise."""
        self._engine.stop(timeout)
        if shutdown_ray:
            ray.shutdown()

    async def async_shutdown(self, shutdown_ray: bool = False) -> None:
        """The same without blocking the event loop."""
        await asyncio.to_thread(self.shutdown, shutdown_ray=shutdown_ray)

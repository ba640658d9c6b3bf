"""The methods of a fleet that report its state, change its size, pause it and end it."""

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

from collectorfleet import option_types
from collectorfleet.actor.normalization.environment import load
from collectorfleet.codec import normalization as codec
from collectorfleet.errors import CollectorClosed, InvalidOption, UserCodeError
from collectorfleet.fleet.calls import calls_of_each
from collectorfleet.fleet.evaluation_status import evaluation_status
from collectorfleet.fleet.inquiry import Inquiry
from collectorfleet.fleet.iteration import Resumable
from collectorfleet.fleet.parameter_control import ParameterControl
from collectorfleet.fleet.report import report, stats
from collectorfleet.gather import counters
from collectorfleet.option_ranges import Collectors
from collectorfleet.transport.interface import FleetTransport
from collectorfleet_api.v1alpha1.report import DriverReport

log = logging.getLogger(__name__)

# The time limit for collectors to load the last version. A short wait is enough, because only the status depends on it.
_SETTLE_SECONDS: Final = 5.0
_PUBLISHES: Final = "update_policy_weights_"


class FleetControl(ParameterControl):
    """The methods of :class:`~collectorfleet.FleetCollector` for state, size, pause and end."""

    replay_buffer: Any
    requested_frames_per_batch: int
    _waiting: dict[str, int]
    _thread: threading.Thread | None = None

    @property
    @abstractmethod
    def policy(self) -> Any:
        """The module that the fleet publishes."""

    @abstractmethod
    def _stage(self) -> object:
        """Stage the present policy for publishing."""

    @property
    def _transport(self) -> FleetTransport:
        return self._engine.transport

    def status(self) -> DriverReport:
        """Return the present ``weights``, ``progress`` (without ``metrics``), ``collectors`` and ``evaluation``.

        Any thread may call this method, also after ``shutdown()``.
        """
        evaluation = self._engine.evaluation
        evaluated = None if evaluation is None else evaluation_status(evaluation)
        with self._consumer.shared.changed:
            found = report(self._consumer.shared, time.monotonic(), self._transport.name, self._engine.spilled_bytes)
        return found.model_copy(update={"evaluation": evaluated})

    def stats(
        self, workers: Literal["aggregate", "per_worker", "both"] = "aggregate", *, timeout: float | None = None
    ) -> dict[str, int | float | bool]:
        """Return the progress in TorchRL's format. The method calls no collector, and ignores ``timeout``.

        Raises InvalidOption for another value of ``workers``.
        """
        del timeout
        with self._consumer.shared.changed:
            return stats(self._consumer.shared, workers, self.requested_frames_per_batch)

    def wait_for_change(self, seen: int, timeout: float) -> int:
        """Block until an urgent change occurs, or ``timeout`` seconds have passed.

        Return the number of urgent changes so far. A change is urgent if a collector becomes available or is lost, the
        first batch is handed out, an error occurs, or the run ends. In the first call, pass 0 as ``seen``. In a later
        call, pass the number that the previous call returned.
        """
        shared = self._consumer.shared
        with shared.changed:
            shared.changed.wait_for(lambda: shared.changes > seen, timeout)
            return shared.changes

    def counters(self) -> dict[str, Any]:
        """Return the counters of :meth:`state_dict`. The method calls no collector."""
        with self._consumer.shared.changed:
            return counters.counters_of(self._consumer.shared)

    def state_dict(self, timeout: float = 60.0) -> OrderedDict[str, Any]:
        """Return counters, the policy's state, :meth:`normalization` and the states of the collectors' environments.

        The result also has the environment parameters. Each collector answers between two rollouts. Raises TimeoutError
        and UserCodeError like :meth:`map_fn`.
        """
        state: OrderedDict[str, Any] = OrderedDict(self.counters())
        if isinstance(self.policy, nn.Module):
            state["policy_state_dict"] = self.policy.state_dict()
        state["normalization"] = self.normalization()
        state["environment_parameters"] = self.environment_parameters_state()
        state["collectors"] = self._inquiry("state_dict", timeout).call_all("environment_state")
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any], timeout: float = 60.0) -> None:
        """Continue from the result of ``state_dict()``. Call this method before you request the first batch.

        Raises:
            InvalidOption: batches were collected already.
            TimeoutError, UserCodeError: see :meth:`map_fn`.
        """
        counters.restore(self._consumer.shared, state_dict)
        self.load_environment_parameters_state(state_dict.get("environment_parameters", {}))
        if isinstance(self.policy, nn.Module) and "policy_state_dict" in state_dict:
            self.policy.load_state_dict(state_dict["policy_state_dict"])
        saved = {name: (state,) for name, state in state_dict.get("collectors", {}).items()}
        self._inquiry("load_state_dict", timeout).call_all("load_environment_state", saved)
        self._stage()

    def normalization(self) -> dict[str, Any]:
        """Return the running statistics over the environments of all collectors. The method calls no collector.

        The keys are names such as ``1.VecNormV2.observation``: the position of the transform, its class, and the key.
        The values are ``decay``, ``updates``, and ``sums`` (float64), as ``docs/normalization.md`` describes. The
        result is empty if no collector has been built yet, or if the environments keep no statistics.
        """
        return codec.to_state(self._consumer.normalization)

    def load_normalization(self, env: EnvBase) -> None:
        """Copy the present :meth:`normalization` into an environment of this process.

        You can use this for an evaluation environment. Steps of the environment then update the copy. To prevent this,
        freeze the transforms before or after this call.

        Raises:
            InvalidOption: the transforms of the environment differ from the collectors' transforms, or some of them are
                in other processes.
        """
        load(env, self._consumer.normalization)

    def set_seed(self, seed: int, static_seed: bool = False, timeout: float = 60.0) -> int:
        """Seed the environments of all collectors, one collector after another. Return the next seed.

        If a collector is restarted later, its environment gets another seed. So it does not repeat the episodes of the
        lost collector. Raises TimeoutError and UserCodeError like :meth:`map_fn`.
        """
        inquiry = self._inquiry("set_seed", timeout)
        for name in inquiry.names():
            for following in inquiry.call_one(name, "set_seed", seed, static_seed):
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
        """Call a method of each TorchRL collector. The method may be given as a path such as ``env.set_seed``.

        ``list_of_args`` and ``list_of_kwargs`` have one entry for each collector, in the order of the collectors'
        names. The returned list has the same order. Each collector answers between two rollouts. If a collector is lost
        before it answers, the call is repeated in its replacement. If a lost collector is not replaced, the returned
        list has no entry for it. If a collector is lost after its answer, its replacement lacks the changes that the
        call made, and the driver logs a warning.

        Raises:
            InvalidOption: an argument is not a list with one entry for each collector, or the method updates the
                weights.
            TimeoutError: not all collectors are built within ``timeout`` seconds, or a collector does not answer within
                another ``timeout`` seconds.
            UserCodeError: the method raised an error, or its result cannot be sent.
        """
        if method_name.rpartition(".")[2] == _PUBLISHES:
            raise InvalidOption(
                f"map_fn: {method_name} would give collectors weights without a version; call {_PUBLISHES}() "
                "of the fleet"
            )
        inquiry = self._inquiry(f"map_fn({method_name!r})", timeout)
        calls = calls_of_each(method_name, inquiry.names(), list_of_args, list_of_kwargs)
        returned = inquiry.call_all("execute", calls)
        self._consumer.note_mapped(method_name)
        return list(returned.values())

    def get_distant_attr(self, attr: str, timeout: float = 60.0) -> list[Any]:
        """Return the value at the path ``attr`` in each collector. :meth:`map_fn` describes order and errors."""
        inquiry = self._inquiry(f"get_distant_attr({attr!r})", timeout)
        return list(inquiry.call_all("attribute", dict.fromkeys(inquiry.names(), (attr,))).values())

    def getattr_env(self, attr: str) -> Any:
        """Return an attribute of the first collector's environment. TorchRL's trainers call this method."""
        return self.get_distant_attr(f"env.{attr}")[0]

    def getattr_rb(self, attr: str) -> Any:
        """Return an attribute of the replay buffer."""
        return getattr(self.replay_buffer, attr)

    @option_types.checked("")
    def resize(self, num_collectors: Collectors, min_available: Collectors | None = None) -> None:
        """Change the number of collectors and the minimum number of available collectors. Returns at once.

        If ``min_available`` is None, the minimum does not change. You may call this method during the iteration, too.
        Raises InvalidOption if a number is out of range, and UserCodeError if the scaling policy fails.
        """
        self._consumer.resize(num_collectors, min_available)

    def drain_pods(self, pods: Collection[str]) -> None:
        """Drain exactly these pods (or hosts). A collector on one of them ends after its current requests.

        The end of a drained collector does not count as a loss or a restart. If a later call of this method does not
        name the collector's pod, the collector starts again on any node with room. ``status().drained_pods`` lists the
        pods without collectors. Returns at once.
        """
        self._consumer.drain_pods(pods)

    def start(self) -> None:
        """Collect into ``replay_buffer`` on a separate thread.

        If an error ends the collection, the driver logs the error, and the next ``update_policy_weights_()`` raises it.

        Raises:
            InvalidOption: the fleet has no replay buffer.
        """
        if self.replay_buffer is None:
            raise InvalidOption("start: no replay buffer receives the batches; pass replay_buffer")
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="collectorfleet-run", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            for _ in Resumable(self.iterator, self._waiting):
                pass
        except CollectorClosed:
            pass
        except BaseException as error:
            log.exception("collecting into the replay buffer ended")
            self._consumer.abort(error if isinstance(error, Exception) else UserCodeError.of("start()", error))

    @contextlib.contextmanager
    def pause(self, timeout: float = 30.0, *, resume: bool = True) -> Iterator[None]:
        """Pause collection inside the context. The context begins when all open requests are answered.

        After the context, collection resumes, unless ``resume`` is false or collection was paused before.

        Raises:
            TimeoutError: requests are still open after ``timeout`` seconds. In this case collection continues.
        """
        is_paused_already = self._consumer.paused
        if not self._consumer.pause(timeout):
            raise TimeoutError(f"pause: requests are still under way after {timeout:g} s; pass a longer timeout")
        try:
            yield
        finally:
            if resume and not is_paused_already:
                self._consumer.resume()

    def settle(self) -> None:
        """Wait until the available collectors have acknowledged the newest version, so that the last status shows it.

        Blocks for at most 5 seconds. Returns at once if all versions are acknowledged, if no collector is available, or
        if the staleness bound delays the newest version.
        """
        self._consumer.settle(_SETTLE_SECONDS)

    def shutdown(
        self,
        timeout: float | None = None,
        close_env: bool = True,  # noqa: ARG002 (TorchRL's signature)
        raise_on_error: bool = True,  # noqa: ARG002 (TorchRL's signature)
        shutdown_ray: bool = False,
    ) -> None:
        """End the collectors. Blocks for at most ``timeout`` seconds. None: no time limit.

        Shuts Ray down only if ``shutdown_ray`` is true.
        """
        self._engine.stop(timeout)
        if shutdown_ray:
            ray.shutdown()

    async def async_shutdown(self, shutdown_ray: bool = False) -> None:
        """Call :meth:`shutdown` without blocking the event loop."""
        await asyncio.to_thread(self.shutdown, shutdown_ray=shutdown_ray)

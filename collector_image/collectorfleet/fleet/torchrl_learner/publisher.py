"""Publish the weights that a TorchRL learner sends to the driver, in the order of arrival."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakMethod

import ray
from tensordict import TensorDict, TensorDictBase
from torch import nn
from torchrl.weight_update import RayWeightSyncScheme

from collectorfleet.errors import describe
from collectorfleet.fleet.torchrl_learner.scheme import LearnerScheme, LearnerWeights, Relay
from collectorfleet.torchrl_private.weights import actor_of, join_when_sent, weight_signature

log = logging.getLogger(__name__)

# The interval at which the thread checks whether the fleet has ended or was deleted.
_LOOKS_EVERY_SECONDS: Final = 1.0

Publish = Callable[[TensorDictBase, int | None], object]


class LearnerPublisher:
    """Starts a relay actor for a learner, and a thread that calls ``publish`` with the weights from the relay.

    The thread runs until ``is_over`` returns True. ``publish`` is a bound method. The thread has only a weak reference
    to the object of this method. If the object is deleted, the thread ends.
    """

    def __init__(self, policy: nn.Module, publish: Publish, is_over: Callable[[], bool]) -> None:
        signature = weight_signature(TensorDict.from_module(policy))
        self._relay: Any = ray.remote(num_cpus=0)(Relay).remote(signature)
        self._publish = WeakMethod(publish)
        self._is_over = is_over
        threading.Thread(target=self._run, name="collectorfleet-learner", daemon=True).start()

    def scheme(self) -> LearnerScheme:
        """Return a ``LearnerScheme`` for a new learner."""
        return LearnerScheme(self._relay)

    def _run(self) -> None:
        try:
            while (given := self._next()) is not None:
                sentence = self._published(given)
                ray.get(self._relay.answer.remote(given.number, sentence))
        except ray.exceptions.RayError as error:
            log.warning("no more weights arrive from the learner: %s", describe(error))
        finally:
            if ray.is_initialized():
                ray.kill(self._relay)

    def _next(self) -> LearnerWeights | None:
        asked = self._relay.next.remote()
        while ray.is_initialized() and self._publish() is not None and not self._is_over():
            if ray.wait([asked], timeout=_LOOKS_EVERY_SECONDS)[0]:
                given: LearnerWeights = ray.get(asked)
                return given
        return None

    def _published(self, given: LearnerWeights) -> str | None:
        """Publish the weights. Return the reason if publishing fails, otherwise None."""
        publish = self._publish()
        if publish is None:
            return "the FleetCollector no longer exists"
        (stored,) = given.weights
        try:
            publish(ray.get(stored), given.model_version)
        except Exception as error:  # noqa: BLE001  (the learner raises every error)
            return describe(error)
        return None


def scheme_of_service(service: Any) -> RayWeightSyncScheme:
    """Return the scheme with which TorchRL's learner sends weights directly to TorchRL's inference service."""
    scheme, actor = RayWeightSyncScheme(), actor_of(service)
    scheme.init_on_sender(model_id="policy", remote_collectors=[actor], num_workers=1)
    join_when_sent(scheme)
    ray.get(actor.register_scheme_receiver.remote({"policy": scheme}, synchronize_weights=False))
    return scheme

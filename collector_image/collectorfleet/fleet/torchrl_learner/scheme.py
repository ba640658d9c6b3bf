"""The LearnerScheme of TorchRL's learner, and the relay actor between the learner and the driver.

The learner cannot call the driver, because the driver is not an actor. So learner and driver both call the relay.
TorchRL's learner requests the tensor names, shapes and dtypes of each receiver, and then sends its weights to all
receivers. In a fleet, the relay is the only receiver. The driver gets the weights from the relay, and publishes them to
all collectors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

import ray
from tensordict import TensorDictBase


class LearnerWeights(NamedTuple):
    """Weights that the driver has not copied yet.

    ``weights`` is a list with one item: the Ray object reference of the weights.
    """

    number: int
    weights: list[Any]
    model_version: int | None


class Relay:
    """A Ray actor that queues the learner's weights until the driver requests them."""

    def __init__(self, signature: Any) -> None:
        self._signature = signature
        self._given: asyncio.Queue[LearnerWeights] = asyncio.Queue()
        self._answers: dict[int, asyncio.Future[str | None]] = {}
        self._count = 0

    async def _weight_sync_signature(self, model_id: str) -> Any:
        """Return the names, shapes and dtypes of the tensors that the learner has to send.

        TorchRL calls this method.
        """
        if model_id != "policy":
            raise KeyError(f"the fleet publishes the weights of 'policy', not of {model_id!r}")
        return self._signature

    async def publish(self, weights: list[Any], model_version: int | None) -> None:
        """Queue the learner's weights, and wait until the driver has copied these weights.

        Raises RuntimeError with the driver's reason if the driver did not publish the weights.
        """
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._count += 1
        number = self._count
        self._answers[number] = answer
        await self._given.put(LearnerWeights(number, weights, model_version))
        if sentence := await answer:
            raise RuntimeError(sentence)

    async def next(self) -> LearnerWeights:
        """Return the next queued weights to the driver. If the queue is empty, wait for weights."""
        return await self._given.get()

    async def answer(self, number: int, sentence: str | None) -> None:
        """End the learner's call of :meth:`publish`.

        If the driver has copied the weights, ``sentence`` is None. Otherwise ``sentence`` is the reason.
        """
        self._answers.pop(number).set_result(sentence)


class LearnerScheme:
    """A replacement for TorchRL's ``WeightSyncScheme``.

    It has the methods that the learner calls, and can be pickled.
    """

    def __init__(self, relay: Any) -> None:
        self._remote_collectors = [relay]
        self._model_version: int | None = None
        self.synchronized_on_sender = False

    def init_on_sender(self, *, model_id: str, remote_collectors: Sequence[Any], num_workers: int) -> None:
        """Do nothing, because the relay is already running."""

    def _set_model_version(self, model_version: int) -> None:
        self._model_version = model_version

    def connect(self, *, weights: TensorDictBase) -> None:
        """Send the first weights. All later weights are sent in the same way."""
        self.send(weights=weights)
        self.synchronized_on_sender = True

    def send(self, *, weights: TensorDictBase) -> None:
        """Block until the driver has copied the weights. Raise the driver's error."""
        stored = ray.put(weights.detach().to("cpu"))
        (relay,) = self._remote_collectors
        ray.get(relay.publish.remote([stored], self._model_version))

    def shutdown(self) -> None:
        """Do nothing, because the driver ends the relay."""

"""What TorchRL's learner talks to. Nobody can call a driver, so there is an actor between the two: the relay.

TorchRL's learner asks each receiver of its weights for the tensors that it has, and then sends to all of them. Here the
driver is the one receiver, whatever the number of collectors. It waits for the weights and publishes them as usual.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

import ray
from tensordict import TensorDictBase


class Given(NamedTuple):
    """Weights that wait for the driver: ``weights`` is a list with Ray's reference to them, which they travel as."""

    number: int
    weights: list[Any]
    model_version: int | None


class Relay:
    """An actor of Ray's. The learner's calls wait in it for the driver's."""

    def __init__(self, signature: Any) -> None:
        self._signature = signature
        self._given: asyncio.Queue[Given] = asyncio.Queue()
        self._answers: dict[int, asyncio.Future[str | None]] = {}
        self._count = 0

    async def _weight_sync_signature(self, model_id: str) -> Any:
        """TorchRL's question: the names, shapes and dtypes of the weights that are wanted."""
        if model_id != "policy":
            raise KeyError(f"the fleet publishes the weights of 'policy', not of {model_id!r}")
        return self._signature

    async def publish(self, weights: list[Any], model_version: int | None) -> None:
        """The learner's: returns once the driver took a copy; raises what the driver says against it."""
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._count += 1
        number = self._count
        self._answers[number] = answer
        await self._given.put(Given(number, weights, model_version))
        if sentence := await answer:
            raise RuntimeError(sentence)

    async def next(self) -> Given:
        """The driver's: what was given, in its order."""
        return await self._given.get()

    async def answer(self, number: int, sentence: str | None) -> None:
        """The driver's: it took them, or why not."""
        self._answers.pop(number).set_result(sentence)


class LearnerScheme:
    """In the place of a ``WeightSyncScheme`` of TorchRL's: has what its learner calls. Travels pickled."""

    def __init__(self, relay: Any) -> None:
        self._remote_collectors = [relay]
        self._model_version: int | None = None
        self.synchronized_on_sender = False

    def init_on_sender(self, *, model_id: str, remote_collectors: Sequence[Any], num_workers: int) -> None:
        """Nothing is to be set up: the relay is there."""

    def _set_model_version(self, model_version: int) -> None:
        self._model_version = model_version

    def connect(self, *, weights: TensorDictBase) -> None:
        """The first weights are sent as all others."""
        self.send(weights=weights)
        self.synchronized_on_sender = True

    def send(self, *, weights: TensorDictBase) -> None:
        """Block until the driver took a copy. Raises what it says against them."""
        stored = ray.put(weights.detach().to("cpu"))
        (relay,) = self._remote_collectors
        ray.get(relay.publish.remote([stored], self._model_version))

    def shutdown(self) -> None:
        """The relay is the driver's to end."""

"""The Ray actor of a collector, a thin wrapper of :class:`collectorfleet.actor.server.CollectorServer`.

Ray tests the truth value of a partly built actor, so the class has no ``__len__``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import ray

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.inbox import Offer
from collectorfleet.actor.server import CollectorServer
from collectorfleet.codec.snapshot import Snapshot
from collectorfleet.messages import Answer, CollectorId, Lost, Message, Raised, Request, ServiceLost
from collectorfleet.transport.ray.schemas import SchemaOnce

OFFERS: Final = "offers"
STANDING: Final = "standing"
CONCURRENCY_GROUPS: Final = {OFFERS: 1, STANDING: 1}


class CollectorActor:
    """Runs one collector.

    Calls of the default group run in order on one thread, and each other group has its own thread.
    """

    def __init__(self, collector: CollectorId, config: CollectorConfig, policy: Any) -> None:
        self._name = collector.name
        self._server = CollectorServer(
            collector, config if config.uses_policy_service else replace(config, policy=policy)
        )
        self._schemas = SchemaOnce()

    def __repr__(self) -> str:
        """Return the collector's name, which Ray prints in the driver's log before this collector's output."""
        return self._name

    def build(self, seed: int, seed_environment: bool) -> Message:
        return self._server.build(seed, seed_environment=seed_environment)

    def run(
        self,
        request: tuple[Any, ...],
        known_schema: int,
        version: int | None = None,
        weights: Snapshot | None = None,
        normalization: Snapshot | None = None,
    ) -> tuple[Answer, int] | Raised | Lost | ServiceLost:
        """Run a rollout. Return the answer and the number of its schema.

        A schema with the number ``known_schema`` is left out of the answer. ``request`` has the fields of a
        :class:`Request` as a tuple, because Ray sends a tuple of numbers without pickle.
        """
        offer = None if version is None or weights is None else Offer(version, weights, normalization)
        answer = self._server.run(Request(*request), offer)
        return self._schemas.left_out(answer, known_schema) if isinstance(answer, Answer) else answer

    @ray.method(concurrency_group=OFFERS)
    def placed(self) -> Message:
        return replace(self._server.placed(), node=ray.get_runtime_context().get_node_id())

    @ray.method(concurrency_group=OFFERS, num_returns=0)
    def offer(self, policy: str, version: int, weights: Snapshot, normalization: Snapshot | None = None) -> None:
        self._server.offer(policy, Offer(version, weights, normalization))

    @ray.method(concurrency_group=OFFERS, num_returns=0)
    def cut_short(self, request_id: int) -> None:
        self._server.cut_short(request_id)

    @ray.method(concurrency_group=STANDING)
    def next_applied(self, policy: str, seen: int) -> Message | None:
        """Block until another version is loaded. If the actor dies, the driver notices it because this call fails."""
        return self._server.next_applied(policy, seen)

    def set_seed(self, seed: int, static_seed: bool) -> int:
        return self._server.set_seed(seed, static_seed)

    def execute(self, path: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        return self._server.execute(path, arguments, keywords)

    def attribute(self, path: str) -> Any:
        return self._server.attribute(path)

    def environment_state(self) -> dict[str, Any]:
        return self._server.environment_state()

    def load_environment_state(self, state: dict[str, Any]) -> None:
        self._server.load_environment_state(state)

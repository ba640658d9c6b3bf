"""Collectors on the local Ray of the session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests import envs

if TYPE_CHECKING:
    from collectorfleet import LearnerShards

MakeBuffer = Callable[..., Any]
MakeShards = Callable[..., "LearnerShards"]


@pytest.fixture(autouse=True)
def _collectors_start_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first collector of a fleet wait for the others as long as a busy machine needs to start them.

    Otherwise one collector may make all frames, and tests read what each of two collectors made.
    """
    monkeypatch.setattr("collectorfleet.gather.state.collectors.START_TOGETHER_SECONDS", 60.0)


@pytest.fixture
def make() -> Iterator[Callable[..., Any]]:
    """Makes collectors of counting environments that are shut down after the test."""
    from collectorfleet import FleetCollector

    made: list[FleetCollector] = []

    def one(env: dict[str, Any] | None = None, policy: Any = None, **options: Any) -> FleetCollector:
        arguments: dict[str, Any] = {"num_collectors": 2, "frames_per_batch": 20, "sync": True} | options
        arguments.setdefault("create_env_fn", partial(envs.make_counting, **(env or {})))
        if policy is None and "policy_factory" not in arguments:
            policy = envs.make_policy()
        collector = FleetCollector(arguments.pop("create_env_fn"), policy, **arguments)
        made.append(collector)
        return collector

    yield one
    for collector in made:
        collector.shutdown(timeout=20)


@pytest.fixture
def make_buffer() -> Iterator[MakeBuffer]:
    """Makes replay buffers in actors, which end with the test."""
    from torchrl.data import LazyTensorStorage, ReplayBuffer

    made: list[ReplayBuffer] = []

    def one(**options: Any) -> ReplayBuffer:
        buffer = ReplayBuffer(
            storage=partial(LazyTensorStorage, 10_000),
            batch_size=4,
            service_backend="ray",
            service_backend_options={"remote_config": {"num_cpus": 0}},
            **options,
        )
        made.append(buffer)
        return buffer

    yield one
    for buffer in made:
        # A killed actor, as the buffer's own shutdown() leaves it, leaves its semaphores in /dev/shm.
        buffer._rb.__ray_terminate__.remote()


@pytest.fixture
def make_shards() -> Iterator[MakeShards]:
    """Makes learner shards that ask for little and end with the test."""
    from tests.runtime.learners import Mean

    from collectorfleet import LearnerShards

    made: list[LearnerShards] = []

    def one(max_policies: int = 4, policy_class: type = Mean, **options: Any) -> LearnerShards:
        options = {"policy_cpus": 0.1, "replay_cpus": 0.1, "shards": 2} | options
        made.append(LearnerShards(policy_class, max_policies, **options))
        return made[-1]

    yield one
    for shards in made:
        shards.stop()

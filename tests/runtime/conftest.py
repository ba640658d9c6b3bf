"""One local Ray for all tests of the data plane: starting it takes seconds, and its workers import torch once."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from tests import envs


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    import ray

    # Ray's sockets have paths of at most 107 bytes, which pytest's own folders are too long for.
    folder = tempfile.mkdtemp(prefix="cf-ray-")
    # Ray's processes inherit it: workers import the project and the tests' environments as this process does.
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    os.environ["RAY_preload_python_modules"] = "torch,torchrl.collectors"  # noqa: SIM112  (as Ray reads it)
    ray.init(
        _temp_dir=folder,
        num_cpus=4,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=300 * 2**20,
    )
    try:
        yield
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


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

"""A local Ray with one GPU, where there is one."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if torch.cuda.is_available():
        return
    reason = f"left out: this machine has no GPU that torch {torch.__version__} can use"
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def ray_with_a_gpu() -> Iterator[None]:
    """One GPU by Ray's count, however many there are."""
    import ray

    # Ray's sockets have paths of at most 107 bytes, which pytest's own folders are too long for.
    folder = tempfile.mkdtemp(prefix="cf-gpu-")
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    # Starting a pool of compilers takes longer than compiling the small policies of these tests.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    # An actor that asks for no GPU sees none, as in a pod without a GPU.
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "1"
    ray.init(
        _temp_dir=folder,
        num_cpus=8,
        num_gpus=1,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=500 * 2**20,
    )
    try:
        yield
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def make() -> Iterator[Callable[..., Any]]:
    """Makes collectors that are shut down after the test."""
    from collectorfleet import FleetCollector

    made: list[FleetCollector] = []

    def one(*arguments: Any, **options: Any) -> FleetCollector:
        collector = FleetCollector(*arguments, **options)
        made.append(collector)
        return collector

    yield one
    for collector in made:
        collector.shutdown(timeout=30)

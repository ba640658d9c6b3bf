"""What a fleet's spec makes of FleetCollector's arguments."""

from __future__ import annotations

from typing import Any

import pytest
from tests.manifests import ABSENT, fleet

from collectorfleet.driver.collector_options import collector_options
from collectorfleet.user_code import Factory


def options(changes: dict[str, Any] | None = None, *, gpu: float = 0, frames_written: int = 0) -> dict[str, Any]:
    return collector_options(fleet(changes).spec, gpu, frames_written)


def test_every_field_arrives_under_its_own_name() -> None:
    changes = {
        "spec.environment.kwargs": {"id": "HalfCheetah-v5"},
        "spec.environment.perCollector": 8,
        "spec.collection.mode": "Async",
        "spec.collection.maxStaleness": 3,
        "spec.collection.totalFrames": 10_000,
        "spec.collectors.minAvailable": 2,
    }
    assert options(changes, gpu=0.25) == {
        "create_env_fn": Factory("my_envs:make_env", {"id": "HalfCheetah-v5"}),
        "frames_per_batch": 4000,
        "total_frames": 10_000,
        "num_collectors": 4,
        "envs_per_collector": 8,
        "sync": False,
        "shares": 4,
        "max_staleness": 3,
        "update_after_each_batch": True,
        "min_available": 2,
        # One CPU is one collector slot of a worker pod; the resource keeps collectors off head and driver.
        "remote_configs": {"num_cpus": 1, "num_gpus": 0.25, "resources": {"collector": 1}},
    }


def test_a_fleet_without_an_end_collects_without_one() -> None:
    assert options()["total_frames"] == -1


def test_a_restarted_driver_collects_what_is_left_and_at_least_one_batch() -> None:
    total = {"spec.collection.totalFrames": 10_000}
    assert options(total, frames_written=8000)["total_frames"] == 2000
    assert options(total, frames_written=10_000)["total_frames"] == 1


def test_a_fleet_scaled_to_a_number_that_does_not_divide_gets_more_shares() -> None:
    assert options({"spec.collectors.replicas": 3})["shares"] == 4


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"spec.weights.updateAfterEachBatch": False}, id="asked"),
        pytest.param({"spec.driver.train": ABSENT, "spec.output": {"path": "/data"}}, id="nothing-trains"),
    ],
)
def test_weights_are_not_published_after_each_batch(changes: dict[str, Any]) -> None:
    assert options(changes)["update_after_each_batch"] is False


def test_min_available_is_capped_by_a_scaled_down_fleet() -> None:
    assert options({"spec.collectors.replicas": 2, "spec.collectors.minAvailable": 3})["min_available"] == 2

"""Options of a fleet that look as if they could not go together, and do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests import envs
from tests.unit.collectorfleet.fleet.rules.two_collectors import options

SHARED = SimpleNamespace(service_backend="ray")
THRESHOLD = {"preemptive_threshold": 0.5}
FIRST = {"first_shares": 1, "max_staleness": 1}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"max_staleness": 1, "exact_staleness": True}, id="one step behind"),
        pytest.param(FIRST, id="late shares"),
        pytest.param(THRESHOLD, id="cut short"),
        pytest.param({"shares": 8}, id="more shares than collectors"),
        pytest.param({"collector_class": "sync", "num_workers_per_collector": 4}, id="processes in step"),
        pytest.param({"sync": False, "frames_per_batch": 20, "envs_per_collector": 3}, id="parts of a step in Async"),
        pytest.param({"split_trajs": True, "trajs_per_batch": 2}, id="trajectories that are split again"),
        pytest.param({"update_after_each_batch": True, "max_weight_update_interval": 3}, id="as RayCollector has it"),
        pytest.param({"replay_buffer": SHARED, "copy": False}, id="a shared buffer"),
        pytest.param({"remote_configs": []}, id="remote configurations of none"),
        pytest.param({"create_env_fn": envs.make_counting()}, id="an environment"),
        pytest.param({"total_frames": 0, "max_frames_per_traj": None, "init_random_frames": None}, id="none of it"),
    ],
)
def test_options_that_go_together_are_taken(changes: dict[str, Any]) -> None:
    assert options(changes).collectors == 2

"""Priority and tolerations of a fleet, where they are counted and hashed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import JOB
from tests.unit.collectorfleet_operator.children.fleets import fleet

from collectorfleet_operator.children.workload import NEWEST_KUEUE, workload

SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}


@pytest.mark.parametrize("launcher", [pytest.param({}, id="Ray"), pytest.param(JOB, id="Job")])
def test_kueue_sees_the_tolerations_of_all_pods(launcher: dict[str, Any]) -> None:
    """It chooses a flavor by them: one of tainted nodes is for pods that tolerate the taint."""
    pod_sets = workload(fleet({**launcher, "spec.tolerations": [SPOT]}), NEWEST_KUEUE)["spec"]["podSets"]
    assert len(pod_sets) >= 2
    assert [one["name"] for one in pod_sets if SPOT not in one["template"]["spec"]["tolerations"]] == []

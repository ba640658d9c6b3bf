"""The end of a run on this machine, as a cluster would show it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.manifests import fleet

from collectorfleet.local.status import final_status
from collectorfleet.run.exit import Completed, Exit, Stopped, UserError
from collectorfleet_api.v1alpha1 import DriverReport, Phase

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ended", "phase", "conditions"),
    [
        pytest.param(
            Completed("t:t returned"),
            Phase.COMPLETED,
            {
                "Ready": ("True", "Completed"),
                "Stalled": ("False", "Progressing"),
                "Completed": ("True", "Completed"),
            },
            id="finished",
        ),
        pytest.param(
            UserError("train t:t: ValueError: no"),
            Phase.FAILED,
            {"Ready": ("False", "Failed"), "Stalled": ("True", "Failed"), "Completed": ("False", "Failed")},
            id="failed",
        ),
        pytest.param(
            Stopped("stopped: Ctrl-C", 130),
            None,
            {
                "Ready": ("False", "Interrupted"),
                "Stalled": ("False", "Progressing"),
                "Completed": ("False", "Interrupted"),
            },
            id="interrupted",
        ),
    ],
)
def test_an_exit_becomes_the_conditions_of_a_cluster(
    ended: Exit, phase: Phase | None, conditions: dict[str, tuple[str, str]]
) -> None:
    status = final_status(fleet().spec, DriverReport(), ended, NOON)
    assert status.phase == phase
    found = {c.type: (c.status, c.reason) for c in status.conditions}
    assert conditions.items() <= found.items()
    assert {"CollectorsAvailable", "WeightsFresh"} <= found.keys()
    messages = {c.message for c in status.conditions if c.type in ("Ready", "Completed")}
    assert messages == {ended.message}
    # Only a cluster has these.
    assert not {"rayCluster", "driver", "observedGeneration", "fleetUID"} & status.to_wire().keys()

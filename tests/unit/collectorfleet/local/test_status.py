"""The end of a run on this machine, as a cluster would show it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.manifests import fleet

from collectorfleet.local.status import final_status
from collectorfleet.run.exit import Completed, Exit, Stopped, UserError
from collectorfleet_api.v1alpha1 import DriverReport, EvaluationStatus, Phase

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


def test_a_run_that_completes_without_its_evaluations_says_so() -> None:
    goal = {"episodes": 2, "everyVersions": 1, "stopWhen": {"returnMean": 475}}
    report = DriverReport(evaluation=EvaluationStatus(replicas=1, skipped=2, awaited_version=3))
    status = final_status(fleet({"spec.evaluation": goal}).spec, report, Completed("t:t returned"), NOON)
    (message,) = (one.message for one in status.conditions if one.type == "Completed")
    assert message == "t:t returned; 0 of 3 due evaluations finished, so stopWhen was not tested"

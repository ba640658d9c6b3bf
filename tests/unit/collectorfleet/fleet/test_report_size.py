"""The report of a very large fleet in a very bad state: small enough for an object in the API server, and true."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.stored import stored

from collectorfleet.fleet.report import report
from collectorfleet.gather.shared import Limits, Shared
from collectorfleet.gather.state.gather import Gather
from collectorfleet.gather.state.plan import Plan
from collectorfleet.messages import CollectorId, Fault, Weights
from collectorfleet.recovery.failure import Replace
from collectorfleet.run.handle import MOST_METRICS, Run
from collectorfleet_api.v1alpha1 import CollectorState, DriverReport

COLLECTORS = 1000
LARGEST_BYTES = 100_000
ERROR = "RayActorError: " + "the worker died while it was asked for the reason. " * 100


@pytest.fixture
def fleet() -> DriverReport:
    """A third of the collectors is lost and a third starts, after many restarts, with long errors and names."""
    second = timedelta(seconds=1)
    shared = Shared(
        Gather(Plan(shares=1, frames_per_share=200, in_order=False, bound=None, total_frames=None)),
        COLLECTORS,
        Limits(second, second, second, min_available=1),
        has_weights=True,
    )
    shared.versions.published(Weights(10**6, stored("xxh3:" + "0" * 32, 10**9, None)), datetime.now(UTC), 0.1)
    collectors = shared.gather.collectors
    for slot in shared.slots.to_fill(0.0):
        slot.batches, slot.frames, slot.last_error = 10**6, 10**9, ERROR
        if slot.index % 3 == 0:
            shared.slots.lost(slot.name, ERROR, Fault.DIED, now=0.0)
            shared.slots.decided(slot.name, Replace(second, ERROR), now=0.0)
            continue
        collectors.starting(CollectorId(slot.name, slot.index), slot.index, 0.0)
        one = collectors.named(slot.name)
        assert one is not None
        pod = f"a-fleet-of-a-long-name-whose-pods-have-long-names-too-worker-{slot.index:05d}"
        if slot.index % 3 == 1:
            collectors.built(one, pod, 1, 0.0)
            collectors.applied(one, 10**6, 0.0)
    run = Run()
    for index in range(MOST_METRICS):
        run.report(**{f"{'a_metric_with_a_long_name_' * 4}"[:96] + f"_{index:03d}": index / 3})
    found = report(shared, 0.0, "ObjectStore")
    assert found.progress is not None
    return found.model_copy(update={"progress": found.progress.model_copy(update={"metrics": dict(run.metrics)})})


def test_it_stays_small_however_many_collectors_fail_with_however_long_errors(fleet: DriverReport) -> None:
    assert len(json.dumps(fleet.to_wire())) < LARGEST_BYTES


def test_rows_are_the_worst_and_the_sums_those_of_all(fleet: DriverReport) -> None:
    assert len(fleet.collectors) == 100
    assert {row.state for row in fleet.collectors} == {CollectorState.RETIRED}
    assert [int(row.name[1:]) for row in fleet.collectors] == list(range(0, 300, 3))
    assert all(row.last_error and row.last_error.startswith("RayActorError: the worker") for row in fleet.collectors)
    assert fleet.progress is not None
    assert fleet.progress.collectors is not None
    assert fleet.progress.collectors.summary == "333/1000"
    assert fleet.weights is not None
    assert fleet.weights.acknowledged == 10**6

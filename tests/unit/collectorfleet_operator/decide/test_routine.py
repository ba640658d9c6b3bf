"""Reports of a run as it should be: what is left out of them when news are compared decides nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.example_count import examples
from tests.unit.collectorfleet_operator.world import KEY, World, kinds, later, running, told

from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.decide.plan import again_after
from collectorfleet_operator.decide.routine import without_routine_numbers
from collectorfleet_operator.objects import Object

SPEC: dict[str, Any] = {
    "spec.collectors.replicas": 2,
    "spec.collectors.minAvailable": 1,
    "spec.idleTimeoutSeconds": 600,
    "spec.startupDeadlineSeconds": 900,
}
counts = st.integers(0, 5)
progress = st.fixed_dictionaries(
    {"collectors": st.builds(lambda n: {"desired": 2, "available": n, "summary": f"{n}/2"}, st.integers(0, 2))},
    optional={
        "batches": counts,
        "framesDelivered": counts,
        "framesLost": counts,
        "framesPerSecond": st.floats(0, 10),
        "summary": st.sampled_from(["1%", "2%"]),
        "lastBatchTime": st.sampled_from(["2026-07-01T11:55:00Z", "2026-07-01T12:00:05Z", "2026-07-01T12:00:07Z"]),
        "metrics": st.dictionaries(st.just("loss"), st.floats(0, 1)),
    },
)
weights = st.fixed_dictionaries(
    {},
    optional={
        "published": counts,
        "acknowledged": counts,
        "digest": st.sampled_from(["a", "b"]),
        "lastPublishTime": st.sampled_from(["2026-07-01T11:59:55Z", "2026-07-01T12:00:05Z"]),
        "staleness": st.fixed_dictionaries({}, optional={"bound": counts, "max": counts}),
        "lastFailure": st.builds(
            lambda v: {"collector": "c0", "version": v, "time": "2026-07-01T12:00:00Z", "reason": "a", "message": "b"},
            counts,
        ),
    },
)
row = st.fixed_dictionaries(
    {"state": st.sampled_from(["Ready", "Joining"])},
    optional={"appliedVersion": counts, "batches": counts, "frames": counts, "lastError": st.just("torn")},
)
reports = st.fixed_dictionaries(
    {
        "progress": progress,
        "weights": weights,
        "collectors": st.lists(row, max_size=2).map(
            lambda rows: [{"name": f"c{n}", **one} for n, one in enumerate(rows)]
        ),
    },
    optional={
        "learners": st.builds(
            lambda steps: {
                "shards": 1,
                "places": 1,
                "used": 1,
                "policies": [{"id": "red", "shard": 0, "frames": steps}],
            },
            counts,
        ),
        "evaluation": st.builds(
            lambda count, more: {"version": count, "returnMean": count / 2, "finished": count, "failed": count, **more},
            counts,
            st.fixed_dictionaries(
                {}, optional={"awaitedVersion": counts, "available": counts, "lastFailure": st.sampled_from(["a", "b"])}
            ),
        ),
        "checkpoint": st.fixed_dictionaries({"frames": counts}, optional={"failure": st.just("disk full")}),
    },
)


def at_rest() -> World:
    world = running(SPEC)
    world.look()
    world.look()
    return world


def with_report(report: dict[str, Any]) -> World:
    world = at_rest()
    fleet = world.get(FLEET)
    fleet["status"] = {**fleet["status"], **report}
    world.store(fleet)
    return world


def decided(world: World) -> tuple[Any, ...]:
    """What is done, what is told in which words, and what has a deadline."""
    fleet, done = world.get(FLEET), kinds(world.plan().actions)
    asked = again_after(world.seen()) is None
    status = world.look(later(10)).to_wire()
    return done, asked, status, fleet["spec"]


@settings(max_examples=examples(50))
@given(reports, reports)
def test_reports_that_differ_in_nothing_that_matters_decide_the_same(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    # Half of what matters is taken from the first, so that the rest is all that differs often enough.
    second = {
        **one,
        "progress": {**other["progress"], "collectors": one["progress"]["collectors"]},
        "weights": {**other["weights"], **{k: v for k, v in one["weights"].items() if k in ("staleness",)}},
        "evaluation": other.get("evaluation"),
    }
    first, then = with_report(one), with_report(second)
    compared = [without_routine_numbers(objects.get(FLEET)) | {"metadata": 0} for objects in (first, then)]
    if compared[0] == compared[1]:
        assert decided(first) == decided(then)


GROWN: Object = {
    "progress": {
        "batches": 9,
        "framesDelivered": 36000,
        "framesPerSecond": 812.5,
        "lastBatchTime": "2026-07-01T12:05:00Z",
        "metrics": {"loss": 0.5},
        "collectors": {"desired": 2, "available": 2, "summary": "2/2"},
    },
    "weights": {"published": 9, "acknowledged": 9, "digest": "b"},
    "evaluation": {"version": 8, "returnMean": 12.5, "summary": "12.5 ± 0.3", "runningVersion": 9},
}


def matters(world: World) -> Object:
    found = without_routine_numbers(world.get(FLEET))
    found["metadata"].pop("resourceVersion")
    return found


def test_numbers_that_grow_are_no_news_of_a_run_as_it_should_be() -> None:
    world = at_rest()
    before = matters(world)
    world.report(2, at=later(5), **GROWN)
    assert matters(world) == before


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"progress": {**GROWN["progress"], "collectors": {"desired": 2, "available": 1}}}, id="a loss"),
        pytest.param({"weights": {"published": 10, "acknowledged": 9}}, id="a version on its way"),
        pytest.param({"weights": {"published": 9}}, id="nobody knows what is acknowledged"),
        pytest.param({"weights": {**GROWN["weights"], "staleness": {"bound": 1, "max": 2}}}, id="too stale"),
        pytest.param({"driverEnded": True}, id="the last report"),
        pytest.param({"drainedPods": ["worker-1"]}, id="an empty pod"),
        pytest.param({"checkpoint": {"frames": 1, "failure": "disk full"}}, id="a checkpoint that was not written"),
        pytest.param({"evaluation": {"awaitedVersion": 9}}, id="a wait for the last evaluation"),
        pytest.param({"somethingNewer": 1}, id="what this release does not know"),
    ],
)
def test_what_something_is_decided_on_is_news(said: Object) -> None:
    world = at_rest()
    world.report(2, **GROWN)
    before = matters(world)
    world.report(2, **{**GROWN, **said})
    assert matters(world) != before


def test_all_is_news_of_a_fleet_that_is_not_as_it_should_be() -> None:
    world = at_rest()
    world.report(1, **{**GROWN, "progress": {**GROWN["progress"], "collectors": {"desired": 2, "available": 1}}})
    assert told(world.look(), "Reconciling")[0] == "True"
    assert without_routine_numbers(world.get(FLEET)) == world.get(FLEET)
    world.edit({**SPEC, "spec.collectors.replicas": 3})
    assert without_routine_numbers(world.get(FLEET)) == world.get(FLEET)


def test_the_batch_that_ends_a_stall_is_news() -> None:
    world = at_rest()
    world.wait_until(600)
    world.replace_driver_pod()
    world.renew_lease()
    world.report(2, at=world.now, last_batch=later(0), driverIncarnation=2)
    world.wait_until(1200)
    status = world.look(world.now)
    assert (status.phase, told(status, "Stalled")[1]) == (Phase.COLLECTING, "ProgressDeadlineExceeded")
    before = matters(world)
    world.report(2, at=world.now, driverIncarnation=2)
    assert matters(world) != before
    assert told(world.look(world.now), "Stalled")[0] == "False"


def test_a_routine_report_is_kept_and_concerns_nobody() -> None:
    world = at_rest()
    fleet = world.get(FLEET)
    grown = {**fleet, "status": {**fleet["status"], **GROWN}}
    grown["metadata"] = {**fleet["metadata"], "resourceVersion": "1000"}
    assert world.cache.put(FLEET, grown) == set()
    kept = world.cache.get(FLEET, KEY)
    assert kept is not None
    assert (kept["status"]["progress"]["batches"], kept["metadata"]["resourceVersion"]) == (9, "1000")
    lost = {"desired": 2, "available": 1, "summary": "1/2"}
    status = {**grown["status"], "progress": {**GROWN["progress"], "collectors": lost}}
    worse = {**grown, "status": status, "metadata": {**grown["metadata"], "resourceVersion": "1001"}}
    assert world.cache.put(FLEET, worse) == {KEY}

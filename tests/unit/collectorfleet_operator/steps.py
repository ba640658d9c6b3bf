"""What can happen to a fleet, in any order: drawn by hypothesis, done to a world."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from tests.unit.collectorfleet_operator.world import DRIVER, KEY, World, wire_time

from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.raycluster import RAYCLUSTER

FIELDS = st.sampled_from(
    [
        {"spec.collectors.replicas": 1},
        {"spec.collectors.replicas": 7},
        {"spec.image": "ghcr.io/you/cheetah:2.0"},
        {"spec.collectors.resources": {"gpu": 0.25}, "spec.collectors.replicas": 6},
        {"spec.driver.train.kwargs": {"lr": 0.1}},
        {"spec.suspend": True},
        {"spec.evaluation": {"replicas": 2}},
        {
            "spec.evaluation": {"replicas": 2, "template": {"spec": {"nodeSelector": {"pool": "fast"}}}},
            "spec.updateStrategy": {"type": "RollingUpdate"},
        },
        {"spec.networkPolicy": {"egress": []}},
        {"spec.updateStrategy": {"type": "RollingUpdate"}, "spec.driver.checkpoint": {"claimName": "runs"}},
    ]
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("edit"), FIELDS),
        st.tuples(st.just("wait"), st.integers(1, 90)),
        st.tuples(st.just("publish"), st.integers(3, 5), st.integers(0, 59)),
        st.tuples(
            st.sampled_from(["pods", "run", "report", "renew", "complete", "fail", "tidy", "job", "cluster", "look"])
        ),
    ),
    max_size=12,
)


def take(world: World, what: str, *values: Any) -> None:
    """One thing that users, Kubernetes or the driver do; nothing where it does not apply."""
    cluster, job = world.cache.get(RAYCLUSTER, KEY), world.cache.get(JOB, DRIVER)
    match what:
        case "edit":
            world.edit(values[0])
        case "pods":
            world.make_pods()
        case "run":
            world.run_pods("head", "worker", "evaluator", "driver")
        case "wait":
            world.seconds += values[0]
        case "report":
            world.report(1, at=world.now)
        case "publish":
            version, seconds_ago = values
            published = wire_time(world.now - timedelta(seconds=seconds_ago))
            weights = {"published": version, "acknowledged": 3, "lastPublishTime": published}
            world.report(4, at=world.now, weights=weights)
        case "renew" if world.cache.get(LEASE, DRIVER) is not None and world.pods("driver"):
            world.renew_lease()
        case "complete" if job is not None and world.pods("driver"):
            world.complete()
        case "fail" if job is not None and world.pods("driver"):
            world.fail("boom")
        case "tidy" if cluster is None:
            world.collect(*world.pods("head"), *world.pods("worker"), *world.pods("evaluator"))
        case "job" if job is not None:
            world.collect(job, *world.pods("driver"))
        case "cluster" if cluster is not None:
            world.collect(cluster)
        case "look":
            world.look(world.now)

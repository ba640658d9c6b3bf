"""What the operator tells Prometheus is what happened, whether it went well or not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Component
from tests.integration import played
from tests.integration.operator_metrics import Scrape
from tests.integration.played import manifest
from tests.wait import eventually

from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.table import LISTED, WATCHED
from collectorfleet_operator.children.workload import WORKLOAD


@contextmanager
def without_right(plane: ControlPlane, verb: str, resource: str) -> Iterator[None]:
    """The operator must not do that any more, until the end."""
    role = plane.get("clusterrole/collectorfleet-operator")
    name: Object = {
        "apiVersion": role["apiVersion"],
        "kind": role["kind"],
        "metadata": {"name": role["metadata"]["name"]},
    }
    rules = [
        {**rule, "verbs": [one for one in rule["verbs"] if (one, rule["resources"]) != (verb, [resource])]}
        for rule in role["rules"]
    ]
    assert rules != role["rules"]
    plane.apply({**name, "rules": [rule for rule in rules if rule["verbs"]]})
    try:
        yield
    finally:
        plane.apply({**name, "rules": role["rules"]})


def scraped(operator: Component, until: Callable[[Scrape], bool], what: str, within: float = 30) -> Scrape:
    return eventually(lambda: Scrape(operator), until=until, within=within, what=what)


def test_a_fleet_that_collects_is_counted_and_so_is_what_it_took(
    control_plane: ControlPlane, fleet_operator: Component, namespace: str
) -> None:
    began = time.monotonic()
    before = Scrape(fleet_operator)
    played.start(control_plane, namespace)
    after = scraped(
        fleet_operator, lambda now: now.values("fleet_ready", fleet_namespace=namespace) == [1], "a fleet that is ready"
    )
    assert after.total("fleets", phase="Collecting") >= 1
    assert len(after.values("fleets")) == len(Phase)
    assert after.total("reconciles_total", outcome="Done") > before.total("reconciles_total", outcome="Done")
    looks = after.total("reconcile_duration_seconds_count")
    assert looks == after.total("reconciles_total")
    made = {"verb": "patch", "resource": RAYCLUSTER.full_name, "code": "201"}
    assert after.total("api_requests_total", **made) == before.total("api_requests_total", **made) + 1
    assert after.total("api_request_duration_seconds_count", verb="list", resource=FLEET.full_name) > 0
    # Workloads are Kueue's, and this operator serves no queues.
    for kind in (kind for kind in LISTED if kind != WORKLOAD):
        (age,) = after.values("cache_list_age_seconds", resource=kind.full_name)
        # The operator started after the process of these tests.
        assert 0 <= age <= time.time() - psutil.Process().create_time()
    for kind in (kind for kind in WATCHED if kind != WORKLOAD):
        assert after.total("api_requests_total", verb="watch", resource=kind.full_name, code="200") >= 1
    # The last event was one of this fleet.
    assert 0 <= after.total("watch_event_age_seconds", resource=FLEET.full_name) <= time.monotonic() - began
    assert after.total("build_info") == 1


def test_a_status_that_may_not_be_written_is_told_as_refused_until_it_is_written(
    control_plane: ControlPlane, fleet_operator: Component, namespace: str
) -> None:
    refused = {"verb": "patch", "resource": f"{FLEET.full_name}/status", "code": "403"}
    before = Scrape(fleet_operator)
    with without_right(control_plane, "patch", "collectorfleets/status"):
        control_plane.apply(manifest(replicas=1), namespace)
        # Also children that are made in the namespace of the test before, which ends, may be refused.
        now = scraped(
            fleet_operator,
            lambda now: (
                now.total("reconciles_total", outcome="Refused") > before.total("reconciles_total", outcome="Refused")
                and now.total("api_requests_total", **refused) > before.total("api_requests_total", **refused)
            ),
            "a refusal among the outcomes and the requests",
        )
        assert now.values("fleet_ready", fleet_namespace=namespace) == []
        assert now.total("fleets", phase="Pending") >= 1
    scraped(
        fleet_operator, lambda now: now.values("fleet_ready", fleet_namespace=namespace) == [0], "the fleet's readiness"
    )


def test_what_may_not_be_listed_grows_old_and_nothing_else_does(
    control_plane: ControlPlane, fleet_operator: Component
) -> None:
    def age(now: Scrape) -> float:
        return now.total("cache_list_age_seconds", resource=LEASE.full_name)

    with without_right(control_plane, "list", LEASE.plural):
        now = scraped(fleet_operator, lambda now: age(now) > 12, "Leases listed long ago")
        assert now.total("api_requests_total", verb="list", resource=LEASE.full_name, code="403") > 0
    scraped(fleet_operator, lambda now: age(now) < 6, "Leases listed again")


def test_an_api_server_that_does_not_answer_is_told_as_such(
    control_plane: ControlPlane, fleet_operator: Component
) -> None:
    silent = {"verb": "list", "code": "NoAnswer"}
    before = Scrape(fleet_operator).total("api_requests_total", **silent)
    control_plane.kill("kube-apiserver")
    try:
        scraped(fleet_operator, lambda now: now.total("api_requests_total", **silent) > before, "a silence")
    finally:
        control_plane.start("kube-apiserver")
    scraped(fleet_operator, lambda now: max(now.values("cache_list_age_seconds")) < 40, "lists again", within=60)

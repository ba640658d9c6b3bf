"""Many fleets and two operators, one of which is killed in the middle of making their children."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.cluster import binaries, kuberay_crds
from tests.cluster import control_plane as control_planes
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.integration.operator_metrics import Scrape
from tests.integration.operator_process import NAMESPACE, operator
from tests.integration.played import manifest
from tests.wait import eventually

from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.table import manifests
from collectorfleet_operator.objects import Kind, name_of

FLEETS: Final = 100
# Three times as long as the Lease, a look at it, and the first lists.
TAKEN_OVER_WITHIN: Final = 60
REST: Final = 20


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """API server and etcd alone: whatever else would write is not there."""
    if reason := control_planes.missing():
        pytest.skip(f"left out the tests on a real API server: {reason}")
    plane = ControlPlane(tmp_path, kuberay=False, controllers=False)
    plane.start()
    try:
        plane.apply_crds(binaries.ROOT / "crds")
        kuberay_crds.install(plane)
        yield plane
    finally:
        plane.stop()


def writes(plane: ControlPlane, kind: Kind) -> Counter[str]:
    """What the API server was asked to write of a kind, by the code of its answer."""
    found: Counter[str] = Counter()
    for family in text_string_to_metric_families(plane.kubectl("get", "--raw", "/metrics")):
        for one in family.samples:
            asked = one.labels
            if one.name != "apiserver_request_total" or asked["verb"] in ("GET", "LIST", "WATCH", "CONNECT"):
                continue
            if (asked["group"], asked["resource"], asked["subresource"]) == (kind.group, kind.plural, ""):
                found[asked["code"]] += int(one.value)
    return found


def fleets(plane: ControlPlane) -> list[Object]:
    return plane.items("collectorfleets", "default")


@pytest.mark.variant_of(
    "tests/integration/test_operator_outages.py::test_a_killed_operator_that_returns_disturbs_nothing_and_sees_what_it_missed"
)
def test_a_hundred_fleets_are_taken_over_and_nothing_is_written_twice(plane: ControlPlane, tmp_path: Path) -> None:
    with ExitStack() as stack:
        operators = []
        for name in ("one", "two"):
            folder = tmp_path / name
            folder.mkdir()
            operators.append(stack.enter_context(operator(plane, folder, f"--lease={NAMESPACE}/operator")))

        def leading() -> bool:
            return any(Scrape(one).total("leading") == 1 for one in operators)

        eventually(leading, within=TAKEN_OVER_WITHIN, what="an operator leads")
        first, second = sorted(operators, key=lambda one: -Scrape(one).total("leading"))
        all_of_them = [manifest(f"fleet-{number}", replicas=1) for number in range(FLEETS)]
        plane.apply(all_of_them[:-REST], "default")
        eventually(lambda: writes(plane, RAYCLUSTER)["201"], until=lambda made: made > 10, within=60, what="some made")
        first.kill()
        made = writes(plane, RAYCLUSTER)["201"]
        # However far the first one came, these are the second one's.
        plane.apply(all_of_them[-REST:], "default")

        eventually(
            lambda: Scrape(second).total("leading"),
            until=lambda leads: leads == 1,
            within=TAKEN_OVER_WITHIN,
            what="the second operator leads",
        )
        eventually(
            lambda: writes(plane, RAYCLUSTER)["201"],
            until=lambda count: count > made,
            within=30,
            what=f"more than the {made} RayClusters of the first operator",
        )
        eventually(
            lambda: sum((one.get("status") or {}).get("observedGeneration", -1) > 0 for one in fleets(plane)),
            until=lambda seen: seen == FLEETS,
            within=180,
            what=f"{FLEETS} fleets have a status",
        )
        assert Scrape(second).total("leading") == 1

    children = manifests(CollectorFleet.parse_stored(fleets(plane)[0]))
    for kind in (child.kind for child in children):
        names = [name_of(one) for one in plane.items(f"{kind.plural}.{kind.group}".strip("."), "default")]
        assert len(names) == FLEETS, f"{len(names)} {kind}"
        # Of the other kinds somebody else writes some: the server its own roles, the operators Leases and accounts.
        if kind in (RAYCLUSTER, JOB):
            answers = writes(plane, kind)
            assert answers["200"] == 0, f"{kind}: {answers}"
            # What the killed operator was waiting for counts as 504, whether it was made or not.
            assert answers["201"] <= FLEETS <= answers["201"] + answers["504"], f"{kind}: {answers}"

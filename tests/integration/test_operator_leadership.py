"""Two operators at once: one serves fleets, by a Lease, and the other goes on where it ends."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.cluster import binaries
from tests.cluster import control_plane as control_planes
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Component
from tests.integration.operator_metrics import Scrape
from tests.integration.operator_process import NAMESPACE, operator
from tests.integration.played import manifest
from tests.wait import eventually

from collectorfleet_operator.children.lease import LEASE as LEASES

LEASE = "collectorfleet-operator"
# Three times as long as the Lease, a look at it, and the first lists.
TAKEN_OVER_WITHIN = 60


class Pair:
    """Of which one leads."""

    def __init__(self, plane: ControlPlane, operators: tuple[Component, Component]) -> None:
        self._plane = plane
        self._operators = operators

    def leader(self) -> Component:
        def leading() -> list[Component]:
            return [one for one in self._operators if one.running and Scrape(one).total("leading") == 1]

        # One that could not renew its Lease in time leads for a moment more.
        [found] = eventually(
            leading, until=lambda found: len(found) == 1, within=TAKEN_OVER_WITHIN, what="one operator leads"
        )
        return found

    def other(self, one: Component) -> Component:
        [found] = [other for other in self._operators if other is not one]
        return found

    def holder(self) -> str:
        return str(self._plane.get(f"lease/{LEASE}", NAMESPACE)["spec"].get("holderIdentity", ""))


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Without the operator of the other tests, which answers to every fleet."""
    if reason := control_planes.missing():
        pytest.skip(f"left out the tests on a real API server: {reason}")
    plane = ControlPlane(tmp_path_factory.mktemp("control-plane"))
    plane.start()
    try:
        plane.apply_crds(binaries.ROOT / "crds")
        yield plane
    finally:
        plane.stop()


@pytest.fixture
def pair(plane: ControlPlane, tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        folders = [tmp_path / name for name in ("one", "two")]
        for folder in folders:
            folder.mkdir()
        first, second = (
            stack.enter_context(operator(plane, folder, f"--lease={NAMESPACE}/{LEASE}")) for folder in folders
        )
        yield Pair(plane, (first, second))


def writes(one: Component) -> float:
    """For fleets: all but those of Leases, of which one is its own."""
    scrape, verbs = Scrape(one), ("patch", "create", "delete")
    of_leases = sum(scrape.total("api_requests_total", verb=verb, resource=LEASES.full_name) for verb in verbs)
    return sum(scrape.total("api_requests_total", verb=verb) for verb in verbs) - of_leases


def settled(one: Component) -> float:
    """Its writes, once there has been none for 3 s: a fleet's last ones come after its RayCluster."""
    before, since = -1.0, time.monotonic()

    def is_quiet() -> bool:
        nonlocal before, since
        now = writes(one)
        if now != before:
            before, since = now, time.monotonic()
        return time.monotonic() - since > 3

    eventually(is_quiet, within=30, what="nothing is written any more")
    return before


def is_served(plane: ControlPlane, fleet: str, within: float) -> None:
    plane.apply(manifest(fleet, replicas=1), "default")
    plane.wait_for(f"raycluster/{fleet}", lambda _: True, "default", within=within)


def test_one_of_two_serves_and_the_other_follows_however_it_ends(plane: ControlPlane, pair: Pair) -> None:
    first = pair.leader()
    second = pair.other(first)
    is_served(plane, "first", within=60)
    assert writes(second) == 0
    assert "standing by" in second.log.read_text()

    # Killed: its Lease has to run out.
    held_by = pair.holder()
    first.kill()
    is_served(plane, "killed", within=TAKEN_OVER_WITHIN)
    assert pair.holder() != held_by

    # In order: it gives the Lease back.
    first.launch()
    first.wait_ready(30)
    assert pair.leader() is second
    second.send(signal.SIGTERM)  # stop() would kill it after 5 s, which is short on a busy machine
    eventually(lambda: not second.running, within=60, what="the second operator has ended")
    is_served(plane, "ended", within=TAKEN_OVER_WITHIN)
    assert "released Lease" in second.log.read_text()
    assert pair.leader() is first


def test_one_that_was_stopped_writes_nothing_when_it_goes_on(plane: ControlPlane, pair: Pair) -> None:
    first = pair.leader()
    second = pair.other(first)
    is_served(plane, "before", within=60)
    wrote = settled(first)
    first.send(signal.SIGSTOP)
    try:
        is_served(plane, "meanwhile", within=TAKEN_OVER_WITHIN)
    finally:
        first.send(signal.SIGCONT)
    eventually(lambda: "was taken by" in first.log.read_text(), within=60, what="it hears that another leads")
    is_served(plane, "after", within=60)
    assert writes(first) == wrote
    assert pair.leader() is second

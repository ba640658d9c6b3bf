"""A watch that hangs without an error: a load balancer or a NAT that forgot the connection."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster import binaries
from tests.cluster import control_plane as control_planes
from tests.cluster.control_plane import ControlPlane
from tests.faults.silent import Relay
from tests.integration.operator_process import kubeconfig, operator
from tests.integration.played import manifest, message
from tests.wait import eventually

# Everything is listed every 30 s, and a request that nobody answers is given up after 15 s.
LISTED_WITHIN = 60
# Bookmarks come every minute, and a watch without one is begun anew.
WATCHED_WITHIN = 150


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    if reason := control_planes.missing():
        pytest.skip(f"left out the test of a silent watch: {reason}")
    plane = ControlPlane(tmp_path, kuberay=False, controllers=False)
    plane.start()
    try:
        plane.apply_crds(binaries.ROOT / "crds")
        yield plane
    finally:
        plane.stop()


def test_a_watch_that_hangs_costs_half_a_minute_and_is_begun_anew(plane: ControlPlane, tmp_path: Path) -> None:
    account = kubeconfig(plane, tmp_path)
    config = json.loads(account.read_text())
    server = config["clusters"][0]["cluster"]["server"]
    with Relay(int(server.rpartition(":")[2])) as relay:
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{relay.port}"
        account.write_text(json.dumps(config))
        with operator(plane, tmp_path, account=account):

            def seconds_until_seen(name: str, within: float) -> float:
                plane.apply(manifest(name), "default")
                began = time.monotonic()  # kubectl itself takes seconds on a busy machine
                plane.wait_for(
                    f"cfleet/{name}", lambda f: f["status"]["observedGeneration"] == 1, "default", within=within
                )
                assert "KubeRay" in message(plane.get(f"cfleet/{name}", "default"), "Ready")
                return time.monotonic() - began

            seconds_until_seen("before", within=60)
            relay.silence()
            listed = seconds_until_seen("meanwhile", within=LISTED_WITHIN)
            began = time.monotonic()
            numbers = iter(range(100))
            eventually(
                lambda: seconds_until_seen(f"later-{next(numbers)}", within=LISTED_WITHIN),
                until=lambda seconds: seconds < 3,
                within=WATCHED_WITHIN,
                every=2,
                what="a fleet that is seen at once",
            )
            print(
                f"seen after {listed:.0f} s by the lists, watched again after {listed + time.monotonic() - began:.0f} s"
            )

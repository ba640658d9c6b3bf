"""What these tests wait for."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.fleet_status import batches
from tests.wait import eventually

from collectorfleet_api import names

# A machine that does other things, too.
STARTED_WITHIN = 420


def goes_on(cluster: Cluster, namespace: str, *, more: int = 3, after: int = 0) -> Object:
    """Wait until the fleet is Ready and has so many batches more than now, by a driver of a later incarnation.

    A driver that has to end, because its head is gone, may deliver batches until the operator asks it.
    """
    before = batches(cluster.get("cfleet/fleet", namespace))

    def collects(fleet: Object) -> bool:
        is_ready = (condition(fleet, "Ready") or {}).get("status") == "True"
        return is_ready and batches(fleet) >= before + more and fleet["status"]["driverIncarnation"] > after

    return cluster.wait_for("cfleet/fleet", collects, namespace, within=180)


def running(cluster: Cluster, namespace: str, role: str) -> list[str]:
    """Names of the pods of a role that run and are to stay."""
    found = cluster.items("pods", namespace, f"collectorfleet.dev/role={role}")
    return [
        pod["metadata"]["name"]
        for pod in found
        if pod["status"].get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")
    ]


def another_runs(cluster: Cluster, namespace: str, role: str, before: str) -> None:
    """Wait until one pod of that role runs, which is not the one before."""
    eventually(
        lambda: running(cluster, namespace, role),
        until=lambda now: len(now) == 1 and now != [before],
        within=120,
        what=f"another {role} pod",
    )


def driver_process(pod: str) -> int:
    """Return the process of the driver in that pod, as this machine numbers it. Blocks for at most 30 s.

    A process that the driver starts has the driver's command line until it executes its own program.
    """

    def is_driver(process: Path) -> bool:
        try:
            env = (process / "environ").read_bytes().split(b"\0")
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            return False  # it has ended
        return f"{names.ENV_POD}={pod}".encode() in env and b"drive" in words

    [found] = eventually(
        lambda: [int(process.name) for process in Path("/proc").glob("[0-9]*") if is_driver(process)],
        until=lambda found: len(found) == 1,
        within=30,
        what=f"one process of the driver in {pod}",
    )
    return found

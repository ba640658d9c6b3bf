"""The driver against a real API server and a real Ray, with the rights that the operator gives it."""

from __future__ import annotations

import json
import re
import signal
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.e2e.fleets import fleet as manifest
from tests.fleet_status import agrees_with_log, batches
from tests.integration.driver_process import RayHead, drivers
from tests.wait import eventually

from collectorfleet.timeline.packed import unpack
from collectorfleet.timeline.timeline import Timeline
from collectorfleet_api import names

SLOTS = 3


@pytest.fixture(scope="module")
def ray_head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayHead]:
    head = RayHead(tmp_path_factory.mktemp("ray-head"), SLOTS)
    try:
        head.start()
        yield head
    finally:
        head.stop()


pytestmark = pytest.mark.usefixtures("fleet_crd")


def apply(plane: ControlPlane, namespace: str, **fleet: object) -> Object:
    plane.apply(manifest(**fleet), namespace)  # type: ignore[arg-type]
    return plane.get("cfleet/fleet", namespace)


def timeline(plane: ControlPlane, namespace: str) -> Timeline | None:
    """What the driver keeps in the fleet's ConfigMap; None before it wrote the first."""
    found = plane.get("configmap/fleet-timeline", namespace).get("binaryData", {}).get(names.TIMELINE_KEY)
    return None if found is None else unpack(b64decode(found))


def kept(fleet: Object) -> int:
    """Frames of the newest checkpoint, by the status."""
    return int(fleet["status"].get("checkpoint", {}).get("frames", 0))


def newest(folder: Path) -> int:
    """Frames of the newest checkpoint on disk."""
    files = sorted(folder.glob("checkpoint-*/checkpoint.json"))
    return int(json.loads(files[-1].read_text())["position"]["frames"])


def test_a_driver_trains_and_its_status_agrees_with_its_log(
    control_plane: ControlPlane, namespace: str, ray_head: RayHead, tmp_path: Path
) -> None:
    fleet = apply(control_plane, namespace, replicas=2, kwargs={"batches": 8})
    with drivers(control_plane, fleet, ray_head, tmp_path) as driver:
        driver["pod-1"].start()
        assert driver["pod-1"].exit_code(within=180) == 0, driver["pod-1"].log.read_text()
        log = driver["pod-1"].log.read_text()

    status = control_plane.get("cfleet/fleet", namespace)["status"]
    assert status["fleetUID"] == fleet["metadata"]["uid"]
    assert status["driverIncarnation"] == 1
    assert status["progress"]["batches"] == 8
    assert status["progress"]["framesDelivered"] == 8 * 200
    assert status["progress"]["metrics"] == {"batch": 8}
    # How far it came stays true; its collectors have ended.
    assert status["progress"]["collectors"]["summary"] == "0/2"
    assert "framesPerSecond" not in status["progress"]
    assert {row["state"] for row in status["collectors"]} == {"Retired"}
    agrees_with_log(status, log)
    kept = timeline(control_plane, namespace)
    assert kept is not None
    assert kept.series["frames"][-1] == 8 * 200
    assert set(kept.lives) == {"c0", "c1"}
    assert kept.ended is not None
    assert kept.ended.startswith("completed: ")
    # A clean end gives up the Lease: the next driver need not wait for it to expire.
    assert not control_plane.get("lease/fleet-driver", namespace)["spec"].get("holderIdentity")
    for milestone in ("python", "head", "imports", "ray", "constructed", "first_batch"):
        assert re.search(rf"milestone {milestone} \d+\.\d+", log), milestone


def test_a_running_driver_follows_replicas_survives_the_api_server_and_leaves_on_sigterm(
    control_plane: ControlPlane, namespace: str, ray_head: RayHead, tmp_path: Path
) -> None:
    fleet = apply(control_plane, namespace, replicas=1, mode="Async")
    with drivers(control_plane, fleet, ray_head, tmp_path) as driver:
        driver["pod-1"].start()
        control_plane.wait_for("cfleet/fleet", lambda f: batches(f) >= 3, namespace, within=120)
        lease = control_plane.get("lease/fleet-driver", namespace)["spec"]
        assert lease["holderIdentity"] == "pod-1"

        control_plane.kubectl("scale", "cfleet/fleet", "--replicas=2", "-n", namespace)
        grown = control_plane.wait_for(
            "cfleet/fleet", lambda f: f["status"]["progress"]["collectors"]["summary"] == "2/2", namespace, within=60
        )

        control_plane.kill("kube-apiserver")
        eventually(lambda: driver["pod-1"].says("cannot write the status"), within=60, what="the outage in the log")
        control_plane.start("kube-apiserver")
        seen = control_plane.wait_for("cfleet/fleet", lambda f: batches(f) > batches(grown) + 5, namespace, within=120)
        assert seen["status"]["progress"]["framesDelivered"] == batches(seen) * 200
        assert len(driver["pod-1"].says("WARNING.*cannot write the status")) <= 4

        driver["pod-1"].send(signal.SIGTERM)
        assert driver["pod-1"].exit_code(within=120) == 128 + signal.SIGTERM
    last = control_plane.get("cfleet/fleet", namespace)
    assert batches(last) >= batches(seen)
    # A clean end gives up the Lease: the next driver need not wait for it to expire.
    assert not control_plane.get("lease/fleet-driver", namespace)["spec"].get("holderIdentity")


def test_a_second_driver_waits_while_the_first_lives_and_takes_over_when_it_is_dead(
    control_plane: ControlPlane, namespace: str, ray_head: RayHead, tmp_path: Path
) -> None:
    wanted = manifest(replicas=1, mode="Async")
    wanted["spec"]["driver"]["checkpoint"] = {"claimName": "claim", "everySeconds": 1}
    control_plane.apply(wanted, namespace)
    fleet = control_plane.get("cfleet/fleet", namespace)
    env = {names.ENV_CHECKPOINTS: str(tmp_path / "mounted")}
    with drivers(control_plane, fleet, ray_head, tmp_path) as driver:
        driver["pod-1"].start(**env)
        control_plane.wait_for("cfleet/fleet", lambda f: kept(f) > 0, namespace, within=120)
        driver["pod-2"].start(**env)
        eventually(lambda: driver["pod-2"].says("waiting until driver pod-1"), within=90, what="pod-2 waits")
        # Frozen, not dead: its process would go on if it woke up.
        driver["pod-1"].send(signal.SIGSTOP)
        control_plane.wait_for(
            "lease/fleet-driver", lambda lease: lease["spec"]["holderIdentity"] == "pod-2", namespace, within=60
        )
        # Its first report still has the batches of the driver before it, and no collectors.
        seen = control_plane.wait_for(
            "cfleet/fleet",
            lambda f: (
                f["status"].get("driverIncarnation") == 2
                and f["status"]["progress"]["collectors"]["summary"] == "1/1"
                and batches(f) >= 3
            ),
            namespace,
            within=180,
        )
        driver["pod-1"].send(signal.SIGCONT)
        assert driver["pod-1"].exit_code(within=120) == 1
        # Whichever it learns of first.
        assert driver["pod-1"].says("driver pod-2 has taken over|another driver has taken over the folder")
        assert newest(tmp_path / "mounted/fleet") >= kept(seen)
        control_plane.wait_for("cfleet/fleet", lambda f: kept(f) > kept(seen), namespace, within=60)
        assert not driver["pod-2"].says("cannot write a checkpoint to")


@pytest.mark.variant_of(
    "tests/e2e/test_resume.py::test_a_killed_driver_or_head_is_followed_by_a_driver_that_goes_on_from_the_claim"
)
@pytest.mark.parametrize("with_checkpoint", [True, False], ids=["checkpoint", "no checkpoint"])
def test_the_driver_after_a_killed_one_goes_on_with_the_next_version_and_says_what_is_lost(
    control_plane: ControlPlane, namespace: str, ray_head: RayHead, tmp_path: Path, with_checkpoint: bool
) -> None:
    wanted = manifest(replicas=1)
    env = {}
    if with_checkpoint:
        wanted["spec"]["driver"]["checkpoint"] = {"claimName": "claim", "everySeconds": 1}
        env[names.ENV_CHECKPOINTS] = str(tmp_path / "mounted")
    control_plane.apply(wanted, namespace)
    fleet = control_plane.get("cfleet/fleet", namespace)
    with drivers(control_plane, fleet, ray_head, tmp_path) as driver:
        driver["pod-1"].start(**env)
        seen = control_plane.wait_for(
            "cfleet/fleet",
            lambda f: batches(f) >= 10 and (not with_checkpoint or f["status"]["checkpoint"]["frames"] > 0),
            namespace,
            within=120,
        )
        before = eventually(lambda: timeline(control_plane, namespace), within=90, what="a timeline")
        driver["pod-1"].send(signal.SIGKILL)
        driver["pod-1"].exit_code()
        last = control_plane.get("cfleet/fleet", namespace)["status"]
        driver["pod-2"].start(**env)
        again = control_plane.wait_for(
            "cfleet/fleet",
            lambda f: f["status"]["driverIncarnation"] == 2 and (f["status"]["weights"].get("acknowledged") or 0) > 0,
            namespace,
            within=120,
        )["status"]
        gone_on = eventually(
            lambda: timeline(control_plane, namespace),
            until=lambda found: found is not None and len(found.happened) == 1,
            within=90,
            what="a timeline with another driver",
        )
        (said,) = eventually(
            lambda: driver["pod-2"].says(r"((?:resuming|starting over).*) frames were lost"), within=60
        )
    assert gone_on.happened[0].what == "the driver was restarted"
    assert (gone_on.began, gone_on.times[0]) == (before.began, before.times[0])
    assert again["progress"]["framesDelivered"] % 200 == 0
    assert again["weights"]["acknowledged"] > last["weights"]["published"]
    if with_checkpoint:
        frames = int(re.findall(r"the checkpoint at (\d+) frames", said)[0])
        assert frames >= seen["status"]["checkpoint"]["frames"]
        # To the batch, though the status is up to 2 s old.
        assert again["progress"]["framesLost"] + frames >= last["progress"]["framesDelivered"]
        assert again["progress"]["framesDelivered"] >= frames
    else:
        assert said.startswith("starting over, because there is no checkpoint and no output to resume from")
        assert again["progress"]["framesLost"] == last["progress"]["framesDelivered"]


@pytest.mark.variant_of(
    "tests/e2e/test_bad_input.py::test_an_error_of_the_users_code_fails_the_fleet_once_with_its_own_words"
)
def test_an_error_of_the_users_code_is_exit_code_64_with_its_own_words(
    control_plane: ControlPlane, namespace: str, ray_head: RayHead, tmp_path: Path
) -> None:
    fleet = apply(control_plane, namespace, train="workload:train_fails")
    with drivers(control_plane, fleet, ray_head, tmp_path) as driver:
        driver["pod-1"].start()
        assert driver["pod-1"].exit_code(within=120) == 64
        assert driver["pod-1"].says("failed: train workload:train_fails: RuntimeError: loss is NaN at batch 3\n")


def test_a_driver_of_a_fleet_that_was_replaced_ends_without_touching_the_new_one(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    old = apply(control_plane, namespace)
    control_plane.delete("cfleet/fleet", namespace)
    new = apply(control_plane, namespace)
    with drivers(control_plane, new, "127.0.0.1:1", tmp_path) as driver:
        driver["pod-1"].start(COLLECTORFLEET_UID=old["metadata"]["uid"])
        assert driver["pod-1"].exit_code(within=60) == 64
        assert driver["pod-1"].says("was replaced")
    assert "fleetUID" not in control_plane.get("cfleet/fleet", namespace)["status"]

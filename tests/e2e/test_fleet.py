"""The main job on a real cluster: apply, train, read the status, scale, survive, delete."""

from __future__ import annotations

from pathlib import Path

import yaml
from tests.cluster.client import Client, Object, condition
from tests.e2e import fleets
from tests.fleet_status import agrees_with_log, summary
from tests.wait import eventually

EXAMPLE = Path(__file__).parents[2] / "examples" / "cartpole.yaml"
CHILDREN = "pods,jobs,rayclusters,secrets,serviceaccounts,roles,rolebindings,leases"


def collecting(fleet: Object) -> bool:
    return int(fleet["status"]["progress"]["batches"]) >= 3


def owned_by_fleet(cluster: Client, namespace: str, name: str) -> list[str]:
    listed = cluster.items(CHILDREN, namespace)
    return [f"{o['kind']}/{o['metadata']['name']}" for o in listed if o["metadata"]["name"].startswith(name)]


def test_the_example_trains_to_its_reward_and_leaves_nothing_behind(cluster: Client, namespace: str) -> None:
    cluster.apply(EXAMPLE, namespace)
    done = cluster.wait_for("cfleet/cartpole", "Completed", namespace, within=480)
    status = done["status"]
    wanted = next(d for d in yaml.safe_load_all(EXAMPLE.read_text()) if d["kind"] == "CollectorFleet")
    replicas = wanted["spec"]["collectors"]["replicas"]

    assert status["progress"]["metrics"]["reward"] >= 450
    assert status["phase"] == "Completed"
    assert status["observedGeneration"] == done["metadata"]["generation"]
    ready = condition(done, "Ready")
    assert ready
    assert (ready["status"], ready["reason"]) == ("True", "Completed")

    # The status agrees with what the driver's log says, for each collector.
    log = cluster.kubectl("logs", "-n", namespace, "job/cartpole-driver", "--tail=-1")
    assert len(status["collectors"]) == replicas
    agrees_with_log(status, log)

    table = cluster.kubectl("get", "cfleet", "-n", namespace).splitlines()
    assert table[0].split() == [
        "NAME",
        "READY",
        "COLLECTORS",
        "WEIGHTS",
        "STALENESS",
        "FRAMES",
        "FPS",
        "EVAL",
        "DONE",
        "PHASE",
        "AGE",
    ]
    # Cells may be empty: nothing is collected any more.
    starts = [table[0].index(name) for name in table[0].split()]
    ends = [*starts[1:], None]
    shown = {table[0][a:b].strip(): table[1][a:b].strip() for a, b in zip(starts, ends, strict=True)}
    assert shown["COLLECTORS"] == f"0/{replicas}"
    assert shown["FPS"] == ""
    assert shown["READY"] == "True"
    assert shown["FRAMES"] == str(status["progress"]["framesDelivered"])
    assert shown["PHASE"] == "Completed"

    told = cluster.kubectl("describe", "cfleet/cartpole", "-n", namespace).partition("Events:")[2]
    assert 3 <= len(told.strip().splitlines()) - 2 <= 12, told
    assert "Completed" in told

    cluster.kubectl("delete", "cfleet/cartpole", "-n", namespace)
    eventually(
        lambda: owned_by_fleet(cluster, namespace, "cartpole"),
        until=lambda left: not left,
        within=180,
        what="children of a deleted fleet gone",
    )


def test_a_fleet_scaled_before_it_starts_runs_that_many_collectors_and_grows_and_shrinks(
    cluster: Client, namespace: str
) -> None:
    cluster.apply([fleets.code(), fleets.fleet(replicas=1, mode="Async")], namespace)
    cluster.kubectl("scale", "cfleet/fleet", "--replicas=2", "-n", namespace)
    cluster.wait_for("cfleet/fleet", lambda f: collecting(f) and summary(f) == "2/2", namespace, within=400)
    # The driver told the one, the operator tells the other when it has seen it.
    cluster.wait_for("cfleet/fleet", lambda f: f["status"]["replicas"] == 2, namespace, within=60)

    cluster.kubectl("scale", "cfleet/fleet", "--replicas=3", "-n", namespace)
    grown = cluster.wait_for("cfleet/fleet", lambda f: summary(f) == "3/3", namespace, within=400)

    cluster.kubectl("scale", "cfleet/fleet", "--replicas=1", "-n", namespace)
    shrunk = cluster.wait_for("cfleet/fleet", lambda f: summary(f) == "1/1", namespace, within=240)
    batches = shrunk["status"]["progress"]["batches"]
    assert batches >= grown["status"]["progress"]["batches"]
    cluster.wait_for("cfleet/fleet", lambda f: f["status"]["progress"]["batches"] > batches + 3, namespace, within=240)
    eventually(
        lambda: len(cluster.items("pods", namespace, "collectorfleet.dev/role=worker")),
        until=lambda pods: pods == 1,
        within=180,
        what="one worker pod left",
    )
    after = cluster.get("cfleet/fleet", namespace)
    assert (condition(after, "Stalled") or {}).get("status") != "True"
    assert after["status"]["driver"]["restarts"] == 0

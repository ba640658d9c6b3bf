"""A script as the driver of a fleet: what it defines itself reaches collectors on other machines."""

from __future__ import annotations

import yaml
from tests.cluster.binaries import ROOT
from tests.cluster.client import Client

EXAMPLE = ROOT / "examples/ppo_script.yaml"


def test_the_example_script_trains_on_a_fleet_and_completes(cluster: Client, namespace: str) -> None:
    fleet, code = yaml.safe_load_all(EXAMPLE.read_text())
    fleet["spec"]["driver"]["args"] = ["--goal", "40"]
    cluster.apply([code, fleet], namespace)
    done = cluster.wait_for("cfleet/ppo-script", "Completed", namespace, within=500)
    status = done["status"]
    assert status["progress"]["metrics"]["reward"] >= 40
    assert {row["state"] for row in status["collectors"]} == {"Retired"}
    assert status["weights"]["published"] > 1
    log = cluster.kubectl("logs", "-n", namespace, "job/ppo-script-driver", "--tail=-1")
    assert "mean reward of the last 20 episodes: " in log
    assert "num_collectors: the script's values are ignored, because the fleet's manifest sets them" in log

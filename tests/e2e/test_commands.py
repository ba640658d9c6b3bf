"""``collectorfleet`` as a person types it beside kubectl, on a real cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.built_wheel import Environment, build, needed
from tests.cluster.binaries import ROOT
from tests.cluster.client import Client
from tests.e2e import fleets, plugin
from tests.integration.played import told
from tests.wait import eventually

from collectorfleet_api.manifests.yaml_writer import to_yaml


@pytest.fixture
def cfleet(cluster: Client, namespace: str, tmp_path: Path) -> Callable[..., str]:
    """Run a command of the built wheel, in an environment with the packages of ``[client]`` and no others."""
    environment = Environment.make(tmp_path / "client")
    environment.link(needed("client"))
    environment.install("--no-deps", str(build(ROOT, tmp_path / "dist")))
    return partial(plugin.cfleet, cluster, namespace, program=environment.folder / "bin/kubectl-cfleet")


def show(cluster: Client, namespace: str, tmp_path: Path, cfleet: Callable[..., str]) -> None:
    """What a person looks at while it trains."""
    shown = cfleet("status", "fleet")
    assert f"{namespace}/fleet  Collecting" in shown
    assert "c0         Ready" in shown
    eventually(
        lambda: cfleet("logs", "fleet", "--of", "c0"),
        until=lambda said: "the game begins" in said,
        within=60,
        what="a collector's own words in the log",
    )
    assert "driver | " in cfleet("logs", "fleet")
    report = tmp_path / "report.html"
    eventually(
        lambda: cluster.get("configmap/fleet-timeline", namespace).get("binaryData"), within=120, what="a timeline"
    )
    assert cfleet("report", "fleet", "-o", str(report)) == f"{report}\n"
    assert "Collecting, " in report.read_text()
    assert cfleet("top", "--once").splitlines()[1].split()[:2] == ["fleet", "Collecting"]


@pytest.mark.variant_of("tests/e2e/test_fleet.py::test_the_example_trains_to_its_reward_and_leaves_nothing_behind")
def test_the_sweep_trains_a_fleet_for_each_trial_and_names_the_best(
    cluster: Client, namespace: str, tmp_path: Path
) -> None:
    env = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    words = [sys.executable, ROOT / "examples/sweep/sweep.py", "--trials=2", "--parallel=2", "--goal=60"]
    words += ["--folder", tmp_path, "--namespace", namespace]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "best: trial " in done.stdout
    assert cluster.items("cfleet", namespace) == [] or all(
        one["metadata"].get("deletionTimestamp") for one in cluster.items("cfleet", namespace)
    )


@pytest.mark.timeout(1200)
def test_a_folder_is_submitted_watched_changed_stopped_goes_on_and_takes_its_code_along_when_it_is_deleted(
    cluster: Client, namespace: str, tmp_path: Path, cfleet: Callable[..., str]
) -> None:
    """By the built wheel, with a package below `src`, which no ConfigMap of files could hold."""
    folder = tmp_path / "run"
    module = folder / "src/lab/training.py"
    module.parent.mkdir(parents=True)
    (module.parent / "__init__.py").touch()
    module.write_text(fleets.WORKLOAD.read_text())
    fleet = fleets.fleet(environment="lab.training:talking_env", train="lab.training:train")
    del fleet["spec"]["code"]
    fleet["spec"]["policy"]["factory"] = "lab.training:make_policy"
    (folder / "fleet.yaml").write_text(to_yaml(fleet))

    said = cfleet("submit", str(folder), "--path", "src")
    assert said.splitlines()[1].startswith("fleet fleet is submitted; run `kubectl cfleet top fleet ")
    seen = cluster.wait_for("cfleet/fleet", "Ready", namespace, within=400)
    archive = seen["spec"]["code"]["archive"]
    assert seen["status"]["code"] == {"digest": f"sha256:{archive['sha256']}"}
    show(cluster, namespace, tmp_path, cfleet)

    module.write_text(fleets.WORKLOAD.read_text() + "# changed\n")
    cfleet("submit", str(folder), "--path", "src")
    changed = cluster.wait_for("cfleet/fleet", lambda f: told(f, "UpToDate")[0] == "False", namespace, within=60)
    assert changed["spec"]["code"]["archive"]["configMap"] != archive["configMap"]
    labelled = {one["metadata"]["name"] for one in cluster.items("configmaps", namespace, "collectorfleet.dev/fleet")}
    assert len(labelled - {"fleet-timeline"}) == 2
    assert archive["configMap"] in labelled

    cfleet("stop", "fleet")
    cluster.wait_for("cfleet/fleet", "Suspended", namespace, within=240)
    cfleet("resume", "fleet")
    went_on = cluster.wait_for("cfleet/fleet", "Ready", namespace, within=400)
    assert went_on["status"]["code"] == {"digest": f"sha256:{changed['spec']['code']['archive']['sha256']}"}

    cluster.kubectl("delete", "cfleet/fleet", "-n", namespace)
    eventually(
        lambda: cluster.items("configmaps", namespace, "collectorfleet.dev/fleet"),
        until=lambda left: not left,
        within=180,
        what="the trees go with the fleet",
    )

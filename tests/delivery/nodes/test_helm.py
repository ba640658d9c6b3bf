"""A fleet by Helm on a real cluster: what ``helm install --wait`` waits for, and what a run needs of older releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster import binaries
from tests.cluster.client import Client, Object, condition
from tests.delivery.helm import CHARTS, Helm, HelmError
from tests.e2e import fleets

CHART = CHARTS / "collectorfleet"
EXAMPLE = binaries.ROOT / "examples" / "cartpole"
FLEET = "cfleet/my-run"
CODE = "a = 1\n"


@pytest.fixture
def helm(cluster: Client, tmp_path: Path) -> Helm:
    """Helm 4; Helm 3 waits for no custom resource."""
    if reason := binaries.missing([binaries.HELM4]):
        pytest.skip(f"left out the tests of the chart: {reason}")
    return Helm(binaries.build(binaries.HELM4) / "helm4", tmp_path, cluster.kubeconfig)


def release(
    helm: Helm, namespace: str, manifest: Object, code: Path, *, environment: dict[str, Any] | None = None
) -> str:
    """Install or upgrade, wait, and return what helm printed."""
    spec = {key: value for key, value in manifest["spec"].items() if key != "code"}
    values = helm.home / "values.yaml"
    values.write_text(yaml.safe_dump({"fleet": spec | (environment or {})}))
    file = f"code.{code.stem}\\.py={code}"
    words = ("upgrade", "--install", "my-run", CHART, "-f", values, "--set-file", file, "-n", namespace)
    return helm(*words, "--wait", "--timeout", "4m", timeout=300)


def batches(fleet: Object) -> int:
    return int(fleet["status"].get("progress", {}).get("batches", 0))


def test_an_installation_is_done_when_the_collectors_are_available_and_trains(
    cluster: Client, namespace: str, helm: Helm
) -> None:
    documents = yaml.safe_load_all(EXAMPLE.with_suffix(".yaml").read_text())
    example = next(found for found in documents if found["kind"] == "CollectorFleet")
    release(helm, namespace, example, EXAMPLE / "cartpole.py")
    ready = condition(cluster.get(FLEET, namespace), "Ready")
    assert ready
    assert ready["status"] == "True"
    cluster.wait_for(FLEET, lambda fleet: batches(fleet) >= 3, namespace, within=60)
    helm("uninstall", "my-run", "-n", namespace)
    cluster.wait_gone(FLEET, namespace)


def test_a_broken_factory_ends_the_installation_with_its_own_words(cluster: Client, namespace: str, helm: Helm) -> None:
    with pytest.raises(HelmError, match="no such game: Pong on the moon"):
        release(helm, namespace, fleets.fleet(environment="workload:broken_env"), fleets.WORKLOAD)


def test_a_held_spec_ends_an_upgrade_and_a_lost_driver_goes_on_with_the_code_it_began_with(
    cluster: Client, namespace: str, helm: Helm, tmp_path: Path
) -> None:
    release(helm, namespace, fleets.fleet(), fleets.WORKLOAD)
    cluster.wait_for(FLEET, lambda fleet: batches(fleet) >= 1, namespace, within=60)
    changed = tmp_path / "workload.py"
    changed.write_text(fleets.WORKLOAD.read_text() + CODE)
    release(helm, namespace, fleets.fleet(), changed)

    held = cluster.wait_for(FLEET, lambda fleet: (condition(fleet, "UpToDate") or {})["status"] == "False", namespace)
    assert (condition(held, "UpToDate") or {})["reason"] == "RestartNeeded"
    [driver] = cluster.items("pods", namespace, "collectorfleet.dev/role=driver")
    cluster.delete(f"pod/{driver['metadata']['name']}", namespace, wait=False)

    def is_another_driver(fleet: Object) -> bool:
        return fleet["status"].get("driverIncarnation", 0) > held["status"]["driverIncarnation"] and batches(fleet) >= 1

    cluster.wait_for(FLEET, is_another_driver, namespace, within=120)
    # As the documentation finds the code of a run.
    volume = '{.spec.template.spec.volumes[?(@.name=="code")].configMap.name}'
    mounted = cluster.kubectl("get", "job", "my-run-driver", "-n", namespace, "-o", f"jsonpath={volume}")
    now = cluster.get(FLEET, namespace)
    assert mounted.startswith("my-run-code-")
    assert mounted != now["spec"]["code"]["configMap"]
    assert (condition(now, "UpToDate") or {})["reason"] == "RestartNeeded"

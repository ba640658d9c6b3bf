"""Releases on a real API server: installed, upgraded, rolled back, uninstalled; what stays, and what is refused."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.binaries import ROOT
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.delivery.fleet_chart.chart import CHART, CI, RELEASE, TRAIN, Values, spec, values_file
from tests.delivery.helm import Helm, HelmError

FLEET = f"cfleet/{RELEASE}"
OTHER = "x = 2\n"


class Release:
    """One release of the chart in a namespace of its own."""

    def __init__(self, helm: Helm, cluster: ControlPlane, namespace: str) -> None:
        self._helm = helm
        self._cluster = cluster
        self._namespace = namespace

    def upgrade(self, values: Values, *words: str) -> str:
        """Install it, or upgrade it; what helm printed."""
        file = values_file(self._helm, values)
        return self.helm("upgrade", "--install", RELEASE, CHART, "-f", file, *words)

    def helm(self, *words: str | Path) -> str:
        return self._helm(*words, "-n", self._namespace)

    def kubectl(self, *words: str) -> str:
        return self._cluster.kubectl(*words, "-n", self._namespace)

    def fleet(self) -> Object:
        return self._cluster.get(FLEET, self._namespace)

    def scale(self, replicas: int) -> None:
        self.kubectl("scale", FLEET, f"--replicas={replicas}")

    @property
    def replicas(self) -> int:
        return int(self.fleet()["spec"]["collectors"]["replicas"])

    @property
    def code(self) -> str:
        """Name of the ConfigMap that the spec names."""
        return str(self.fleet()["spec"]["code"]["configMap"])

    def text(self, config_map: str) -> str:
        """What is in ``train.py`` of a ConfigMap."""
        return str(self._cluster.get(f"configmap/{config_map}", self._namespace)["data"]["train.py"])

    def kept(self) -> set[str]:
        """ConfigMaps with code of this release, as the documentation finds them."""
        selector = f"app.kubernetes.io/component=code,app.kubernetes.io/instance={RELEASE}"
        found = self._cluster.items("configmaps", self._namespace, selector)
        return {obj["metadata"]["name"] for obj in found}


@pytest.fixture
def release(released: Helm, control_plane: ControlPlane, namespace: str) -> Release:
    return Release(released, control_plane, namespace)


def trained_by(text: str, **fleet: Any) -> dict[str, Any]:
    return {"fleet": spec(**fleet), "code": {"train.py": text}}


@pytest.mark.parametrize("values", CI, ids=lambda path: path.stem)
def test_the_api_server_takes_every_file_of_values(release: Release, values: Path) -> None:
    said = release.helm("install", RELEASE, CHART, "-f", values, "--dry-run=server")
    assert "kind: CollectorFleet" in said
    release.helm("install", RELEASE, CHART, "-f", values)


def test_the_command_of_the_readme_installs_its_fleet(release: Release, released: Helm) -> None:
    readme = (CHART / "README.md").read_text()
    [fleet] = re.findall(r"```yaml\n(.*?)```", readme, re.DOTALL)
    [command] = re.findall(r"```sh\nhelm (.*?)\n```", readme, re.DOTALL)
    here = {"charts/collectorfleet": str(CHART), "fleet.yaml": str(values_file(released, fleet))}
    words = [here.get(word, word).replace("=examples/", f"={ROOT}/examples/") for word in shlex.split(command)]
    release.helm(*words)
    assert release.fleet()["spec"]["environment"]["factory"] == "cartpole:make_env"
    assert release.kept() == {release.code}


def test_a_spec_is_stored_as_kubectl_stores_it(release: Release, control_plane: ControlPlane, namespace: str) -> None:
    odd = Path(__file__).with_name("odd.yaml").read_text()
    release.upgrade(odd)
    body = odd.split("fleet:\n", 1)[1]
    head = "apiVersion: collectorfleet.dev/v1alpha1\nkind: CollectorFleet\nmetadata: {name: by-kubectl}\nspec:\n"
    control_plane.apply(head + body, namespace)
    assert release.fleet()["spec"] == control_plane.get("cfleet/by-kubectl", namespace)["spec"]


def test_changed_code_is_another_config_map_and_a_changed_spec(release: Release) -> None:
    release.upgrade(trained_by(TRAIN))
    first, generation = release.code, release.fleet()["metadata"]["generation"]
    release.upgrade(trained_by(OTHER))
    assert release.code != first
    assert release.fleet()["metadata"]["generation"] == generation + 1
    assert (release.text(first), release.text(release.code)) == (TRAIN, OTHER)


def test_an_upgrade_that_changes_nothing_is_no_changed_spec(release: Release) -> None:
    release.upgrade(trained_by(TRAIN))
    before = release.fleet()["metadata"]
    release.upgrade(trained_by(TRAIN))
    assert release.fleet()["metadata"]["generation"] == before["generation"]
    assert release.kept() == {release.code}


def test_a_rollback_finds_the_code_of_its_revision(release: Release) -> None:
    release.upgrade(trained_by(TRAIN))
    first = release.code
    release.upgrade(trained_by(OTHER))
    second = release.code
    release.helm("rollback", RELEASE, "1")
    assert release.code == first
    # The run that is to be replaced may still need the other.
    assert (release.text(first), release.text(second)) == (TRAIN, OTHER)
    release.helm("rollback", RELEASE, "2")
    assert release.code == second


def test_what_uninstalling_keeps_is_found_by_label_and_taken_up_again(release: Release) -> None:
    release.upgrade(trained_by(TRAIN))
    release.upgrade(trained_by(OTHER))
    first, second = sorted(release.kept())
    said = release.helm("uninstall", RELEASE)
    assert "kept due to the resource policy" in said
    assert release.kubectl("get", "cfleet", "-o", "name") == ""
    assert release.kept() == {first, second}
    release.upgrade(trained_by(TRAIN))
    assert release.kept() == {first, second}
    release.helm("uninstall", RELEASE)
    selector = f"app.kubernetes.io/component=code,app.kubernetes.io/instance={RELEASE}"
    release.kubectl("delete", "configmap", "-l", selector)
    assert release.kept() == set()


def test_code_that_is_moved_into_the_image_leaves_the_spec(release: Release) -> None:
    release.upgrade(trained_by(TRAIN))
    release.upgrade({"fleet": spec()})
    assert "code" not in release.fleet()["spec"]
    assert len(release.kept()) == 1


def test_scaling_survives_an_upgrade_where_replicas_are_left_out(release: Release) -> None:
    release.upgrade({"fleet": spec()})
    release.scale(4)
    release.upgrade({"fleet": spec(image="another:1")})
    assert release.fleet()["spec"]["image"] == "another:1"
    assert release.replicas == 4


def test_where_replicas_are_given_helm_3_leaves_a_scaled_fleet_alone_and_helm_4_names_the_conflict(
    release: Release, released: Helm
) -> None:
    release.upgrade({"fleet": spec(collectors={"replicas": 2})})
    release.scale(4)
    another = {"fleet": spec(collectors={"replicas": 2}, image="another:1")}
    if is_helm_4(released):
        with pytest.raises(HelmError, match=r"conflict.*\.spec\.collectors\.replicas"):
            release.upgrade(another)
        release.upgrade(another, "--force-conflicts")
        assert release.replicas == 2
    else:
        release.upgrade(another)
        assert release.replicas == 4


def test_replicas_that_are_taken_out_again_are_1_until_somebody_scales(release: Release) -> None:
    release.upgrade({"fleet": spec(collectors={"replicas": 2})})
    release.upgrade({"fleet": spec()})
    assert release.replicas == 1
    release.scale(4)
    release.upgrade({"fleet": spec(image="another:1")})
    assert release.replicas == 4


def test_what_only_the_api_server_knows_fails_the_release_in_its_words_and_is_mended_by_an_upgrade(
    release: Release,
) -> None:
    wrong = spec(collection={"framesPerBatch": 4001}, collectors={"replicas": 2})
    with pytest.raises(
        HelmError, match=r"4001 cannot be divided into 2 shares \(collectors\.replicas\); use 4000 or 4002"
    ):
        release.upgrade({"fleet": wrong})
    release.upgrade({"fleet": spec(collectors={"replicas": 2})})
    assert json.loads(release.helm("status", RELEASE, "-o", "json"))["info"]["status"] == "deployed"


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        pytest.param({}, "kubectl delete job my-run-driver", id="OnDelete"),
        pytest.param(
            {"type": "RollingUpdate"}, "kubectl wait --for=condition=UpToDate cfleet/my-run", id="RollingUpdate"
        ),
    ],
)
def test_after_an_upgrade_the_notes_say_what_becomes_of_a_changed_spec(
    release: Release, strategy: dict[str, str], words: str
) -> None:
    values = {"fleet": spec(updateStrategy=strategy)}
    assert words not in release.upgrade(values)
    assert words in release.upgrade(values)
    assert words in release.helm("get", "notes", RELEASE)


def is_helm_4(helm: Helm) -> bool:
    return helm("version", "--template", "{{.Version}}").startswith("v4")

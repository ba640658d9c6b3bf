"""A real API server takes what the chart renders, for each file of values in ci/."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.cluster import module_files
from tests.cluster.client import manifest_text
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.delivery.helm import Helm
from tests.delivery.operator_chart.conftest import Namespaces
from tests.delivery.operator_chart.rendering import CHART, CI_VALUES, Object, pod

DRY_RUN = (
    "apply",
    "--server-side",
    "--dry-run=server",
    "--validate=strict",
    "--force-conflicts",
    "-o",
    "name",
    "-f",
    "-",
)


@pytest.fixture(scope="session")
def watched(plane: ControlPlane) -> None:
    """The namespaces that the files name exist."""
    named = {name for path in CI_VALUES for name in (yaml.safe_load(path.read_text()) or {}).get("watchNamespaces", [])}
    assert named == {"team-a", "team-b"}
    for name in sorted(named):
        plane.kubectl("create", "namespace", name)


@pytest.fixture(scope="session")
def monitored(plane: ControlPlane) -> None:
    """PodMonitors and PrometheusRules are served, as by a cluster with the Prometheus operator."""
    if reason := module_files.PROMETHEUS_OPERATOR.missing():
        pytest.skip(f"left out the dry run: {reason}")
    plane.apply_crds(module_files.PROMETHEUS_OPERATOR.folder() / "example/prometheus-operator-crd")


def release(helm: Helm, values: Path, namespace: str) -> list[Object]:
    return helm.template(CHART, "--namespace", namespace, "--values", values)


@pytest.mark.usefixtures("watched", "monitored")
@pytest.mark.parametrize("values", CI_VALUES, ids=lambda path: path.stem)
def test_the_api_server_takes_every_object(
    helm: Helm, plane: ControlPlane, namespaces: Namespaces, values: Path
) -> None:
    namespace = namespaces("dry-run")
    objects = release(helm, values, namespace)
    taken = plane.kubectl(*DRY_RUN, input=manifest_text(objects)).split()
    assert len(taken) == len(objects) >= 4


def test_an_object_with_a_field_that_does_not_exist_is_not_taken(
    helm: Helm, plane: ControlPlane, namespaces: Namespaces
) -> None:
    namespace = namespaces("dry-run")
    objects = release(helm, CI_VALUES[0], namespace)
    pod(objects)["spec"]["misspelt"] = 1
    with pytest.raises(KubernetesError, match="misspelt"):
        plane.kubectl(*DRY_RUN, input=manifest_text(objects))


def test_its_pod_is_taken_where_the_restricted_pod_security_standard_is_enforced(
    helm: Helm, plane: ControlPlane, namespaces: Namespaces
) -> None:
    namespace = namespaces("restricted")
    # As the notes of the chart say.
    plane.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    template = pod(release(helm, CHART / "ci/default-values.yaml", namespace))
    # The account of the release is not there in a dry run.
    template["spec"]["serviceAccountName"] = "default"
    one = {"apiVersion": "v1", "kind": "Pod", **template}
    one["metadata"] = {**template["metadata"], "name": "operator"}
    plane.kubectl(*DRY_RUN, "--namespace", namespace, input=manifest_text(one))
    one["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    with pytest.raises(KubernetesError, match='violates PodSecurity "restricted'):
        plane.kubectl(*DRY_RUN, "--namespace", namespace, input=manifest_text(one))

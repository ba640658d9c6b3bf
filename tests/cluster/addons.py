"""Install KubeRay and the project's operator in a test cluster, as pods, with their own manifests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from tests.cluster import binaries, kuberay_crds, module_files, thin_images
from tests.cluster.client import Client, Object

KUBERAY_NAMESPACE = "kuberay-system"
OPERATOR_NAMESPACE = "collectorfleet-system"
OPERATOR = "deployment/collectorfleet-operator"
# Pods of this runtime class see their image and no files of the machine, as pods of other clusters do.
IMAGE_ONLY = "image"
RUNTIME_CLASS: Object = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": IMAGE_ONLY},
    "handler": IMAGE_ONLY,
}


def install_kuberay(client: Client, env: Mapping[str, str]) -> None:
    """Apply KubeRay's CRDs, and then its operator with the environment variables ``env``.

    Blocks until the operator is available. AssertionError if that takes more than 90 s.
    """
    config = module_files.KUBERAY.folder() / "config"
    kuberay_crds.install(client)
    objects = [_namespace(KUBERAY_NAMESPACE)]
    for part in ("rbac", "manager"):
        rendered = client.kubectl("kustomize", str(config / part))
        objects += [_placed(o) for o in yaml.safe_load_all(rendered)]
    _configure(next(o for o in objects if o["kind"] == "Deployment"), env)
    client.apply(objects)
    client.wait_for("deployment/kuberay-operator", "Available", KUBERAY_NAMESPACE, within=90)


def install_operator(client: Client) -> None:
    """Apply the CRD of CollectorFleet and the operator's manifests without changes.

    Blocks until the operator is available. AssertionError if that takes more than 90 s.
    """
    client.apply_crds(binaries.ROOT / "crds")
    client.kubectl("apply", "--server-side", "-f", str(binaries.ROOT / "operator/manifests"))
    client.wait_for(OPERATOR, "Available", OPERATOR_NAMESPACE, within=90)


def _configure(deployment: Object, env: Mapping[str, str]) -> None:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["image"] = thin_images.KUBERAY_IMAGE
    container["env"] = [{"name": name, "value": value} for name, value in env.items()]
    # The manifest delays the first probe by ten seconds, which would only slow down the tests.
    container["readinessProbe"]["initialDelaySeconds"] = 0


def _placed(obj: Object) -> Object:
    if obj["kind"] not in ("ClusterRole", "ClusterRoleBinding"):
        obj["metadata"]["namespace"] = KUBERAY_NAMESPACE
    for subject in obj.get("subjects", []):
        subject["namespace"] = KUBERAY_NAMESPACE
    return obj


def _namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}

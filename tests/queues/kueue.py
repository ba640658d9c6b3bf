"""Kueue as a pod of the test cluster, from its own manifests and at its own defaults, and queues with quota."""

from __future__ import annotations

import functools

import yaml
from tests.cluster import binaries, module_files
from tests.cluster.client import Client, Object
from tests.cluster.cluster import Cluster
from tests.cluster.errors import KubernetesError
from tests.cluster.images import Image, Layer
from tests.wait import eventually

NAMESPACE = "kueue-system"
_IMAGE = f"registry.k8s.io/kueue/kueue:{binaries.pinned(binaries.KUEUE.name, module_files.KUEUE.module)}"
_GROUP = "kueue.x-k8s.io"
# A label that every node of the test cluster has.
FLAVOR_LABELS = {"kubernetes.io/os": "linux"}


def missing() -> str | None:
    """Why it cannot be had here, in one line that says what to do; None if it can."""
    return binaries.missing([binaries.KUEUE]) or module_files.KUEUE.missing()


def install(cluster: Cluster) -> None:
    """Blocks until it answers the API server."""
    layer = Layer()
    layer.file("/manager", (binaries.build(binaries.KUEUE) / "kueue").read_bytes(), mode=0o755)
    layer.folder("/tmp", mode=0o1777)
    cluster.load(Image((_IMAGE,), layer, entrypoint=("/manager",), user="65532:65532"))
    rendered = cluster.kubectl("kustomize", str(module_files.KUEUE.folder() / "config/default"), timeout=60)
    # An aggregated API that does not answer yet keeps namespaces from being deleted, and no test asks it anything.
    objects = [one for one in yaml.safe_load_all(rendered) if one["kind"] != "APIService"]
    _configure(next(one for one in objects if one["kind"] == "Deployment"))
    crds = [one for one in objects if one["kind"] == "CustomResourceDefinition"]
    cluster.apply(crds)
    for crd in crds:
        cluster.wait_for(f"crd/{crd['metadata']['name']}", "Established", within=60)
    cluster.apply([one for one in objects if one not in crds])
    # It writes its certificates into a Secret that it has mounted, and a kubelet looks at those once in a minute.
    cluster.wait_for("secret/kueue-webhook-server-cert", lambda found: bool(found.get("data")), NAMESPACE, within=120)
    cluster.kubectl("delete", "pods", "-n", NAMESPACE, "-l", "control-plane=controller-manager", timeout=60)
    # The Deployment is Available, too, as long as its status is that of the deleted pod.
    eventually(
        lambda: cluster.kubectl("create", "deployment", "asks-kueue", "--image=none", "--dry-run=server"),
        within=180,
        what="an answer of Kueue's webhook",
        tolerate=(KubernetesError,),
    )


def add_queue(client: Client, namespace: str, memory: str) -> None:
    """LocalQueue ``team`` of the namespace, in a ClusterQueue of its own with so much memory, and two priorities."""
    flavor: Object = {"metadata": {"name": "nodes"}, "spec": {"nodeLabels": FLAVOR_LABELS}}
    quotas = [{"name": "cpu", "nominalQuota": "100"}, {"name": "memory", "nominalQuota": memory}]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "nodes", "resources": quotas}]}
    own = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    spec = {
        "namespaceSelector": own,
        "resourceGroups": [group],
        "preemption": {"withinClusterQueue": "LowerPriority"},
    }
    api = f"{_GROUP}/{newest_version()}"
    client.apply(
        [
            {"apiVersion": api, "kind": "ResourceFlavor", **flavor},
            {"apiVersion": api, "kind": "ClusterQueue", "metadata": {"name": namespace}, "spec": spec},
            *(
                {"apiVersion": api, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value}
                for name, value in (("low", 1), ("high", 1000))
            ),
        ]
    )
    local = {"metadata": {"name": "team"}, "spec": {"clusterQueue": namespace}}
    client.apply({"apiVersion": api, "kind": "LocalQueue", **local}, namespace)


@functools.cache
def newest_version() -> str:
    """The newest version of its API that this Kueue serves, in which it also stores."""
    crd = module_files.KUEUE.folder() / f"config/components/crd/bases/{_GROUP}_workloads.yaml"
    versions = yaml.safe_load(crd.read_text())["spec"]["versions"]
    return next(str(version["name"]) for version in versions if version["storage"])


def _configure(deployment: Object) -> None:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["image"] = _IMAGE
    container["imagePullPolicy"] = "Never"
    container["readinessProbe"]["initialDelaySeconds"] = 0
    # A small machine is shared with all pods of the fleets.
    container["resources"] = {"requests": {"cpu": "50m", "memory": "128Mi"}}

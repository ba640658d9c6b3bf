"""The pod in the cluster that reads the checkpoints of a fleet.

The pod mounts the checkpoint claim, and has the same scheduling rules as the driver's pod. The driver's own pod does
not read the checkpoints, because the training may need the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collectorfleet.errors import InvalidOption
from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet

CONTAINER: Final = "export"
# If the client is killed, the pod ends after this time.
_MOST_SECONDS: Final = 3600
_SCRATCH: Final = "/export"
# The scratch folder is writable even if the image has a read-only file system.
_FILE: Final = f"{_SCRATCH}/weights"
_WAIT: Final = f"import time; time.sleep({_MOST_SECONDS})"
_DIGEST: Final = (
    "import hashlib, os, sys; file = sys.argv[1]; "
    "print(os.path.getsize(file), hashlib.file_digest(open(file, 'rb'), 'sha256').hexdigest())"
)
_PIECE: Final = (
    "import sys; file = open(sys.argv[1], 'rb'); file.seek(int(sys.argv[2])); "
    "sys.stdout.buffer.write(file.read(int(sys.argv[3])))"
)
# These fields decide on which node and as which user a pod may run. The pod gets no code, secrets, sidecars or service
# account of the driver.
_FIELDS_OF_POD: Final = (
    *("affinity", "enableServiceLinks", "imagePullSecrets", "nodeSelector", "priorityClassName", "runtimeClassName"),
    *("schedulerName", "securityContext", "tolerations"),
)
_FIELDS_OF_CONTAINER: Final = ("image", "imagePullPolicy", "securityContext")
# This value hides the node's GPUs from a container that requests none.
_GPUS: Final = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}


def export_pod(fleet: CollectorFleet, driver: Mapping[str, Any], *, node: str | None = None) -> dict[str, Any]:
    """Return the manifest of a pod that mounts the fleet's claim read-only and waits for commands.

    Args:
        fleet: the fleet as the API server stores it.
        driver: the template of the driver's pod, as the operator makes it from the fleet.
        node: the only node that the pod may run on. None: the driver's scheduling rules apply.

    Raises:
        InvalidOption: the fleet has no checkpoints.
    """
    meta, checkpoint = fleet.metadata, fleet.spec.driver.checkpoint
    if checkpoint is None:
        raise InvalidOption(f"fleet {meta.name} keeps no checkpoints to export from; set spec.driver.checkpoint")
    spec, (container, *_) = driver["spec"], driver["spec"]["containers"]
    mount = {"name": "checkpoints", "mountPath": names.CHECKPOINT_MOUNT, "readOnly": True}
    pod = {
        **{field: spec[field] for field in _FIELDS_OF_POD if field in spec},
        "activeDeadlineSeconds": _MOST_SECONDS,
        "automountServiceAccountToken": False,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [
            {
                **{field: container[field] for field in _FIELDS_OF_CONTAINER if field in container},
                "name": CONTAINER,
                "command": ["python", "-c", _WAIT],
                "env": [_GPUS],
                "resources": _resources(container["resources"]),
                "volumeMounts": [
                    {**mount, "subPath": checkpoint.sub_path} if checkpoint.sub_path else mount,
                    {"name": "scratch", "mountPath": _SCRATCH},
                ],
            }
        ],
        "volumes": [
            {"name": "checkpoints", "persistentVolumeClaim": {"claimName": checkpoint.claim_name}},
            {"name": "scratch", "emptyDir": {}},
        ],
    }
    if node is not None:
        pod["affinity"] = _only(node)
    owner = {"apiVersion": names.API_VERSION, "kind": names.KIND, "name": meta.name, "uid": meta.uid}
    # The pod has no fleet label. With the label, the operator would count this pod among the fleet's pods.
    metadata = {"generateName": f"{meta.name}-export-", "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod}


def export_command(fleet: str, suffix: str, *, best: bool) -> list[str]:
    """Return the command that writes the fleet's weights to a file in the pod, in the format of ``suffix``."""
    folder = f"{names.CHECKPOINT_MOUNT}/{fleet}"
    words = ["python", "-m", "collectorfleet.cli", "export", folder, *(["--best"] if best else [])]
    return [*words, "--output", _FILE + suffix]


def digest_command(suffix: str) -> list[str]:
    """Return the command that prints the size in bytes and the SHA-256 of the file with the weights."""
    return ["python", "-c", _DIGEST, _FILE + suffix]


def piece_command(suffix: str, offset: int, size: int) -> list[str]:
    """Return the command that prints at most ``size`` bytes of the file with the weights, from ``offset`` on."""
    return ["python", "-c", _PIECE, _FILE + suffix, str(offset), str(size)]


def _resources(of_driver: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pod's resources: as much memory as the driver, but little CPU.

    The pod and the driver load the same state. With little CPU, the pod fits on a full cluster.
    """
    requests, limits = (_without_devices(of_driver.get(kind) or {}) for kind in ("requests", "limits"))
    return {"requests": {**requests, "cpu": "100m"}, "limits": limits}


def _without_devices(resources: Mapping[str, Any]) -> dict[str, Any]:
    return {name: resources[name] for name in ("cpu", "memory") if name in resources}


def _only(node: str) -> dict[str, Any]:
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}

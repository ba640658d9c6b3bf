"""Give a cluster a default StorageClass, whose volumes are folders of this machine.

The class has no provisioner: Kubernetes binds each claim to one of the volumes that were made in advance.
"""

from __future__ import annotations

from pathlib import Path

from tests.cluster.client import Client, Object

CLASS = "local"
VOLUMES = 8
# The folders have no size limit. A claim may request up to this size.
_SIZE = "100Gi"


def add(client: Client, folder: Path, count: int = VOLUMES) -> list[Object]:
    """Apply the StorageClass and ``count`` volumes with folders below ``folder``, and return these objects.

    Pods of all nodes and of all users can write to a volume, until somebody removes its folder.
    """
    names = [f"{CLASS}-{number}" for number in range(1, count + 1)]
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name).chmod(0o777)  # the kubelet does not apply a pod's fsGroup to a hostPath
    made = [_storage_class(), *(_volume(name, folder / name) for name in names)]
    client.apply(made)
    return made


def _storage_class() -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "kubernetes.io/no-provisioner",
    }


def _volume(name: str, folder: Path) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": CLASS,
            "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
            "capacity": {"storage": _SIZE},
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": str(folder), "type": "Directory"},
        },
    }

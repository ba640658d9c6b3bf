"""The user's code in a pod. The code comes from a ConfigMap, or from a tree that an init container fetches."""

from __future__ import annotations

import json
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CertificateAuthority, Code, CollectorFleet
from collectorfleet_operator.objects import Object

_VOLUME: Final = "code"
_ARCHIVE_VOLUME: Final = "code-archive"
_CREDENTIALS_VOLUME: Final = "code-credentials"
_AUTHORITY_VOLUME: Final = "code-ca"
_SIZE: Final = "2Gi"  # room for a tree and its archive


def import_code_first(fleet: CollectorFleet) -> str | None:
    """Return a shell command that puts the mounted code first on Python's import path, or None without code."""
    code = fleet.spec.code
    if code is None:
        return None
    folder = f"{names.CODE_MOUNT}/{code.path}" if code.path else names.CODE_MOUNT
    return f'export PYTHONPATH="{folder}${{PYTHONPATH:+:$PYTHONPATH}}"'


def mount_code(pod: Object, code: Code) -> None:
    """Mount ``code`` in the first container of the pod spec ``pod``, and change ``pod`` in place."""
    mount = {"name": _VOLUME, "mountPath": names.CODE_MOUNT}
    container = pod["containers"][0]
    if code.tree is None:
        volumes: list[Object] = [{"name": _VOLUME, "configMap": {"name": code.config_map}}]
    else:
        volumes = [{"name": _VOLUME, "emptyDir": {"sizeLimit": _SIZE}}]
        sources = _sources(code)
        volumes += [volume for volume, _ in sources]
        mounts = [{"name": volume["name"], "mountPath": path, "readOnly": True} for volume, path in sources]
        pod["initContainers"] = [_fetches(code, container, [mount, *mounts])]
    pod["volumes"] = [*pod.get("volumes", []), *volumes]
    container["volumeMounts"] = [*container.get("volumeMounts", []), {**mount, "readOnly": True}]


def _sources(code: Code) -> list[tuple[Object, str]]:
    """Return the volumes that the init container needs to fetch the tree, each with its mount path."""
    found: list[tuple[Object, str]] = []
    if code.archive is not None and code.archive.config_map is not None:
        volume = {"name": _ARCHIVE_VOLUME, "configMap": {"name": code.archive.config_map}}
        found.append((volume, names.CODE_ARCHIVE_MOUNT))
    if code.credentials_secret is not None:
        secret = {"secretName": code.credentials_secret}
        found.append(({"name": _CREDENTIALS_VOLUME, "secret": secret}, names.CODE_CREDENTIALS_MOUNT))
    if code.certificate_authority is not None:
        found.append((_authority(code.certificate_authority), names.CODE_AUTHORITY_MOUNT))
    return found


def _authority(authority: CertificateAuthority) -> Object:
    # Leave `items` out: with `items`, the kubelet would wait for a missing key. Without `items`, the container reports
    # an error.
    if authority.config_map is not None:
        return {"name": _AUTHORITY_VOLUME, "configMap": {"name": authority.config_map}}
    return {"name": _AUTHORITY_VOLUME, "secret": {"secretName": authority.secret}}


def _fetches(code: Code, container: Object, mounts: list[Object]) -> Object:
    """Return the init container that fetches the user's tree before ``container`` starts."""
    return {
        "name": names.CODE_CONTAINER,
        "image": container["image"],
        "imagePullPolicy": container["imagePullPolicy"],
        "command": ["python", "-m", "collectorfleet.pod.code_tree"],
        "env": [
            {"name": names.ENV_CODE, "value": json.dumps(code.to_wire())},
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"},
        ],
        "securityContext": {**container["securityContext"], "readOnlyRootFilesystem": True},
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}},
        "volumeMounts": mounts,
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }

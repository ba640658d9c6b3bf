"""Compares the ConfigMap keys that a fleet reads with the ConfigMaps in the same file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.sentences import did_you_mean
from collectorfleet_api.v1alpha1.fleet import CollectorFleet


@dataclass(frozen=True)
class MissingKey:
    """A key that a ConfigMap does not have. ``required``: the pods of the fleet do not start without the key."""

    problem: Problem
    required: bool


class _Reference(NamedTuple):
    field: str
    config_map: str
    key: str
    required: bool


def missing_keys(fleet: CollectorFleet, objects: Sequence[Mapping[str, Any]]) -> list[MissingKey]:
    """Return the keys that ``fleet`` reads and that ConfigMaps among ``objects`` lack.

    A ConfigMap that is not among ``objects`` may be in the cluster, so this function ignores its keys.
    """
    found = []
    for reference in _references(fleet):
        keys = _keys(reference.config_map, fleet.metadata.namespace, objects)
        if keys is None or reference.key in keys:
            continue
        hint = did_you_mean(reference.key, sorted(keys)) or _remedy(reference.key)
        image = "" if reference.required else ", so the driver looks for the script only in the image"
        message = f'ConfigMap "{reference.config_map}" in this file has no key "{reference.key}"{image}{hint}'
        found.append(MissingKey(Problem(reference.field, message), reference.required))
    return found


def _remedy(key: str) -> str:
    # No key has a slash.
    return "; name a key, or leave the folder out" if "/" in key else "; add the key, or name another key"


def _references(fleet: CollectorFleet) -> Iterator[_Reference]:
    code, script = fleet.spec.code, fleet.spec.driver.script
    if code is None:
        return
    # An absolute path names a file of the image.
    if code.config_map is not None and script is not None and not script.startswith("/"):
        yield _Reference("spec.driver.script", code.config_map, script, required=False)
    archive, authority = code.archive, code.certificate_authority
    if archive is not None and archive.config_map is not None:
        yield _Reference("spec.code.archive.key", archive.config_map, archive.key, required=True)
    if authority is not None and authority.config_map is not None:
        yield _Reference("spec.code.certificateAuthority.key", authority.config_map, authority.key, required=True)


def find_config_maps(objects: Sequence[Mapping[str, Any]], name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the ConfigMaps of this name. The namespaces may differ."""
    for obj in objects:
        metadata = obj.get("metadata")
        if obj["kind"] == "ConfigMap" and isinstance(metadata, Mapping) and metadata.get("name") == name:
            yield obj


def _keys(name: str, namespace: str, objects: Sequence[Mapping[str, Any]]) -> set[str] | None:
    """Return the keys of a ConfigMap, or None if no ConfigMap of this name is among ``objects``."""
    for obj in find_config_maps(objects, name):
        # `kubectl apply --namespace` puts objects without a namespace into the fleet's namespace.
        if obj["metadata"].get("namespace") in (None, namespace):
            parts = [part for part in (obj.get("data"), obj.get("binaryData")) if isinstance(part, Mapping)]
            return {str(key) for part in parts for key in part}
    return None

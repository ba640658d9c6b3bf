"""Checks that names, volumes, claims and amounts of a pod's containers are consistent."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from collectorfleet_api.packing.quantity import parse_quantity
from collectorfleet_api.rules.pods.place import BuiltProblem, Path
from collectorfleet_api.rules.sentences import did_you_mean

_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES: Final = "hugepages-"
_EXAMPLE: Final = ", such as nvidia.com/gpu"


def reference_problems(spec: dict[str, Any]) -> Iterator[BuiltProblem]:
    """Yield the problems of ``spec``, the spec of a whole pod. Its fields have the right types."""
    volumes = {volume.get("name"): volume for volume in spec.get("volumes") or []}
    claims = {claim["name"] for claim in spec.get("resourceClaims") or [] if claim.get("name")}
    seen: dict[str, str] = {}
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or []):
            path: Path = ("spec", field, index)
            name = container.get("name", "")
            if name in seen:
                yield BuiltProblem(
                    (*path, "name"), f"a container in {seen[name]} is also named {name}; rename one of them"
                )
            seen.setdefault(name, field)
            yield from _mounts(container, volumes, path)
            yield from _ports(container, path)
            yield from _claims(container, claims, path)
            yield from _amounts(container.get("resources") or {}, (*path, "resources"))
    yield from _amounts(spec.get("resources") or {}, ("spec", "resources"))


def _mounts(container: dict[str, Any], volumes: dict[str, dict[str, Any]], path: Path) -> Iterator[BuiltProblem]:
    paths: dict[str, str] = {}
    for field, at in (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")):
        for index, mount in enumerate(container.get(field) or []):
            here, name, where = (*path, field, index), mount.get("name"), mount.get(at)
            if name and name not in volumes:
                near = did_you_mean(name, [known for known in volumes if known])
                yield BuiltProblem((*here, "name"), f"no volume is named {name}; add it to spec.volumes{near}")
            elif (
                name and field == "volumeDevices" and not volumes[name].keys() & {"persistentVolumeClaim", "ephemeral"}
            ):
                yield BuiltProblem((*here, "name"), f"volume {name} is not a claim, and only claims are block devices")
            if where and where in paths:
                yield BuiltProblem(
                    (*here, at), f"{where} is taken by volume {paths[where]}; mount each at its own path"
                )
            if where:
                paths[where] = str(name)
            if mount.get("subPath") and mount.get("subPathExpr"):
                yield BuiltProblem((*here, "subPathExpr"), "subPath and subPathExpr are both set; keep one of the two")


def _ports(container: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    names: set[str] = set()
    for index, port in enumerate(container.get("ports") or []):
        name = port.get("name")
        if name and name in names:
            yield BuiltProblem((*path, "ports", index, "name"), f"{name} appears twice; names of ports are unique")
        names.add(name)


def _claims(container: dict[str, Any], claims: set[str], path: Path) -> Iterator[BuiltProblem]:
    for index, claim in enumerate((container.get("resources") or {}).get("claims") or []):
        name = claim.get("name")
        if name and name not in claims:
            near = did_you_mean(name, sorted(claims))
            here = (*path, "resources", "claims", index, "name")
            yield BuiltProblem(here, f"no claim is named {name}; add it to spec.resourceClaims{near}")


def _amounts(resources: dict[str, Any], path: Path) -> Iterator[BuiltProblem]:
    limits, requests = _without_nulls(resources.get("limits")), _without_nulls(resources.get("requests"))
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            here = (*path, field, name)
            if "/" not in name and name not in _STANDARD and not name.startswith(_HUGE_PAGES):
                near = did_you_mean(name, _STANDARD)
                yield BuiltProblem(
                    here, f"containers have no such resource; an extended resource has a domain{near or _EXAMPLE}"
                )
            elif not _can_be_shared(name) and field == "requests" and name not in limits:
                yield BuiltProblem(here, f"{name} needs a limit of the same amount; add this limit")
            elif _is_whole(name) and parse_quantity(amount).denominator != 1:
                yield BuiltProblem(
                    here, f"{amount} is not a whole number, and {name} has no fractions; use a whole number"
                )
    for name in (name for name in limits if name in requests):
        if wrong := _compared(name, parse_quantity(limits[name]), parse_quantity(requests[name])):
            text = f"limit {limits[name]} of {name} is {wrong} request {requests[name]}; "
            advice = "make them equal" if not _can_be_shared(name) else "raise the limit, or lower the request"
            yield BuiltProblem((*path, "limits", name), text + advice, (*path, "requests", name))


def _without_nulls(amounts: dict[str, Any] | None) -> dict[str, Any]:
    return {name: amount for name, amount in (amounts or {}).items() if amount is not None}


def _compared(name: str, limit: Fraction, request: Fraction) -> str:
    if limit < request:
        return "below"
    return "above" if limit > request and not _can_be_shared(name) else ""


def _can_be_shared(name: str) -> bool:
    """Return whether a container may request less of a resource than its limit."""
    return name in _STANDARD or "kubernetes.io/" in name


def _is_whole(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name

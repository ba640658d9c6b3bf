"""Copies labels and annotations of a fleet to its children and their pods. The operator's settings list the keys.

Tools read cost centers or owners from these labels. The operator never copies keys of Kubernetes, or keys by which
tools recognize their own objects. For example, a GitOps tool would prune a child with the fleet's tracking label,
because git does not contain the child.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1.fleet import Metadata
from collectorfleet_operator.objects import Object

# Keys with these domains or their subdomains are never copied.
_NEVER: Final = (names.GROUP, "kubernetes.io", "k8s.io", "x-k8s.io", "ray.io", "argoproj.io", "fluxcd.io", "helm.sh")
ANY: Final = "*"


@dataclass(frozen=True)
class Propagation:
    """The keys of the labels and annotations to copy. A key that ends in ``*`` is a prefix."""

    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()

    def of(self, fleet: Metadata) -> Object:
        """Return the listed labels and annotations of the fleet, as metadata of another object."""
        found = {
            "labels": _chosen(self.labels, fleet.labels),
            "annotations": _chosen(self.annotations, fleet.annotations),
        }
        return {key: entries for key, entries in found.items() if entries}


NOTHING: Final = Propagation()


def propagated(made: Object, given: Object) -> Object:
    """Return a copy of ``made`` with the metadata ``given``, also in its pod templates. Existing values stay."""
    if not given:
        return made
    changed = copy.deepcopy(made)
    for within in (changed, *_pod_templates(changed)):
        own = within.setdefault("metadata", {})
        for key, entries in given.items():
            own[key] = {**entries, **(own.get(key) or {})}
    return changed


def is_ours_to_give(key: str) -> bool:
    """Return whether the operator may copy a key, or all keys with this prefix, to children."""
    domain = key.partition("/")[0]
    return not any(domain == one or domain.endswith(f".{one}") for one in _NEVER)


def _chosen(listed: tuple[str, ...], entries: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in entries.items() if is_ours_to_give(key) and _is_listed(key, listed)}


def _is_listed(key: str, listed: tuple[str, ...]) -> bool:
    return any(key.startswith(one[:-1]) if one.endswith(ANY) else key == one for one in listed)


def _pod_templates(made: Object) -> Iterator[dict[str, Any]]:
    spec = made.get("spec") or {}
    if "headGroupSpec" in spec:
        yield spec["headGroupSpec"]["template"]
        yield from (group["template"] for group in spec["workerGroupSpecs"])
    elif "template" in spec:
        yield spec["template"]

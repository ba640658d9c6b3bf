"""Labels and annotations of a fleet that its children and their pods get too, by a list of the operator's.

Tools read costs or owners from them. Keys of Kubernetes, and the keys by which tools recognize their own objects, are
never copied. With the fleet's tracking label, a child would be pruned as an object that is not in git.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1.fleet import Metadata
from collectorfleet_operator.objects import Object

# Domains of keys, and all below them.
_NEVER: Final = (names.GROUP, "kubernetes.io", "k8s.io", "x-k8s.io", "ray.io", "argoproj.io", "fluxcd.io", "helm.sh")
ANY: Final = "*"


@dataclass(frozen=True)
class Propagation:
    """Keys, or what they begin with where they end in ``*``."""

    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()

    def of(self, fleet: Metadata) -> Object:
        """Of the fleet's labels and annotations those that are listed, as metadata of another object."""
        found = {
            "labels": _chosen(self.labels, fleet.labels),
            "annotations": _chosen(self.annotations, fleet.annotations),
        }
        return {key: entries for key, entries in found.items() if entries}


NOTHING: Final = Propagation()


def propagated(made: Object, given: Object) -> Object:
    """``made`` and the pod templates in it with the metadata ``given`` beneath their own."""
    if not given:
        return made
    changed = copy.deepcopy(made)
    for within in (changed, *_pod_templates(changed)):
        own = within.setdefault("metadata", {})
        for key, entries in given.items():
            own[key] = {**entries, **(own.get(key) or {})}
    return changed


def is_ours_to_give(key: str) -> bool:
    """Whether a key, or all that begin with it, may be propagated."""
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

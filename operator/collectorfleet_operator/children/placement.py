"""Adds the placement that Kueue admitted for a fleet's pods to the pod templates of the children."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from collectorfleet_api import names
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.group_sizes import worker_groups
from collectorfleet_operator.children.pod_template import PodRole
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.workload import DRIVER, HEAD, workers_of
from collectorfleet_operator.objects import Object, annotation, label

# This annotation of the driver's Job names the driver's queue. It does not change with the fleet's queue label.
_QUEUE: Final = f"{names.GROUP}/queue"


@dataclass(frozen=True)
class Placement:
    """The fields that Kueue adds to the pods of one pod set."""

    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Object, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


def placed(made: Object, queue: str, placements: Mapping[str, Placement]) -> Object:
    """Return a copy of the manifest ``made`` with the placements of the admitted Workload in ``queue``."""
    found = copy.deepcopy(made)
    if made["kind"] == JOB.kind:
        found["metadata"]["annotations"][_QUEUE] = queue
        template = found["spec"]["template"]
        is_driver = label(template, names.ROLE_LABEL) == PodRole.DRIVER
        _place(template, placements.get(DRIVER if is_driver else workers_of(names.WORKER_GROUP)))
    elif made["kind"] == RAYCLUSTER.kind:
        _place(found["spec"]["headGroupSpec"]["template"], placements.get(HEAD))
        for name, group in worker_groups(found).items():
            _place(group["template"], placements.get(workers_of(name)))
    return found


def queue_of_job(job: Object) -> str:
    """Return the LocalQueue under which a driver's Job was created, or an empty text if there was no queue."""
    return annotation(job, _QUEUE) or ""


def _place(template: Object, placement: Placement | None) -> None:
    if placement is None:
        return
    spec, meta = template["spec"], template["metadata"]
    _add(spec, "nodeSelector", placement.node_selector)
    _add(meta, "labels", placement.labels)
    _add(meta, "annotations", placement.annotations)
    present = spec.get("tolerations", [])
    spec["tolerations"] = [*present, *(one for one in placement.tolerations if one not in present)]


def _add(to: dict[str, Any], key: str, more: Mapping[str, str]) -> None:
    if more:
        to[key] = {**to.get(key, {}), **more}

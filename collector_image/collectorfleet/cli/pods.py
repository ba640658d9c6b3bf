"""Build the objects that the operator would create for a fleet, and find why an API server would reject the pods.

This module relies on the operator's package. It sends no request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from collectorfleet_api import names
from collectorfleet_api.rules.pods.built import built_problems
from collectorfleet_api.rules.pods.place import BuiltProblem, Written, placed
from collectorfleet_api.rules.pods.written import written_problems
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.sentences import MOST_PROBLEMS
from collectorfleet_api.v1alpha1 import CollectorFleet


@dataclass(frozen=True)
class _Pod:
    """The pod template of a child object, and the user's templates that the operator merged into it.

    ``written`` has the user's templates. A value of an earlier template replaces the value of a later template.
    ``of_job`` is True if the child is a Job.
    """

    template: dict[str, Any]
    written: list[Written]
    of_job: bool = False


def children(fleet: CollectorFleet) -> list[dict[str, Any]]:
    """Return the objects that the operator would create for ``fleet``, as the operator sends them to the API server."""
    # Use the operator's code, so that commands get the same objects that the operator applies. No other module of this
    # package imports the operator.
    from collectorfleet_operator.children.table import manifests

    # The conversion to JSON and back turns enums into strings.
    made: list[dict[str, Any]] = json.loads(json.dumps(list(manifests(fleet).values())))
    return made


def driver_template(fleet: CollectorFleet) -> dict[str, Any]:
    """Return the template of the driver's pod that the operator would create for ``fleet``."""
    name = names.driver_name(fleet.metadata.name)
    (job,) = (one for one in children(fleet) if one["kind"] == "Job" and one["metadata"]["name"] == name)
    template: dict[str, Any] = job["spec"]["template"]
    return template


def pod_problems(fleet: CollectorFleet) -> list[Problem]:
    """Return the problems for which an API server would reject the pods of ``fleet``.

    The fleet's own fields must be valid. The function returns at most ``MOST_PROBLEMS`` problems. The merged pods are
    checked only if the user's templates have no problem.
    """
    templates = _templates(fleet)
    by_themselves = (
        problem
        for written in [*templates.values(), *_own(fleet).values()]
        for problem in written_problems(written.template, written.path)
    )
    if found := list(islice(by_themselves, MOST_PROBLEMS)):
        return found
    merged = (
        placed(problem, pod.template, pod.written) for pod in _pods(fleet, templates) for problem in _problems(pod)
    )
    # Remove duplicates. If several groups share a template, its problem is found once for each group.
    return list(dict.fromkeys(islice(merged, MOST_PROBLEMS)))


def _problems(pod: _Pod) -> Iterator[BuiltProblem]:
    spec = pod.template["spec"]
    yield from built_problems(spec)
    policy = spec.get("restartPolicy")
    if pod.of_job and policy != "Never":
        text = f'"{policy}" excludes the failure policy of the Job; write Never, or leave this field out'
        yield BuiltProblem(("spec", "restartPolicy"), text)


def _templates(fleet: CollectorFleet) -> dict[str, Written]:
    """Return the user's templates, by the kind of pod that the operator creates from them."""
    spec = fleet.spec
    found = {
        "driver": Written(spec.driver.template, "spec.driver.template"),
        "workers": Written(spec.workers.template, "spec.workers.template"),
        "head": Written(spec.ray.head.template, "spec.ray.head.template"),
    }
    if spec.learners is not None:
        found["learners"] = Written(spec.learners.template, "spec.learners.template")
    if spec.evaluation is not None:
        found["evaluators"] = Written(spec.evaluation.template, "spec.evaluation.template")
    return found


def _own(fleet: CollectorFleet) -> dict[str, Written]:
    """Return the template of each group of collectors, by the group's name."""
    return {
        group.name: Written(group.workers.template, f"spec.collectors.groups[{index}].workers.template")
        for index, group in enumerate(fleet.spec.collectors.groups)
    }


def _pods(fleet: CollectorFleet, templates: dict[str, Written]) -> Iterator[_Pod]:
    own = _own(fleet)
    for child in children(fleet):
        spec = child.get("spec", {})
        if child["kind"] == "Job":
            part = "driver" if child["metadata"]["name"] == names.driver_name(fleet.metadata.name) else "workers"
            yield _Pod(spec["template"], [templates[part]], of_job=True)
        elif child["kind"] == "RayCluster":
            yield _Pod(spec["headGroupSpec"]["template"], [templates["head"]])
            for group in spec["workerGroupSpecs"]:
                name = group["groupName"]
                if name == names.LEARNER_GROUP:
                    written = [templates["learners"]]
                elif name == names.EVALUATOR_GROUP:
                    written = [templates["evaluators"], templates["workers"]]
                else:
                    written = [*([own[name]] if name in own else []), templates["workers"]]
                yield _Pod(group["template"], written)

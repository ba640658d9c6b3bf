"""Which part of a running fleet is made from which field: every field is somebody's, or followed live."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.combinations.parts import EVALUATION, LEARNERS, SIMULATOR
from tests.manifests import fleet

from collectorfleet_api.rules.concerns import AFFECTED_PARTS, Part, fields_by_part
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, Model
from collectorfleet_api.v1alpha1.base import inner_model

LIVE = {
    "collectors.replicas",
    "collectors.minAvailable",
    "driver.livenessDeadlineSeconds",
    "networkPolicy",
    "updateStrategy",
    "progressDeadlineSeconds",
    "suspend",
    "whenFinished",
    "ttlSecondsAfterFinished",
    "activeDeadlineSeconds",
    "startupDeadlineSeconds",
    "idleTimeoutSeconds",
}


def leaves(model: type[Model], prefix: str = "") -> Iterator[str]:
    """Every field of the model that has no fields of its own, by its path in manifests."""
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        inner = inner_model(field.annotation)
        if inner is None:
            yield path
        else:
            yield from leaves(inner, f"{path}.")


def rows_of(path: str) -> list[str]:
    rows = [row for row in AFFECTED_PARTS if path == row or path.startswith(f"{row}.")]
    # Of several, the one that says more than the others is the field's.
    longest = max(map(len, rows), default=0)
    return [row for row in rows if len(row) == longest]


FIELDS = list(leaves(CollectorFleetSpec))


@pytest.mark.parametrize("path", FIELDS)
def test_every_field_of_the_spec_stands_in_the_table_once(path: str) -> None:
    assert len(rows_of(path)) == 1, f"say in rules/concerns.py whom spec.{path} concerns"


def test_every_row_of_the_table_is_a_field_of_the_spec() -> None:
    assert len(FIELDS) > 50
    assert set(AFFECTED_PARTS) == {row for path in FIELDS for row in rows_of(path)}


def test_only_what_the_fleet_follows_while_it_runs_concerns_nobody() -> None:
    assert {path for path, parts in AFFECTED_PARTS.items() if not parts} == LIVE


@pytest.mark.parametrize(
    ("changes", "concerned"),
    [
        pytest.param({"spec.image": "cheetah:2"}, {*Part}, id="image"),
        pytest.param({"spec.code": {"configMap": "code"}}, {*Part}, id="code is mounted into every pod"),
        pytest.param({"spec.priorityClassName": "batch"}, {*Part}, id="a pod keeps its priority"),
        pytest.param({"spec.tolerations": [{"operator": "Exists"}]}, {*Part}, id="tolerations"),
        pytest.param({"spec.tolerations": []}, set(), id="no tolerations"),
        pytest.param({"spec.ray.version": "2.61.0"}, {*Part}, id="Ray"),
        pytest.param({"spec.driver.resources": {"cpu": 2}}, {Part.DRIVER}, id="driver"),
        pytest.param({"spec.environment.kwargs": {"seed": 1}}, {Part.DRIVER}, id="environment"),
        pytest.param({"spec.collection.framesPerBatch": 8000}, {Part.DRIVER}, id="collection"),
        pytest.param(
            {"spec.workers.template": {"spec": {}}}, {Part.GROUP, Part.EVALUATORS}, id="worker template, under both"
        ),
        pytest.param({"spec.collectors.resources.cpu": 2}, {Part.DRIVER, Part.GROUP}, id="resources"),
        pytest.param({"spec.workers.collectorsPerPod": 2}, {Part.DRIVER, Part.GROUP}, id="packing"),
        pytest.param({"spec.learners": LEARNERS}, {Part.DRIVER}, id="learners on pods of the default size"),
        pytest.param({"spec.learners": {**LEARNERS, "gpus": 2}}, {Part.DRIVER, Part.LEARNERS}, id="learners with GPUs"),
        pytest.param({"spec.evaluation": {}}, {Part.DRIVER}, id="evaluators of the default size"),
        pytest.param({"spec.evaluation": EVALUATION}, {Part.DRIVER, Part.EVALUATORS}, id="larger evaluators"),
        pytest.param(
            {"spec.workers.customPerPod": {"license": 2}}, {Part.DRIVER, Part.GROUP}, id="custom resources of a pod"
        ),
        pytest.param({"spec.collectors.resources.custom": {}}, {Part.DRIVER, Part.GROUP}, id="custom resources"),
        pytest.param({"spec.collectors": {"replicas": 1}}, set(), id="replicas, down to the default"),
        pytest.param({"spec.collectors.minAvailable": 2}, set(), id="minAvailable"),
        pytest.param({"spec.environment.process": SIMULATOR}, {Part.DRIVER}, id="a simulator"),
    ],
)
def test_a_changed_field_is_seen_by_whom_it_concerns(changes: dict[str, Any], concerned: set[Part]) -> None:
    before, after = fields_by_part(fleet().spec), fields_by_part(fleet(changes).spec)
    assert {part for part in Part if before[part] != after[part]} == concerned


@pytest.mark.parametrize(
    ("changes", "concerned"),
    [
        pytest.param({"template": {"spec": {}}}, {Part.EVALUATORS}, id="their pods alone"),
        pytest.param({"replicas": 2}, {Part.DRIVER, Part.EVALUATORS}, id="their number"),
        pytest.param({"resources": {"memory": "3Gi"}}, {Part.DRIVER, Part.EVALUATORS}, id="their size"),
        pytest.param({"episodes": 11}, {Part.DRIVER}, id="what they play"),
    ],
)
def test_a_change_of_the_evaluation_is_seen_by_whom_it_concerns(changes: dict[str, Any], concerned: set[Part]) -> None:
    before = fields_by_part(fleet({"spec.evaluation": {}}).spec)
    after = fields_by_part(fleet({"spec.evaluation": changes}).spec)
    assert {part for part in Part if before[part] != after[part]} == concerned


def test_the_driver_sees_an_evaluation_of_which_only_pods_say_something() -> None:
    plain, evaluated = fleet().spec, fleet({"spec.evaluation": {"template": {"spec": {}}}}).spec
    assert fields_by_part(plain)[Part.DRIVER] != fields_by_part(evaluated)[Part.DRIVER]

"""``collectorfleet validate`` on pod templates: ``tests/integration/test_pod_templates.py`` asks a real API server."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.combinations.parts import JOB, LEARNERS
from tests.corpus import ACCEPTED, ODD, REFUSED, Case, fleet_of, odd_template
from tests.manifests import fleet, manifest

from collectorfleet.cli.pods import pod_problems
from collectorfleet_api.rules.validation import read
from collectorfleet_api.v1alpha1 import CollectorFleet


@pytest.mark.parametrize("case", ACCEPTED.values(), ids=ACCEPTED)
def test_a_template_that_the_api_server_takes_has_no_problem(case: Case) -> None:
    assert list(map(str, pod_problems(fleet_of(case)))) == []


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_template_that_the_api_server_refuses_has_one_problem_with_its_path(case: Case) -> None:
    assert list(map(str, pod_problems(fleet_of(case)))) == [f"{case.of}.{case.problem}"]


UNMOUNTED = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
GROUPS = [{"name": "a", "replicas": 3}, {"name": "b", "replicas": 1}]


def worker(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "ray-worker", **container}]}}


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        pytest.param(
            {"spec.workers.template": worker(**UNMOUNTED), "spec.collectors.groups": GROUPS},
            ["spec.workers.template.spec.containers[0].volumeMounts[0].name"],
            id="once for all groups",
        ),
        pytest.param(
            {"spec.collectors.groups": [GROUPS[0], {**GROUPS[1], "workers": {"template": worker(**UNMOUNTED)}}]},
            ["spec.collectors.groups[1].workers.template.spec.containers[0].volumeMounts[0].name"],
            id="of a group",
        ),
        pytest.param(
            {
                "spec.workers.template": worker(resources={"requests": {"cpu": 8}}),
                "spec.collectors.groups": [
                    GROUPS[0],
                    {**GROUPS[1], "workers": {"template": worker(resources={"limits": {"cpu": 4}})}},
                ],
            },
            ["spec.collectors.groups[1].workers.template.spec.containers[0].resources.limits.cpu"],
            id="of a group with the fleet",
        ),
        pytest.param(
            {**JOB, "spec.workers.template": {"spec": {"containers": [{"name": "collectors", **UNMOUNTED}]}}},
            ["spec.workers.template.spec.containers[0].volumeMounts[0].name"],
            id="without Ray",
        ),
        pytest.param(
            {"spec.learners": {**LEARNERS, "template": worker(**UNMOUNTED)}},
            ["spec.learners.template.spec.containers[0].volumeMounts[0].name"],
            id="of learners",
        ),
        pytest.param(
            {"spec.evaluation": {"template": worker(**UNMOUNTED)}},
            ["spec.evaluation.template.spec.containers[0].volumeMounts[0].name"],
            id="of evaluators",
        ),
        pytest.param(
            {
                "spec.workers.template": worker(resources={"requests": {"cpu": 8}}),
                "spec.evaluation": {"template": worker(resources={"limits": {"cpu": 4}})},
            },
            ["spec.evaluation.template.spec.containers[0].resources.limits.cpu"],
            id="of evaluators with workers",
        ),
        pytest.param(
            {"spec.workers.template": worker(**UNMOUNTED), "spec.evaluation": {}},
            ["spec.workers.template.spec.containers[0].volumeMounts[0].name"],
            id="once for workers and evaluators",
        ),
        pytest.param(
            {"spec.evaluation": {"template": {"spec": {"nodeSelector": {"a": 1}}}}},
            ["spec.evaluation.template.spec.nodeSelector.a"],
            id="of evaluators alone",
        ),
        pytest.param(
            {
                "spec.workers.template": {
                    "spec": {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "secret": {"secretName": ""}}]}
                }
            },
            ["spec.workers.template.spec.volumes[1].secret.secretName"],
            id="behind our own volumes",
        ),
    ],
)
def test_a_problem_of_a_merged_pod_is_found_where_it_was_written(changes: dict[str, Any], paths: list[str]) -> None:
    assert [found.field for found in pod_problems(fleet(changes))] == paths


@pytest.mark.parametrize(
    ("problems", "hidden"),
    [(101, "1 problem is"), (102, "2 problems are"), (130, "30 problems are")],
)
def test_more_than_a_hundred_problems_of_a_fleet_are_counted(problems: int, hidden: str) -> None:
    found = read(manifest({f"spec.unknown{number}": 1 for number in range(problems)}))
    assert isinstance(found, list)
    assert len(found) == 101
    assert str(found[-1]) == (
        f"spec.unknown100: from this field on, {hidden} not shown; correct the shown problems first"
    )


def test_not_more_than_a_hundred_problems_are_looked_for() -> None:
    of_pods = fleet({"spec.workers.template": {"spec": {f"unknown{number}": 1 for number in range(130)}}})
    assert len(pod_problems(of_pods)) == 100
    merged = worker(volumeMounts=[{"name": "data", "mountPath": f"/{number}"} for number in range(130)])
    assert len(pod_problems(fleet({"spec.workers.template": merged}))) == 100


@given(st.sampled_from([*ACCEPTED.values(), *REFUSED.values()]), st.randoms(use_true_random=False))
def test_any_template_is_checked_and_never_breaks_the_check(case: Case, choose: Random) -> None:
    odd = [*ODD, None, [None], {"x": None}, [{"name": None}]]
    found = read(manifest({case.of: odd_template(case.template, choose, odd)}))
    if isinstance(found, CollectorFleet):
        pod_problems(found)

"""What the API server itself refuses, in the words that kubectl shows."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.client import manifest_text
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.combinations import GO_TOGETHER, REFUSED
from tests.combinations.parts import JOB
from tests.manifests import ABSENT, manifest

from collectorfleet_api.rules.validation import read

pytestmark = pytest.mark.usefixtures("fleet_crd")

ASYNC = {"mode": "Async", "framesPerBatch": 4000}


def try_to_apply(cluster: ControlPlane, fleet: dict[str, Any]) -> None:
    """Apply the fleet without storing it. KubernetesError if the API server refuses it."""
    words = ("apply", "--server-side", "--dry-run=server", "-n", "default", "-f", "-")
    cluster.kubectl(*words, input=manifest_text(fleet))


def refusal(cluster: ControlPlane, fleet: dict[str, Any]) -> str:
    with pytest.raises(KubernetesError) as refused:
        try_to_apply(cluster, fleet)
    return " ".join(str(refused.value).split())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"spec.collectors.replicaz": 6}, ".spec.collectors.replicaz: field not declared", id="typo"),
        pytest.param(
            {"spec.collectors.replicas": 6},
            "4000 cannot be divided into 6 shares (collectors.replicas); use 3996 or 4002",
            id="shares",
        ),
        pytest.param(
            {"spec.collection": ASYNC, "spec.environment.perCollector": 64},
            "4000 is not a multiple of the 64 environments of a collector that step together "
            "(environment.perCollector, collectors.numWorkersPerCollector); use 3968 or 4032",
            id="vectorised environments",
        ),
        pytest.param(
            {"spec.collectors.resources.gpu": 1.5},
            "1.5 is more than one GPU and not whole; use 1, 2, or a share below 1 such as 0.5",
            id="one GPU and a half",
        ),
        pytest.param(
            {"spec.collectors.resources.gpu": 0.12345},
            "0.12345 is finer than 0.0001 of a GPU",
            id="a fine share",
        ),
        pytest.param(
            {"spec.collectors.resources.gpu": 0.00005},
            "finer than 0.0001 of a GPU, the smallest step that Ray counts",
            id="too small a share",
        ),
        pytest.param(
            {"spec.collectors.resources.gpu": 4, "spec.workers.gpu.perPod": 2},
            "a collector requests 4 GPUs, but a worker pod has 2 (workers.gpu.perPod); set perPod to at least 4, "
            "or request fewer GPUs",
            id="more GPUs than a pod has",
        ),
        pytest.param(
            {"spec.collectors.resources.gpu": 0.3, "spec.workers.gpu.perPod": 2, "spec.workers.collectorsPerPod": 7},
            "7 collectors of 0.3 GPU do not fit on a worker pod with 2 GPU; use at most 6, or raise workers.gpu.perPod",
            id="too many in a pod",
        ),
        pytest.param(
            {"spec.collectors.resources.custom": {"disk": 1, "license": 2.5}, "spec.workers.customPerPod": {"disk": 2}},
            "a collector requests 2.5 license, but a worker pod has 0 (workers.customPerPod); raise this amount to at "
            "least 3, or request less",
            id="more of a custom resource than a pod has",
        ),
        pytest.param(
            {
                "spec.collectors.resources.custom": {"license": 0.6},
                "spec.workers": {"customPerPod": {"license": 2}, "collectorsPerPod": 4},
            },
            "4 collectors of 0.6 license do not fit on a worker pod with 2 license; use at most 3, "
            "or raise workers.customPerPod",
            id="too many for a custom resource",
        ),
        pytest.param(
            {"spec.collectors.resources.custom": {"license": 0.00015}, "spec.workers.customPerPod": {"license": 2}},
            "0.00015 of license is finer than 0.0001, the smallest step that Ray counts; use at most four decimals",
            id="a fine part of a custom resource",
        ),
        pytest.param(
            {"spec.collectors.resources.gpu": "0.25"},
            ".spec.collectors.resources.gpu: expected numeric (int or float)",
            id="gpu in quotes",
        ),
        pytest.param({"spec.collectors.resources.cpu": "two"}, "cpu in body should match", id="no quantity"),
        pytest.param({"spec.collectors.resources.cpu": -1}, "should be greater than or equal to 0", id="negative"),
        pytest.param({"spec.collectors.resources.cpu": True}, "spec.collectors.resources.cpu", id="cpu: true"),
        pytest.param({"spec.collectors.resources.cpu": ["1"]}, "spec.collectors.resources.cpu", id="cpu: a list"),
        pytest.param(
            {"spec.collectors.resources.memory": 2}, "should be greater than or equal to 1048576", id="2 bytes"
        ),
        pytest.param({"spec.environment.factory": "my_envs.make"}, "factory in body should match", id="no colon"),
        pytest.param({"spec.ray.version": "2.48.0"}, "older than 2.52.0, the first Ray with token", id="old Ray"),
        pytest.param(
            {"spec.workers.template": {"nodeSelector": {"pool": "gpu"}}},
            ".spec.workers.template.nodeSelector: field not declared",
            id="a pod spec where a template belongs",
        ),
        pytest.param(
            {"spec.driver.template": {"spec": {"containers": {"name": "driver"}}}},
            "spec.driver.template.spec.containers",
            id="containers that are no list",
        ),
    ],
)
def test_a_fleet_that_cannot_run_is_refused(control_plane: ControlPlane, changes: dict[str, Any], words: str) -> None:
    assert words in refusal(control_plane, manifest(changes))
    assert isinstance(read(manifest(changes)), list), "and `collectorfleet validate` refuses it too"


@pytest.mark.parametrize(("changes", "sentence"), REFUSED)
def test_options_that_do_not_go_together_are_refused_in_the_words_of_validate(
    control_plane: ControlPlane, changes: dict[str, Any], sentence: str
) -> None:
    field, _, words = sentence.partition(": ")
    told = refusal(control_plane, manifest(changes))
    assert f"{field}: Invalid value" in told
    assert words in told


@pytest.mark.parametrize("changes", GO_TOGETHER)
def test_options_that_go_together_are_accepted(control_plane: ControlPlane, changes: dict[str, Any]) -> None:
    try_to_apply(control_plane, manifest(changes))


def test_names_that_no_ray_cluster_and_no_job_can_have_are_refused(control_plane: ControlPlane) -> None:
    try_to_apply(control_plane, manifest(name="a" * 50))
    assert "51 characters are too many for the Ray cluster, which has the same name; use at most 50" in refusal(
        control_plane, manifest(name="a" * 51)
    )
    try_to_apply(control_plane, manifest(JOB, name="a" * 46))
    assert (
        "47 characters are too many for the pods of launcher Job, whose names begin with this name; use at"
        in refusal(control_plane, manifest(JOB, name="a" * 47))
    )
    assert "lower-case letters, digits and '-', starting with a letter" in refusal(
        control_plane, manifest(name="5cheetah")
    )


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("spec.collectors.replicas", {"spec.collectors.replicas": 0}),
        ("spec.environment.perCollector", {"spec.environment.perCollector": 0}),
    ],
)
def test_none_at_all_is_refused_by_its_field_and_not_by_arithmetic(
    control_plane: ControlPlane, field: str, changes: dict[str, Any]
) -> None:
    told = refusal(control_plane, manifest(changes))
    assert f"{field}: Invalid value: 0: {field} in body should be greater than or equal to 1" in told
    assert "modulus" not in told


def test_a_typo_under_plain_apply_is_told_by_name(control_plane: ControlPlane) -> None:
    with pytest.raises(KubernetesError, match=r'unknown field "spec.collectors.replicaz"'):
        control_plane.kubectl(
            *("create", "-n", "default", "-f", "-"), input=manifest_text(manifest({"spec.collectors.replicaz": 6}))
        )


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"spec.collectors.resources": {"cpu": 0.5, "memory": "1.5Gi", "gpu": 0.3333}}, id="fractions"),
        pytest.param(
            {"spec.collectors.resources": {"cpu": "500m", "gpu": 2}, "spec.workers.gpu.perPod": 5}, id="whole"
        ),
        pytest.param({"spec.collectors.resources.gpu": 0.07, "spec.workers.collectorsPerPod": 14}, id="0.07"),
        pytest.param({"spec.collectors.minAvailable": 100}, id="minAvailable above replicas"),
        pytest.param({"spec.collection": {**ASYNC, "maxStaleness": 1}}, id="bounded Async"),
        pytest.param({"spec.collection.totalFrames": 1e7}, id="a number with an exponent"),
        pytest.param({"spec.workers.template": {"spec": {"nodeSelector": {"a": "b"}}}}, id="a pod template"),
        pytest.param({"spec.driver": ABSENT, "spec.output": {"path": "/data"}}, id="output"),
    ],
)
def test_a_fleet_that_can_run_is_accepted_by_the_server_and_offline(
    control_plane: ControlPlane, changes: dict[str, Any]
) -> None:
    try_to_apply(control_plane, manifest(changes))
    assert not isinstance(read(manifest(changes)), list)


def test_a_batch_changed_later_must_divide_again(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest(), namespace)
    control_plane.kubectl("scale", "cfleet/cheetah", "--replicas=3", "-n", namespace)
    with pytest.raises(KubernetesError, match="4001 cannot be divided into 3 shares"):
        control_plane.kubectl(
            *("patch", "cfleet/cheetah", "-n", namespace, "--type=merge"),
            *("-p", '{"spec": {"collection": {"framesPerBatch": 4001}}}'),
        )


def test_a_fleet_with_fixed_shares_scales_to_any_number(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest({"spec.collection.shares": 8}), namespace)
    control_plane.kubectl("scale", "cfleet/cheetah", "--replicas=3", "-n", namespace)
    with pytest.raises(KubernetesError, match=r"4000 cannot be divided into 3 shares \(collectors.replicas\)"):
        control_plane.kubectl(
            *(
                "patch",
                "cfleet/cheetah",
                "-n",
                namespace,
                "--type=merge",
                "-p",
                '{"spec": {"collection": {"shares": null}}}',
            )
        )

"""What is wrong with a fleet, all at once, in sentences that say what to change."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import JOB
from tests.manifests import manifest

from collectorfleet_api.rules.validation import problems, read, read_stored
from collectorfleet_api.v1alpha1 import CollectorFleet


def wrong(changes: dict[str, Any], name: str = "cheetah") -> list[str]:
    found = read(manifest(changes, name))
    assert isinstance(found, list), found
    return [str(problem) for problem in found]


LONG_DURATIONS = (
    *("progressDeadlineSeconds", "activeDeadlineSeconds", "startupDeadlineSeconds", "idleTimeoutSeconds"),
    *("ttlSecondsAfterFinished", "driver.livenessDeadlineSeconds", "driver.checkpoint.everySeconds"),
    "driver.log.everySeconds",
)


@pytest.mark.parametrize("seconds", [3_153_600_001, 999_999_999_999, 2**63 - 1])
@pytest.mark.parametrize("field", LONG_DURATIONS)
def test_a_duration_of_more_than_a_hundred_years_is_refused_unless_it_is_stored(field: str, seconds: int) -> None:
    changes = {
        "spec.driver.checkpoint": {"claimName": "runs"},
        "spec.driver.log": {"tensorboard": "/logs"},
        f"spec.{field}": seconds,
    }
    assert wrong(changes) == [f"spec.{field}: {seconds} is too large; use at most 3153600000"]
    stored = read_stored(manifest(changes))
    assert isinstance(stored, CollectorFleet)
    assert stored.spec.at(field) == seconds


def test_a_fleet_without_problems_is_read() -> None:
    found = read(manifest())
    assert isinstance(found, CollectorFleet)
    assert problems(found) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param(
            {"spec.collectors.replicaz": 6},
            "spec.collectors.replicaz: unknown field; did you mean replicas?",
            id="a typo",
        ),
        pytest.param(
            {"spec.collection.frames_per_batch": 6},
            "spec.collection.frames_per_batch: unknown field; did you mean framesPerBatch?",
            id="the name that Python has",
        ),
        pytest.param(
            {"spec.replicas": 6},
            "spec.replicas: unknown field; did you mean spec.collectors.replicas?",
            id="the right name in the wrong place",
        ),
        pytest.param({"spec.xyz": 6}, "spec.xyz: unknown field", id="nothing like it"),
        pytest.param(
            {"metadata.lables": {}}, "metadata.lables: unknown field; did you mean labels?", id="a typo in metadata"
        ),
        pytest.param(
            {"spec.policy": {}},
            "spec.policy.factory: missing, and required: "
            "Import path `package.module:function` of the callable that builds the object.",
            id="missing",
        ),
        *(
            pytest.param(
                {"spec.workers.gpu": {"mode": "MIG", "resource": resource}},
                f'spec.workers.gpu.resource: "{resource}" is not an extended resource; write its domain and name, such '
                "as nvidia.com/mig-1g.10gb",
                id=f"resource {resource[:12]}",
            )
            for resource in ("gpu", "nvidia..com/gpu", "-nvidia.com/gpu", f"nvidia.com/{'g' * 64}")
        ),
        *(
            pytest.param(
                {"spec.workers.gpu": {"mode": "DRA", "claimTemplate": name}},
                f'spec.workers.gpu.claimTemplate: "{name}" is not a name of an object; write lower-case letters, '
                "digits, '-' and '.', as kubectl shows it",
                id=f"claim template {name}",
            )
            for name in ("One", "one..gpu", "one.-gpu", "one-")
        ),
        *(
            pytest.param(
                {path.rpartition(".")[0]: {**beside, path.rpartition(".")[2]: "."}},
                f"{path}: \".\" is not a name of an object; write lower-case letters, digits, '-' and '.', as kubectl "
                "shows it",
                id=path,
            )
            for path, beside in (
                # The API server answers a request for the object "." with the list of all objects.
                ("spec.code.configMap", {}),
                ("spec.code.archive.configMap", {"sha256": "0" * 64}),
                ("spec.driver.checkpoint.claimName", {}),
            )
        ),
        pytest.param(
            {"spec.environment.factory": "my_envs.make"},
            'spec.environment.factory: "my_envs.make" is not an import path; '
            "write package.module:function, with a colon before the function",
            id="no colon",
        ),
        pytest.param(
            {"spec.driver.checkpoint": {"claimName": "claim", "subPath": "../of/others"}},
            'spec.driver.checkpoint.subPath: "../of/others" is not a path within a volume; '
            "write names of letters, digits, '.', '_' and '-', separated by '/'",
            id="out of the volume",
        ),
        pytest.param(
            {"spec.collection.framesPerBatch": "4000"},
            'spec.collection.framesPerBatch: "4000" is text, and a whole number is expected; write 4000 without quotes',
            id="a number in quotes",
        ),
        pytest.param(
            {"spec.collectors.resources.gpu": "0.25"},
            'spec.collectors.resources.gpu: "0.25" is text, and a number is expected; write 0.25 without quotes',
            id="a share in quotes",
        ),
        pytest.param(
            {"spec.ray.version": 2.6},
            "spec.ray.version: 2.6 is a number, and text is expected; put it in quotes",
            id="a version without quotes",
        ),
        pytest.param(
            {"spec.ray.version": "2.60"},
            'spec.ray.version: "2.60" is not a version of Ray; write three numbers such as 2.60.0',
            id="a version of two numbers",
        ),
        pytest.param(
            {"spec.ray.version": "2.48.0"},
            "spec.ray.version: 2.48.0 is older than 2.52.0, the first Ray with token authentication; build the image "
            "with a newer Ray",
            id="an old Ray",
        ),
        pytest.param(
            {"spec.collection.mode": "async"},
            'spec.collection.mode: "async" is not one of Sync, Async; did you mean Async?',
            id="another case",
        ),
        pytest.param(
            {"spec.collectors.replicas": 0},
            "spec.collectors.replicas: 0 is too small; use 1 or more",
            id="too small",
        ),
        pytest.param(
            {"spec.workers.gpu.perPod": 65}, "spec.workers.gpu.perPod: 65 is too large; use at most 64", id="too large"
        ),
        pytest.param(
            {"spec.imagePullSecrets": ["regcred"]},
            'spec.imagePullSecrets[0]: "regcred" is text, and a mapping of keys to values is expected',
            id="text for a mapping",
        ),
        pytest.param(
            {"spec.collectors.resources.cpu": "two"},
            "spec.collectors.resources.cpu: 'two' is not a quantity; "
            "write a number that is not negative, such as 2, 0.5, 500m or 2Gi",
            id="no quantity",
        ),
        pytest.param(
            {"spec.collectors.resources.memory": 2},
            "spec.collectors.resources.memory: 2 is 2 bytes, too little memory for a process; write 2Gi",
            id="bytes for gigabytes",
        ),
        pytest.param(
            {"spec.collectors.resources.gpu": 1.5},
            "spec.collectors.resources.gpu: 1.5 is more than one GPU and not whole; "
            "use 1, 2, or a share below 1 such as 0.5",
            id="one GPU and a half",
        ),
        pytest.param(
            {"spec.collectors.resources.gpu": 0.25, "spec.workers.collectorsPerPod": 6},
            "spec.workers.collectorsPerPod: 6 collectors of 0.25 GPU do not fit on a worker pod with 1 GPU; "
            "use at most 4, or a spec.workers.gpu.perPod of at least 2",
            id="too many in a pod",
        ),
        pytest.param(
            {"spec.workers.template": {"nodeSelector": {"pool": "gpu"}}},
            "spec.workers.template.nodeSelector: a pod template has only the fields metadata and spec; did you mean "
            "spec.nodeSelector?",
            id="a pod spec where a template belongs",
        ),
        pytest.param(
            {"spec.driver.template": {"spec": {"containers": {"name": "driver"}}}},
            "spec.driver.template.spec.containers: a list is expected; put '- ' before each item",
            id="containers that are no list",
        ),
        pytest.param(
            {"spec.workers.template": {"spec": {"tolerations": {"key": "gpu", "operator": "Exists"}}}},
            "spec.workers.template.spec.tolerations: a list is expected; put '- ' before each item",
            id="tolerations that are no list",
        ),
        pytest.param(
            {"spec.driver.template": {"spec": {"tolerations": ["gpu"]}}},
            "spec.driver.template.spec.tolerations[0]: a toleration is expected, such as {key: gpu, operator: Exists}",
            id="a toleration that is a word",
        ),
        pytest.param(
            {"spec.ray.head.template": {"spec": {"volumes": [{"emptyDir": {}}]}}},
            "spec.ray.head.template.spec.volumes[0]: an item without a name cannot be merged with the operator's "
            "items; set a name",
            id="a volume without a name",
        ),
        pytest.param(
            {"spec.driver.template": {"metadata": {"annotations": {"a": 1}}}},
            "spec.driver.template.metadata.annotations.a: 1 is not text; put it in quotes",
            id="an annotation that is a number",
        ),
    ],
)
def test_a_problem_is_a_sentence_that_says_what_to_change(changes: dict[str, Any], sentence: str) -> None:
    assert wrong(changes) == [sentence]


def test_long_and_odd_names_are_refused() -> None:
    assert not isinstance(read(manifest(name="a" * 50)), list)
    # KubeRay takes up to 53, but then looks for its token in a Secret of another name.
    assert wrong({}, name="a" * 51) == [
        "metadata.name: 51 characters are too many for the Ray cluster, which has the same name; use at most 50"
    ]
    # With a Job, of which pods and their indexes are to be names of hosts.
    assert not isinstance(read(manifest(JOB, name="a" * 46)), list)
    assert wrong(JOB, name="a" * 47) == [
        (
            "metadata.name: 47 characters are too many for the pods of launcher Job, whose names begin with this name; "
            "use at most 46"
        )
    ]
    (found,) = wrong({}, name="5cheetah")
    assert found.startswith('metadata.name: "5cheetah" cannot name a Service; use lower-case letters, digits and "-"')


def test_a_spec_that_no_pod_can_carry_is_refused_with_its_size() -> None:
    large = {"spec.driver.train.kwargs": {"table": "x" * 219_000}}
    assert wrong(large) == ["spec: 215 KiB of JSON do not fit into a pod; shorten the spec to at most 200 KiB"]


def test_all_problems_are_said_at_once() -> None:
    found = wrong({"spec.collectors.replicas": 6, "spec.collectors.resources.gpu": 1.5, "spec.ray.version": "2.9.0"})
    assert [sentence.split(":")[0] for sentence in found] == [
        "spec.collection.framesPerBatch",
        "spec.collectors.resources.gpu",
        "spec.ray.version",
    ]


def test_a_null_is_an_absent_field() -> None:
    assert isinstance(
        read(manifest({"spec.environment.kwargs": None, "spec.collectors.replicas": None})), CollectorFleet
    )
    (found,) = wrong({"spec.image": None})
    assert found.startswith("spec.image: missing, and required")


def test_a_pull_secret_named_twice_is_refused_as_the_api_server_does() -> None:
    assert wrong({"spec.imagePullSecrets": [{"name": "a"}, {"name": "a"}]}) == [
        "spec.imagePullSecrets[1].name: a appears twice; name each Secret once"
    ]


def test_more_min_available_than_replicas_counts_as_replicas() -> None:
    assert isinstance(read(manifest({"spec.collectors.minAvailable": 12})), CollectorFleet)


def test_a_stored_fleet_may_have_fields_of_a_newer_release() -> None:
    stored = manifest({"metadata.uid": "u", "spec.collectors.racks": [], "status": {"later": 1}})
    assert isinstance(read_stored(stored), CollectorFleet)
    assert wrong({"spec.collectors.racks": []}) == ["spec.collectors.racks: unknown field"]


def test_a_status_in_a_manifest_is_ignored_as_the_api_server_does() -> None:
    assert isinstance(read(manifest({"status": {"phase": "Anything"}})), CollectorFleet)


def test_a_misspelt_rule_of_the_network_is_refused_before_it_lets_everybody_in() -> None:
    asked = {
        "metricsFrom": [{"podSelectr": {}}, {}],
        "ingress": [{"form": [], "ports": []}],
        "egress": [{"to": {}}, {"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
    }
    found = read(manifest({"spec.networkPolicy": asked}))
    assert isinstance(found, list)
    assert [str(problem) for problem in found] == [
        "spec.networkPolicy.metricsFrom[0].podSelectr: unknown field; did you mean podSelector?",
        "spec.networkPolicy.metricsFrom[1]: selects no peer; set one of podSelector, namespaceSelector, ipBlock",
        "spec.networkPolicy.ingress[0].form: unknown field; did you mean from?",
        "spec.networkPolicy.egress[0].to: a list of peers is expected; put '- ' before each",
    ]


def test_a_list_that_would_let_nothing_travel_is_refused() -> None:
    found = read(manifest({"spec.weights.include": []}))
    assert isinstance(found, list)
    assert [str(problem) for problem in found] == [
        "spec.weights.include: empty; write at least one item or leave the field out"
    ]


def test_a_module_named_twice_is_refused_as_the_api_server_does() -> None:
    model = {"path": "env.world_model", "factory": "my_models:make"}
    found = read(manifest({"spec.weights.models": [model, model]}))
    assert isinstance(found, list)
    assert [str(problem) for problem in found] == [
        "spec.weights.models[1].path: env.world_model appears twice; name each module once"
    ]

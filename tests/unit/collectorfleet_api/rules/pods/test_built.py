"""A whole pod: fields that are missing, and fields of which one is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from collectorfleet_api.rules.pods.built import built_problems
from collectorfleet_api.rules.sentences import path_text


def problems(**fields: Any) -> list[tuple[str, str]]:
    spec = {"containers": [{"name": "driver", "image": "lab:1"}], **fields}
    return [(path_text(one.path), one.message) for one in built_problems(spec)]


def with_container(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "driver", "image": "lab:1", **fields}]}


def container(**fields: Any) -> list[tuple[str, str]]:
    return problems(**with_container(**fields))


HERE = "spec.containers[0]"
REF = {"name": "settings", "key": "a"}


def test_a_pod_in_order_has_no_problem() -> None:
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "more"}]
    mounts = [{"name": "data", "mountPath": "/data"}]
    ordinary = {"name": "driver", "image": "lab:1", "env": [{"name": "A", "value": "1"}], "volumeMounts": mounts}
    assert problems(containers=[ordinary], volumes=volumes) == []


@pytest.mark.parametrize("empty", [None, "", "absent"])
def test_a_field_that_kubernetes_requires_is_missed_by_name(empty: str | None) -> None:
    variable = {"value": "1"} if empty == "absent" else {"value": "1", "name": empty}
    assert container(env=[variable]) == [(f"{HERE}.env[0].name", "missing, and required in EnvVar")]


@pytest.mark.parametrize(
    ("source", "path", "type_"),
    [
        ({"configMapKeyRef": {"key": "a"}}, "configMapKeyRef.name", "ConfigMapKeySelector"),
        ({"secretKeyRef": {"key": "a"}}, "secretKeyRef.name", "SecretKeySelector"),
        ({"secretKeyRef": {"name": "a"}}, "secretKeyRef.key", "SecretKeySelector"),
    ],
)
def test_a_name_that_only_the_server_requires_is_missed_too(source: dict[str, Any], path: str, type_: str) -> None:
    found = container(env=[{"name": "A", "valueFrom": source}])
    assert found == [(f"{HERE}.env[0].valueFrom.{path}", f"missing, and required in {type_}")]


@pytest.mark.parametrize(
    ("volume", "path", "type_"),
    [
        ({"configMap": {}}, "configMap.name", "ConfigMapVolumeSource"),
        ({"secret": {}}, "secret.secretName", "SecretVolumeSource"),
        ({"ephemeral": {}}, "ephemeral.volumeClaimTemplate", "EphemeralVolumeSource"),
        ({"image": {}}, "image.reference", "ImageVolumeSource"),
        ({"projected": {"sources": [{"secret": {}}]}}, "projected.sources[0].secret.name", "SecretProjection"),
        ({"projected": {"sources": [{"configMap": {}}]}}, "projected.sources[0].configMap.name", "ConfigMapProjection"),
        (
            {
                "ephemeral": {
                    "volumeClaimTemplate": {"spec": {"accessModes": [], "resources": {"requests": {"storage": 1}}}}
                }
            },
            "ephemeral.volumeClaimTemplate.spec.accessModes",
            "PersistentVolumeClaimSpec",
        ),
    ],
)
def test_a_volume_names_what_it_is_made_from(volume: dict[str, Any], path: str, type_: str) -> None:
    found = problems(volumes=[{"name": "data", **volume}])
    assert found == [(f"spec.volumes[0].{path}", f"missing, and required in {type_}")]


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        pytest.param(
            with_container(env=[{"name": "A", "valueFrom": {"configMapKeyRef": REF, "secretKeyRef": REF}}]),
            f"{HERE}.env[0].valueFrom.secretKeyRef",
            "one source is allowed, but configMapKeyRef and secretKeyRef are set; keep one",
            id="two sources of a variable",
        ),
        pytest.param(
            {"volumes": [{"name": "data", "emptyDir": {}, "secret": {"secretName": "a"}}]},
            "spec.volumes[0].secret",
            "one kind of volume is allowed, but emptyDir and secret are set; keep one",
            id="two kinds of volume",
        ),
        pytest.param(
            with_container(livenessProbe={"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}),
            f"{HERE}.livenessProbe.tcpSocket",
            "one action is allowed, but exec and tcpSocket are set; keep one",
            id="two actions of a probe",
        ),
        pytest.param(
            with_container(livenessProbe={"periodSeconds": 1}),
            f"{HERE}.livenessProbe",
            "no action; set exec, grpc, httpGet or tcpSocket",
            id="no action of a probe",
        ),
        pytest.param(
            {"resourceClaims": [{"name": "gpus"}]},
            "spec.resourceClaims[0]",
            "no claim; set resourceClaimName or resourceClaimTemplateName",
            id="no claim",
        ),
        pytest.param(
            {"volumes": [{"name": "a", "downwardAPI": {"items": [{"path": "a"}]}}]},
            "spec.volumes[0].downwardAPI.items[0]",
            "no source; set fieldRef or resourceFieldRef",
            id="no source of a file",
        ),
        pytest.param(
            with_container(lifecycle={"preStop": {}}),
            f"{HERE}.lifecycle.preStop",
            "no action; set exec, httpGet, sleep or tcpSocket",
            id="no action at the end",
        ),
    ],
)
def test_of_fields_that_exclude_each_other_one_is_kept(fields: dict[str, Any], path: str, message: str) -> None:
    assert problems(**fields) == [(path, message)]


def test_sources_of_a_whole_environment_are_one_each_beside_a_prefix() -> None:
    source = {"prefix": "A_", "configMapRef": {"name": "a"}}
    assert container(envFrom=[source]) == []
    both = {**source, "secretRef": {"name": "b"}}
    text = "one source is allowed, but configMapRef and secretRef are set; keep one"
    assert container(envFrom=[both]) == [(f"{HERE}.envFrom[0].secretRef", text)]
    assert container(envFrom=[{"prefix": "A_"}])[0][1] == "no source; set configMapRef or secretRef"


@pytest.mark.parametrize("volume", [{"name": "data"}, {"name": "data", "projected": {"sources": [{}]}}])
def test_a_volume_without_a_kind_is_an_empty_folder(volume: dict[str, Any]) -> None:
    assert problems(volumes=[volume]) == []


def test_a_field_that_is_null_is_none() -> None:
    assert container(livenessProbe=None, env=None, securityContext=None) == []
    assert problems(volumes=[{"name": "data", "emptyDir": {}, "secret": None}]) == []


def test_names_that_nothing_has_are_refused_as_well() -> None:
    found = container(volumeMounts=[{"name": "data", "mountPath": "/data"}])
    assert found == [(f"{HERE}.volumeMounts[0].name", "no volume is named data; add it to spec.volumes")]

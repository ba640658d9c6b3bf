"""The place in people's templates of a problem of the whole pod."""

from __future__ import annotations

from typing import Any

from collectorfleet_api.rules.pods.place import BuiltProblem, Path, Written, placed

GENERAL, PARTICULAR = "spec.workers.template", "spec.collectors.groups[0].template"


def place(pod: dict[str, Any], path: Path, *templates: dict[str, Any], other: Path = ()) -> str:
    """Where it is, of templates from the most particular to the most general one."""
    written = [Written(one, name) for one, name in zip(templates, (PARTICULAR, GENERAL), strict=False)]
    found = placed(BuiltProblem(path, "wrong", other), pod, written)
    assert found.message == "wrong"
    return found.field


def pod(*containers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": list(containers), **fields}}


OURS = {"name": "ray-worker", "image": "lab:1", "env": [{"name": "OURS", "value": "1"}, {"name": "A", "value": "2"}]}
SIDECAR = {"name": "sidecar", "ports": [{"containerPort": 80}]}
WRITTEN = pod({"name": "sidecar", "ports": [{"containerPort": 80}]})


def test_an_item_is_found_by_its_name_wherever_it_is_in_the_pod() -> None:
    path: Path = ("spec", "containers", 1, "ports", 0, "containerPort")
    assert place(pod(OURS, SIDECAR), path, WRITTEN) == f"{PARTICULAR}.spec.containers[0].ports[0].containerPort"
    template = pod({"name": "ray-worker", "env": [{"name": "A", "value": "2"}]})
    path = ("spec", "containers", 0, "env", 1, "value")
    assert place(pod(OURS, SIDECAR), path, template) == f"{PARTICULAR}.spec.containers[0].env[0].value"


def test_a_missing_field_is_where_it_is_to_be_written() -> None:
    path: Path = ("spec", "containers", 1, "image")
    assert place(pod(OURS, SIDECAR), path, WRITTEN) == f"{PARTICULAR}.spec.containers[0].image"


def test_a_field_that_the_pod_has_from_elsewhere_is_not_in_the_template() -> None:
    path: Path = ("spec", "containers", 0, "image")
    assert place(pod(OURS), path, pod({"name": "ray-worker"})) == f"{PARTICULAR}.spec.containers[0]"


def test_the_template_that_has_the_most_of_a_path_is_named() -> None:
    whole = pod(OURS, SIDECAR)
    path: Path = ("spec", "containers", 1, "ports", 0, "containerPort")
    elsewhere = {"spec": {"nodeSelector": {"a": "b"}}}
    assert place(whole, path, elsewhere, WRITTEN) == f"{GENERAL}.spec.containers[0].ports[0].containerPort"
    assert place(whole, path, WRITTEN, elsewhere) == f"{PARTICULAR}.spec.containers[0].ports[0].containerPort"


def test_of_two_templates_with_as_much_the_more_particular_is_named() -> None:
    path: Path = ("spec", "containers", 1, "ports", 0, "containerPort")
    assert place(pod(OURS, SIDECAR), path, WRITTEN, WRITTEN).startswith(PARTICULAR)


def test_what_nobody_wrote_is_told_of_the_most_particular_template() -> None:
    path: Path = ("spec", "volumes", 0, "name")
    whole = pod(OURS, volumes=[{"name": "ours"}])
    assert place(whole, path, {}, {}) == PARTICULAR
    assert place(whole, path, {}, {"spec": {}}) == f"{GENERAL}.spec"


def test_of_two_fields_that_disagree_the_one_that_people_wrote_is_named() -> None:
    resources = {"limits": {"cpu": 1}, "requests": {"cpu": 2}}
    whole = pod({**OURS, "resources": resources})
    limit: Path = ("spec", "containers", 0, "resources", "limits", "cpu")
    request: Path = ("spec", "containers", 0, "resources", "requests", "cpu")
    template = pod({"name": "ray-worker", "resources": {"requests": {"cpu": 2}}})
    text = f"{PARTICULAR}.spec.containers[0].resources.requests.cpu"
    assert place(whole, limit, template, other=request) == text
    assert place(whole, limit, template) == f"{PARTICULAR}.spec.containers[0].resources"


def test_items_without_a_name_are_told_apart_by_their_path_or_their_index() -> None:
    mounts = [{"mountPath": "/ours"}, {"mountPath": "/a", "subPath": "x"}]
    template = pod({"name": "ray-worker", "volumeMounts": [{"mountPath": "/a", "subPath": "x"}]})
    path: Path = ("spec", "containers", 0, "volumeMounts", 1, "subPath")
    whole = pod({**OURS, "volumeMounts": mounts})
    assert place(whole, path, template) == f"{PARTICULAR}.spec.containers[0].volumeMounts[0].subPath"
    tolerations = [{"operator": "Equal"}, {"operator": "Exists"}]
    whole, path = pod(OURS, tolerations=tolerations), ("spec", "tolerations", 1, "operator")
    assert place(whole, path, {"spec": {"tolerations": tolerations}}) == f"{PARTICULAR}.spec.tolerations[1].operator"
    assert place(whole, path, {"spec": {"tolerations": tolerations[:1]}}) == f"{PARTICULAR}.spec.tolerations"


def test_an_item_that_is_written_the_same_is_found_at_its_index_first() -> None:
    same = {"name": "A", "value": "1"}
    whole = pod({"name": "ray-worker", "env": [same, same]})
    path: Path = ("spec", "containers", 0, "env", 1, "value")
    assert place(whole, path, whole) == f"{PARTICULAR}.spec.containers[0].env[1].value"


def test_a_template_of_another_shape_has_nothing_of_the_path() -> None:
    path: Path = ("spec", "containers", 0, "image")
    assert place(pod(OURS), path, {"spec": {"containers": "x"}}) == f"{PARTICULAR}.spec.containers"
    assert place(pod(OURS), path, {"spec": "x"}) == f"{PARTICULAR}.spec"

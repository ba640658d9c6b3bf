"""A partial template: unknown fields, wrong types, and names that a list has twice."""

from __future__ import annotations

from typing import Any

import pytest

from collectorfleet_api.rules.pods.types import pod_types
from collectorfleet_api.rules.pods.written import written_problems

HERE = "spec.workers.template"


def problems(template: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.field, one.message) for one in written_problems(template, HERE)]


def spec(**fields: Any) -> list[tuple[str, str]]:
    return problems({"spec": fields})


def container(**fields: Any) -> list[tuple[str, str]]:
    return spec(containers=[{"name": "ray-worker", **fields}])


CONTAINER = f"{HERE}.spec.containers[0]"


@pytest.mark.parametrize(
    "template", [{}, {"spec": None}, {"spec": {}}, {"metadata": {}}, {"metadata": {"labels": None}}]
)
def test_an_empty_template_has_no_problem(template: dict[str, Any]) -> None:
    assert problems(template) == []


def test_an_ordinary_template_has_no_problem() -> None:
    ordinary = {
        "metadata": {"labels": {"app": "a", "none": None}, "annotations": {"example.com/a": "any text: at all"}},
        "spec": {
            "nodeSelector": {"disk": "fast", "gone": None},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "terminationGracePeriodSeconds": 30,
            "hostNetwork": False,
            "containers": [
                {
                    "name": "ray-worker",
                    "resources": {"limits": {"cpu": "500m", "memory": 1024}},
                    "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
                    "readinessProbe": {"httpGet": {"port": 80}},
                    "image": None,
                }
            ],
        },
    }
    assert problems(ordinary) == []


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_a_key_that_is_none_of_a_label_is_refused_by_name(field: str) -> None:
    ((path, message),) = problems({"metadata": {field: {"a b": "x"}}})
    assert path == f"{HERE}.metadata.{field}.a b"
    assert message.startswith('"a b" is not a valid key of a label; ')


def test_only_labels_have_values_of_a_form() -> None:
    assert problems({"metadata": {"annotations": {"a": "x y"}}}) == []
    ((path, message),) = problems({"metadata": {"labels": {"a": "x y"}}})
    assert path == f"{HERE}.metadata.labels.a"
    assert message.startswith('"x y" is not a valid value of a label; ')


def test_an_unknown_field_is_refused_with_the_nearest_or_with_all_of_a_few() -> None:
    version = pod_types().kubernetes
    text = f"unknown field of Container in Kubernetes {version}; did you mean image?"
    assert container(imge="x") == [(f"{CONTAINER}.imge", text)]
    text = f"unknown field of Container in Kubernetes {version}"
    assert container(zzz="x") == [(f"{CONTAINER}.zzz", text)]
    found = container(livenessProbe={"tcpSocket": {"zzz": 1}})
    text = f"unknown field of TCPSocketAction in Kubernetes {version}; it has host, port"
    assert found == [(f"{CONTAINER}.livenessProbe.tcpSocket.zzz", text)]


def test_at_most_six_fields_are_shown_for_an_unknown_one() -> None:
    types = pod_types().by_name
    assert (len(types["Toleration"].fields), len(types["ContainerPort"].fields) > 4) == (5, True)
    (few,) = spec(tolerations=[{"zzz": 1}])
    assert "; it has " in few[1]
    (many,) = spec(securityContext={"zzz": 1})
    assert "; it has " not in many[1]


def test_ephemeral_containers_are_refused_unless_there_are_none() -> None:
    text = "a template has no ephemeral containers; use containers, or `kubectl debug` on the pod"
    assert spec(ephemeralContainers=[{"name": "a"}]) == [(f"{HERE}.spec.ephemeralContainers", text)]
    assert spec(ephemeralContainers=[]) == []


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        pytest.param(
            {"tolerations": {"key": "a"}}, "tolerations", "a list is expected; put '- ' before each item", id="no list"
        ),
        pytest.param(
            {"tolerations": [{"key": "a"}, None]},
            "tolerations[1]",
            "a list cannot contain null; leave the null out",
            id="a null in a list",
        ),
        pytest.param(
            {"nodeSelector": "a"},
            "nodeSelector",
            '"a" is text, and a mapping of keys to values is expected',
            id="no mapping",
        ),
        pytest.param(
            {"tolerations": ["a"]},
            "tolerations[0]",
            '"a" is text, and a mapping of keys to values is expected',
            id="no toleration",
        ),
        pytest.param(
            {"nodeSelector": {"disk": 1}},
            "nodeSelector.disk",
            "1 is a number, and text is expected; put it in quotes",
            id="a number for text",
        ),
        pytest.param(
            {"hostNetwork": "yes"},
            "hostNetwork",
            '"yes" is text, and true or false is expected',
            id="text for a switch",
        ),
        pytest.param(
            {"terminationGracePeriodSeconds": "30"},
            "terminationGracePeriodSeconds",
            '"30" is text, and a whole number is expected; write 30 without quotes',
            id="text for a number",
        ),
        pytest.param(
            {"terminationGracePeriodSeconds": True},
            "terminationGracePeriodSeconds",
            "true is true or false, and a whole number is expected",
            id="a switch for a number",
        ),
        pytest.param(
            {"terminationGracePeriodSeconds": 2**63},
            "terminationGracePeriodSeconds",
            f"{2**63} is too large; use at most {2**63 - 1}",
            id="more than 64 bits",
        ),
        pytest.param(
            {"priority": 2**31}, "priority", f"{2**31} is too large; use at most {2**31 - 1}", id="more than 32 bits"
        ),
        pytest.param(
            {"dnsPolicy": "Nothing"},
            "dnsPolicy",
            '"Nothing" is not one of ClusterFirst, ClusterFirstWithHostNet, Default, None',
            id="no choice",
        ),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_place(fields: dict[str, Any], path: str, message: str) -> None:
    assert spec(**fields) == [(f"{HERE}.spec.{path}", message)]


@pytest.mark.parametrize("number", [-(2**31) + 1, 0, 2**31 - 1])
def test_the_largest_number_of_a_field_is_taken(number: int) -> None:
    assert spec(priority=number) == []


def test_a_port_is_a_number_or_a_name_and_nothing_else() -> None:
    found = container(livenessProbe={"httpGet": {"port": True}})
    text = "true is true or false, and a whole number or text is expected"
    assert found == [(f"{CONTAINER}.livenessProbe.httpGet.port", text)]


def test_an_amount_that_is_no_quantity_and_a_key_that_is_none_are_refused() -> None:
    ((path, message),) = container(resources={"limits": {"cpu": "1 core"}})
    assert path == f"{CONTAINER}.resources.limits.cpu"
    assert "1 core" in message
    ((path, message),) = container(resources={"limits": {"a b": 1}})
    assert path == f"{CONTAINER}.resources.limits.a b"
    assert message.startswith('"a b" is not a valid key of a label; ')


def test_a_required_text_may_not_be_empty_and_another_may() -> None:
    text = "empty; write something or leave the field out"
    assert container(env=[{"name": ""}]) == [(f"{CONTAINER}.env[0].name", text)]
    assert container(image="") == []


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        pytest.param(
            {"env": [{"name": "A"}, {"name": "B"}, {"name": "A"}]},
            "env[2].name",
            "A is item 0 already; keep one of the two",
            id="one variable twice",
        ),
        pytest.param(
            {"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]},
            "ports[1].containerPort",
            "80 TCP is item 0 already; keep one of the two",
            id="one port twice, by its default protocol",
        ),
    ],
)
def test_an_item_that_a_list_has_twice_is_refused(fields: dict[str, Any], path: str, message: str) -> None:
    assert container(**fields) == [(f"{CONTAINER}.{path}", message)]


def test_items_that_differ_in_one_key_are_two() -> None:
    assert (
        container(ports=[{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}, {"containerPort": 81}]) == []
    )
    # Kubernetes misses the keys.
    assert container(env=[{"value": "1"}, {"value": "1"}]) == []

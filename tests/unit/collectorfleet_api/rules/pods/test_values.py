"""Values that the fields of a pod may have: numbers within bounds, choices, and forms of names."""

from __future__ import annotations

from typing import Any

import pytest

from collectorfleet_api.rules.pods.values import KEY_FORMS, LABEL_NAME, LABEL_VALUE, PORT_NAME, RANGES, value_problem

INT32 = 2_147_483_647


def problem(type_: str, field: str, value: Any, *, required: bool = False) -> str | None:
    return value_problem((type_, field), value, required=required)


@pytest.mark.parametrize(
    ("type_", "field", "low", "high"),
    [
        ("PodSpec", "activeDeadlineSeconds", 1, INT32),
        ("ContainerPort", "containerPort", 1, 65535),
        ("ContainerPort", "hostPort", 0, 65535),
        ("GRPCAction", "port", 1, 65535),
        ("Probe", "failureThreshold", 0, INT32),
        ("Probe", "terminationGracePeriodSeconds", 1, INT32),
        ("PodSecurityContext", "fsGroup", 0, INT32),
        ("SecurityContext", "runAsUser", 0, INT32),
        ("ServiceAccountTokenProjection", "expirationSeconds", 600, 4_294_967_296),
        ("TopologySpreadConstraint", "maxSkew", 1, INT32),
        ("PreferredSchedulingTerm", "weight", 1, 100),
        ("WeightedPodAffinityTerm", "weight", 1, 100),
    ],
)
def test_a_number_outside_of_its_bounds_is_refused_with_them(type_: str, field: str, low: int, high: int) -> None:
    assert problem(type_, field, low) is None
    assert problem(type_, field, high) is None
    for outside in (low - 1, high + 1):
        text = f"{outside} is outside of {low} to {high}; use a number in this range"
        assert problem(type_, field, outside) == text


def test_modes_of_files_are_shown_as_people_write_them() -> None:
    place = ("KeyToPath", "mode")
    assert [problem(*place, mode) for mode in (0, 0o644, 0o777)] == [None, None, None]
    assert problem(*place, 0o1000) == "0o1000 is outside of 0 to 0o777; use a number in this range"
    assert problem(*place, -1) == "-1 is outside of 0 to 0o777; use a number in this range"
    assert {place for place, bounds in RANGES.items() if bounds == (0, 0o777)} == {
        ("ConfigMapVolumeSource", "defaultMode"),
        ("DownwardAPIVolumeFile", "mode"),
        ("DownwardAPIVolumeSource", "defaultMode"),
        ("KeyToPath", "mode"),
        ("ProjectedVolumeSource", "defaultMode"),
        ("SecretVolumeSource", "defaultMode"),
    }


def test_a_choice_that_does_not_exist_is_refused_with_those_that_do() -> None:
    place = ("Container", "imagePullPolicy")
    assert [problem(*place, one) for one in ("Always", "IfNotPresent", "Never", "")] == [None] * 4
    text = '"IfNotPresnt" is not one of Always, IfNotPresent, Never; did you mean IfNotPresent?'
    assert problem(*place, "IfNotPresnt") == text
    assert problem(*place, "x" * 200) == f'"{"x" * 80}" is not one of Always, IfNotPresent, Never'


@pytest.mark.parametrize(
    ("required", "message"), [(True, "empty; write something or leave the field out"), (False, None)]
)
def test_an_empty_text_takes_the_default_unless_the_field_is_required(required: bool, message: str | None) -> None:
    assert problem("Container", "name", "", required=required) == message


@pytest.mark.parametrize(
    ("type_", "field", "good", "bad"),
    [
        ("Container", "name", ["a", "a-1", "x" * 63], ["A", "-a", "a-", "a.b", "x" * 64]),
        ("PodSpec", "nodeName", ["a", "a.b-c.d", "x" * 253], ["A", "a..b", ".a", "a.", "-a", "x" * 254]),
        ("ContainerPort", "name", ["http", "h2", "a-b", "x" * 15], ["80", "a--b", "-a", "a-", "HTTP", "x" * 16]),
        ("EnvVar", "name", ["A", "a.b", "1", "a b"], ["a=b", "ä", "a\nb"]),
        ("KeyToPath", "path", ["a", "a/b", "..a", "a..", "a/..b"], ["/a", "..", "../a", "a/..", "a/../b"]),
        ("Sysctl", "name", ["net.core.somaxconn", "a/b", "a_b"], ["A", ".a", "a.", "a..b"]),
        ("HostAlias", "ip", ["10.0.0.1", "2001:db8::1"], ["10.0.0", "host"]),
        ("PodDNSConfig", "nameservers", ["1.1.1.1"], ["1.1.1"]),
        ("Toleration", "key", ["gpu", "example.com/gpu", "A_b.c"], ["a/b/c", "/a", "a/", "-a", "Example.com/a"]),
        ("Toleration", "value", ["", "a", "A_b.c"], ["-a", "a-", "a/b", "x" * 64]),
        ("ConfigMapKeySelector", "key", ["a", "a.b"], ["..", "a/b"]),
    ],
)
def test_text_of_another_form_is_refused(type_: str, field: str, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if problem(type_, field, text)] == []
    assert [text for text in bad if not problem(type_, field, text)] == []


@pytest.mark.parametrize(
    ("key", "is_good"),
    [
        ("app", True),
        ("x" * 63, True),
        ("x" * 64, False),
        (f"{'x' * 253}/app", True),
        (f"{'x' * 254}/app", False),
        ("example.com/app", True),
        ("example..com/app", False),
        ("", False),
    ],
)
def test_the_key_of_a_label_has_up_to_63_letters_after_its_domain(key: str, is_good: bool) -> None:
    assert (LABEL_NAME(key) is None) is is_good


def test_a_refused_text_says_what_it_should_be() -> None:
    assert LABEL_VALUE("a/b") == (
        "\"a/b\" is not a valid value of a label; use up to 63 letters, digits, '-', '_' and '.', with a letter or "
        "digit at "
        "both ends"
    )
    assert PORT_NAME("80") == (
        "\"80\" is not a valid name of a port; use up to 15 lower-case letters, digits and '-', at least one of them "
        "a letter"
    )
    assert problem("HostAlias", "ip", "y" * 100) == (
        f'"{"y" * 80}" is not an IP address; write one such as 10.0.0.1 or 2001:db8::1'
    )


def test_keys_of_labels_selectors_and_amounts_are_keys_of_labels() -> None:
    assert set(KEY_FORMS) == {
        ("PodSpec", "nodeSelector"),
        ("LabelSelector", "matchLabels"),
        ("ObjectMeta", "labels"),
        ("ResourceRequirements", "limits"),
        ("ResourceRequirements", "requests"),
    }
    assert all(form("a b") for form in KEY_FORMS.values())


@pytest.mark.parametrize("value", [1.5, None, True, ["a"], {}])
def test_a_field_without_a_rule_takes_anything(value: Any) -> None:
    assert problem("Container", "stdin", value) is None

"""The driver's Job."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.children.fleets import driver, env, fleet

from collectorfleet_api import names
from collectorfleet_operator.children.driver_job import (
    GENERATION_ANNOTATION,
    began_text,
    driver_job,
    has_changed_workers,
    next_driver_job,
    restarts_before,
    run_began_at,
    spec_of_job,
    with_workers_of,
)
from collectorfleet_operator.objects import Object, annotation


def test_the_driver_is_tried_again_unless_the_user_has_to_change_something() -> None:
    job = driver_job(fleet())["spec"]
    fail, ignore, in_order = job["podFailurePolicy"]["rules"]
    assert fail["action"] == "FailJob"
    assert fail["onExitCodes"] == {"containerName": "driver", "operator": "In", "values": [64, 65]}
    assert in_order["action"] == "Ignore"
    assert in_order["onExitCodes"]["values"] == [143]
    assert ignore["action"] == "Ignore"
    assert job["template"]["spec"]["restartPolicy"] == "Never"
    assert "ttlSecondsAfterFinished" not in job


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param({"archive": {"configMap": "tree", "sha256": "a" * 64}}, id="archive"),
        pytest.param({"git": {"repository": "https://example.com/lab.git", "commit": "a" * 40}}, id="git"),
        pytest.param({"artifact": {"reference": f"ghcr.io/me/lab@sha256:{'a' * 64}"}}, id="artifact"),
    ],
)
def test_a_tree_that_is_not_as_the_spec_says_is_not_tried_again(tree: dict[str, Any]) -> None:
    rules = driver_job(fleet({"spec.code": tree}))["spec"]["podFailurePolicy"]["rules"]
    assert {"containerName": "code", "operator": "In", "values": [64]} in [rule.get("onExitCodes") for rule in rules]


def test_the_driver_knows_its_fleet_and_where_ray_is() -> None:
    known = env(driver())
    assert known[names.ENV_NAME] == "cheetah"
    assert known[names.ENV_UID] == "u-1"
    assert known[names.ENV_RAY_ADDRESS] == "cheetah-head-svc.lab.svc:6379"
    assert known["RAY_AUTH_TOKEN_PATH"] == "/var/run/secrets/collectorfleet/ray/auth_token"


def test_the_driver_waits_for_the_token_instead_of_starting_without() -> None:
    (token,) = (v for v in driver()["spec"]["volumes"] if v["name"] == "ray-token")
    assert token["secret"] == {"secretName": "cheetah"}


def test_the_driver_gets_the_resources_that_it_asks_for() -> None:
    resources = {"spec.driver.resources": {"cpu": "500m", "memory": "4Gi", "gpu": 1}}
    template = driver(resources)
    container = template["spec"]["containers"][0]
    assert container["resources"] == {
        "requests": {"cpu": "500m", "memory": "4Gi"},
        "limits": {"memory": "4Gi", "nvidia.com/gpu": 1},
    }
    assert "NVIDIA_VISIBLE_DEVICES" not in env(template)


def test_the_driver_finds_its_checkpoints_where_the_claim_is_mounted() -> None:
    spec = driver({"spec.driver.checkpoint": {"claimName": "cheetah", "subPath": "runs/2"}})["spec"]
    (volume,) = (v for v in spec["volumes"] if v["name"] == "checkpoints")
    assert volume == {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "cheetah"}}
    (mount,) = (m for m in spec["containers"][0]["volumeMounts"] if m["name"] == "checkpoints")
    assert mount == {"name": "checkpoints", "mountPath": names.CHECKPOINT_MOUNT, "subPath": "runs/2"}
    assert {"name": names.ENV_CHECKPOINTS, "value": names.CHECKPOINT_MOUNT} in spec["containers"][0]["env"]
    # Not root: the volume is made writable for the driver's group.
    assert spec["securityContext"]["fsGroup"] == spec["securityContext"]["runAsGroup"]


def test_the_driver_mounts_the_root_of_a_claim_unless_told_otherwise_and_nothing_without_one() -> None:
    spec = driver({"spec.driver.checkpoint": {"claimName": "cheetah"}})["spec"]
    assert {"name": "checkpoints", "mountPath": names.CHECKPOINT_MOUNT} in spec["containers"][0]["volumeMounts"]
    assert "checkpoints" not in [volume["name"] for volume in driver()["spec"]["volumes"]]


CHECKPOINT = {"spec.driver.checkpoint": {"claimName": "cheetah"}}


def graced(seconds: int | None) -> dict[str, Any]:
    return {"spec.driver.template": {"spec": {"terminationGracePeriodSeconds": seconds}}}


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        pytest.param({}, 30, id="nothing to save"),
        pytest.param(CHECKPOINT, 120, id="a checkpoint to write"),
        pytest.param(CHECKPOINT | graced(600), 600, id="the user's"),
        pytest.param(graced(5), 5, id="the user's without a checkpoint"),
        pytest.param(CHECKPOINT | graced(0), 0, id="none"),
    ],
)
def test_the_driver_is_told_how_long_its_pod_may_take_to_end(changes: dict[str, Any], seconds: int) -> None:
    template = driver(changes)
    assert template["spec"]["terminationGracePeriodSeconds"] == seconds
    assert env(template)[names.ENV_GRACE_SECONDS] == str(seconds)


def test_a_driver_whose_template_removes_the_grace_period_is_told_that_of_kubernetes() -> None:
    template = driver(CHECKPOINT | graced(None))
    assert "terminationGracePeriodSeconds" not in template["spec"]
    assert env(template)[names.ENV_GRACE_SECONDS] == "30"


def test_the_driver_says_where_its_metrics_are() -> None:
    template = driver()
    assert template["spec"]["containers"][0]["ports"] == [{"name": "metrics", "containerPort": names.METRICS_PORT}]
    assert template["metadata"]["annotations"].items() >= {
        ("prometheus.io/scrape", "true"),
        ("prometheus.io/port", str(names.METRICS_PORT)),
        ("prometheus.io/path", "/metrics"),
    }
    quiet = {"metadata": {"annotations": {"prometheus.io/scrape": "false"}}}
    assert driver({"spec.driver.template": quiet})["metadata"]["annotations"]["prometheus.io/scrape"] == "false"


def test_the_driver_has_the_spec_that_it_was_made_from_as_a_file() -> None:
    template = driver({"spec.image": "ghcr.io/you/cheetah:2.0"})
    assert json.loads(template["metadata"]["annotations"][names.SPEC_ANNOTATION])["image"] == "ghcr.io/you/cheetah:2.0"
    (volume,) = (v for v in template["spec"]["volumes"] if v["name"] == "spec")
    (item,) = volume["downwardAPI"]["items"]
    (mount,) = (m for m in template["spec"]["containers"][0]["volumeMounts"] if m["name"] == "spec")
    assert item["fieldRef"]["fieldPath"] == f"metadata.annotations['{names.SPEC_ANNOTATION}']"
    assert env(template)[names.ENV_SPEC] == f"{mount['mountPath']}/{item['path']}"
    assert spec_of_job(driver_job(fleet())) == fleet().spec.to_wire()


def test_no_template_of_a_user_replaces_that_spec() -> None:
    mine = {"metadata": {"annotations": {names.SPEC_ANNOTATION: "{}"}}}
    assert json.loads(driver({"spec.driver.template": mine})["metadata"]["annotations"][names.SPEC_ANNOTATION])


def next_start(job: Object, restarts: int) -> Object:
    """The Job that follows, made from what the operator reads of the one before."""
    return next_driver_job(fleet(), annotation(job, GENERATION_ANNOTATION), restarts, began_text(job))


def test_a_driver_that_starts_again_keeps_its_generation_its_begin_and_its_restarts() -> None:
    first = driver_job(fleet())
    first["metadata"] |= {"creationTimestamp": "2026-07-01T12:00:00Z"}
    first["metadata"]["annotations"][GENERATION_ANNOTATION] = "2"
    assert restarts_before(first) == 0
    assert run_began_at(first) == datetime(2026, 7, 1, 12, tzinfo=UTC)
    second = next_start({**first, "status": {"startTime": "2026-07-01T12:00:05Z"}}, 1)
    second["metadata"] |= {"creationTimestamp": "2026-07-01T13:00:00Z"}
    third = next_start(second, 3)
    for job, restarts in ((second, 1), (third, 3)):
        assert job["metadata"]["annotations"][GENERATION_ANNOTATION] == "2"
        assert restarts_before(job) == restarts
        assert run_began_at(job) == datetime(2026, 7, 1, 12, 0, 5, tzinfo=UTC)


def test_a_driver_that_starts_again_before_its_job_began_counts_from_the_creation() -> None:
    first = driver_job(fleet())
    first["metadata"] |= {"creationTimestamp": "2026-07-01T12:00:00Z"}
    del first["metadata"]["annotations"][GENERATION_ANNOTATION]
    again = next_start(first, 1)
    assert run_began_at(again) == datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert again["metadata"]["annotations"][GENERATION_ANNOTATION] == "3"


def test_a_driver_whose_worker_pods_changed_keeps_its_pods_and_what_else_is_on_its_job() -> None:
    before = driver_job(fleet())
    before["metadata"] |= {"uid": "job-1", "resourceVersion": "7"}
    before["metadata"]["annotations"]["somebody/else"] = "x"
    assert not has_changed_workers(before)
    template = {"spec": {"nodeSelector": {"disk": "fast"}}}
    stored = copy.deepcopy(before)
    changed = with_workers_of(stored, fleet({"spec.workers.template": template}))
    annotations = changed["metadata"]["annotations"]
    assert has_changed_workers(changed)
    assert changed["spec"] == before["spec"]
    assert stored == before
    assert annotations["somebody/else"] == "x"
    assert not {"uid", "resourceVersion"} & changed["metadata"].keys()
    differing = {key for key, value in before["metadata"]["annotations"].items() if annotations[key] != value}
    assert differing == {"collectorfleet.dev/hash-group-collectors"}

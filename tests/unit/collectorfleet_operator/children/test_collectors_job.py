"""The Job of a fleet without Ray, and where its pods find the driver."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import JOB
from tests.unit.collectorfleet_operator.children.fleets import fleet

from collectorfleet.cli.parser import parser
from collectorfleet_api import names
from collectorfleet_operator.children.collectors_job import collectors_job
from collectorfleet_operator.children.driver_job import driver_job
from collectorfleet_operator.children.driver_service import driver_service
from collectorfleet_operator.children.token_secret import token_secret


def job(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    return collectors_job(fleet({**JOB, **(changes or {})}))


def container(made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = made["spec"]["template"]["spec"]["containers"][0]
    return found


def test_a_pod_that_is_lost_is_replaced_under_its_index_and_never_ends_the_job() -> None:
    spec = job({"spec.collectors.replicas": 5, "spec.workers.collectorsPerPod": 2})["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 3, 3)
    assert spec["backoffLimitPerIndex"] == 2**31 - 1
    assert "maxFailedIndexes" not in spec
    # One on a lost node never says that it has ended.
    assert spec["podReplacementPolicy"] == "TerminatingOrFailed"
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_a_pod_asks_for_its_collectors_and_their_gpus() -> None:
    made = job({"spec.collectors.resources": {"cpu": "500m", "memory": "1Gi", "gpu": 0.25}})
    assert container(made)["resources"] == {
        "requests": {"cpu": "2", "memory": "4608Mi"},
        "limits": {"memory": "4608Mi", "nvidia.com/gpu": 1},
    }


def test_its_command_is_one_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "3")
    python, _, program, *arguments = container(job({"spec.workers.collectorsPerPod": 4}))["command"]
    assert (python, program) == ("python", "collectorfleet.cli")
    options = parser().parse_args(arguments)
    assert (options.rank, options.collectors) == (3, 4)
    assert options.driver == ("cheetah-driver.lab.svc", names.HOSTS_PORT)


def test_both_sides_have_the_secret_of_this_fleet_and_no_other_of_its_name() -> None:
    of = fleet(JOB)
    secret = token_secret(of)["metadata"]["name"]
    assert secret == "cheetah-collectors-u-1"
    templates = [made["spec"]["template"] for made in (collectors_job(of), driver_job(of))]
    for template in templates:
        assert secret in [one.get("secret", {}).get("secretName") for one in template["spec"]["volumes"]]
        mounts = [one["mountPath"] for one in template["spec"]["containers"][0]["volumeMounts"]]
        assert names.HOSTS_TOKEN_MOUNT in mounts


def test_the_template_of_the_user_is_merged_over_its_pods() -> None:
    own = {
        "spec": {
            "nodeSelector": {"pool": "cpu"},
            "containers": [{"name": "collectors", "env": [{"name": "A", "value": "1"}]}],
        }
    }
    pod = job({"spec.workers.template": own})["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"pool": "cpu"}
    assert {"name": "A", "value": "1"} in pod["containers"][0]["env"]
    assert len(pod["containers"]) == 1


def test_the_service_finds_the_drivers_pods_also_before_they_are_ready() -> None:
    of = fleet(JOB)
    service, pod = driver_service(of), driver_job(of)["spec"]["template"]["metadata"]["labels"]
    selector = service["spec"]["selector"]
    assert selector == {key: pod[key] for key in selector}
    assert set(selector) == {names.FLEET_LABEL, names.ROLE_LABEL}
    assert service["spec"]["publishNotReadyAddresses"]
    assert service["metadata"]["name"] == "cheetah-driver"

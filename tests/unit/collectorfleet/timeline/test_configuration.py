"""The part of a fleet's spec by which runs are compared."""

from __future__ import annotations

import pytest
from tests.manifests import fleet

from collectorfleet.timeline.configuration import configuration


def test_it_has_what_the_run_learns_with() -> None:
    found = configuration(fleet({"spec.driver.train.kwargs": {"lr": 0.1, "seed": 3, "template": "user"}}).spec)
    assert found["driver"]["train"]["kwargs"] == {"lr": 0.1, "seed": 3, "template": "user"}
    assert found["collection"]["framesPerBatch"] == 4000
    assert found["collectors"]["replicas"] == 4


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.ttlSecondsAfterFinished", 60),
        ("spec.suspend", True),
        ("spec.driver.checkpoint", {"claimName": "other"}),
        ("spec.workers.template", {"spec": {"nodeSelector": {"a": "b"}}}),
        ("spec.driver.template", {"spec": {"containers": [{"name": "driver", "env": [{"name": "A", "value": "b"}]}]}}),
        ("spec.backoffLimit", 7),
    ],
)
def test_how_pods_are_operated_is_no_part_of_it(path: str, value: object) -> None:
    assert configuration(fleet({path: value}).spec) == configuration(fleet().spec)


def test_code_is_known_by_its_digest_and_not_by_the_name_that_each_fleet_gives_it() -> None:
    def code(name: str, digest: str) -> object:
        return configuration(fleet({"spec.code": {"archive": {"configMap": name, "sha256": digest * 64}}}).spec)["code"]

    assert code("one", "a") == code("two", "a") == {"archive": "a" * 64}
    assert code("one", "a") != code("one", "b")

"""Groups of a fleet as children: a worker group each, a hash each, and nothing new for a fleet without groups."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.children.fleets import cluster, fleet

from collectorfleet_operator.children.driver_job import driver_job, spec_of_job, with_workers_of
from collectorfleet_operator.children.group_sizes import GroupSize, pods_text, sizes_of, worker_groups
from collectorfleet_operator.children.hashes import changed_parts, hashes_of, hashes_on
from collectorfleet_operator.children.worker_group import template_label_of
from collectorfleet_operator.objects import Object

SMALL: dict[str, Any] = {"name": "small", "replicas": 3}
BIG: dict[str, Any] = {
    "name": "big",
    "environment": {"kwargs": {"size": 2}},
    "resources": {"memory": "8Gi", "gpu": 1},
    "workers": {"template": {"spec": {"nodeSelector": {"disk": "fast"}}}},
}


PLAIN = {"driver": "9377646e5ce613b0", "head": "20bcb0f5d58223ee", "group-collectors": "20bcb0f5d58223ee"}
RICH = {"driver": "afdcc594ce212c17", "head": "20bcb0f5d58223ee", "group-collectors": "1aeefab13014dfe8"}


def groups(small: dict[str, Any] | None = None, big: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"spec.collectors.groups": [{**SMALL, **(small or {})}, {**BIG, **(big or {})}]}


def template(made: Object, name: str) -> Object:
    found: Object = worker_groups(made)[name]["template"]
    return found


def changed(changes: dict[str, Any]) -> set[str]:
    return changed_parts(hashes_on(driver_job(fleet(groups()))), fleet(changes).spec)


@pytest.mark.parametrize(
    ("changes", "hashes"),
    [
        pytest.param({}, PLAIN, id="plain"),
        pytest.param(
            {
                "spec.collectors.resources": {"cpu": 2, "gpu": 0.25},
                "spec.collectors.devices": {"device": "cuda"},
                "spec.workers": {"collectorsPerPod": 2, "template": {"spec": {"nodeSelector": {"disk": "fast"}}}},
                "spec.environment.kwargs": {"id": "a"},
            },
            RICH,
            id="rich",
        ),
    ],
)
def test_fleets_from_before_groups_are_made_from_what_they_were_made_from(
    changes: dict[str, Any], hashes: dict[str, str]
) -> None:
    assert hashes_of(fleet(changes).spec) == hashes
    # As a CRD that knows groups stores it.
    assert hashes_of(fleet({**changes, "spec.collectors.groups": []}).spec) == hashes


def test_each_group_is_a_worker_group_of_its_own_size() -> None:
    made = cluster({"spec.workers.collectorsPerPod": 2, **groups(big={"workers": {"collectorsPerPod": 1}})})
    assert sizes_of(made) == {"big": GroupSize(1), "small": GroupSize(2)}
    assert pods_text(made) == ("1 worker pod for 1 collector each in big, 2 worker pods for 2 collectors each in small")


@pytest.mark.parametrize(
    ("replicas", "small", "big"),
    [(4, 3, 1), (8, 6, 2), (5, 4, 1), (1, 1, 0)],
)
def test_pods_follow_a_scaled_fleet_in_the_proportion_of_its_groups(replicas: int, small: int, big: int) -> None:
    made = cluster({"spec.collectors.replicas": replicas, **groups()})
    assert sizes_of(made) == {"big": GroupSize(big), "small": GroupSize(small)}


def test_pods_of_a_group_have_what_the_group_says_and_else_what_the_fleet_says() -> None:
    own = {"metadata": {"labels": {"a": "b"}}, "spec": {"nodeSelector": {"disk": "slow", "zone": "z"}}}
    made = cluster({"spec.workers.template": own, **groups()})
    small, big = template(made, "small"), template(made, "big")
    assert small["spec"]["nodeSelector"] == {"disk": "slow", "zone": "z"}
    assert big["spec"]["nodeSelector"] == {"disk": "fast", "zone": "z"}
    assert small["metadata"]["labels"]["a"] == big["metadata"]["labels"]["a"] == "b"
    (limits,) = ({**one["resources"]["limits"]} for one in big["spec"]["containers"])
    assert limits.pop("nvidia.com/gpu") == 1
    assert "nvidia.com/gpu" not in small["spec"]["containers"][0]["resources"]["limits"]


def test_a_group_may_take_away_what_the_operator_puts_into_every_pod() -> None:
    made = cluster(
        {
            "spec.workers.template": {"spec": {"priorityClassName": "low"}},
            **groups(big={"workers": {"template": {"spec": {"priorityClassName": None, "enableServiceLinks": None}}}}),
        }
    )
    assert template(made, "small")["spec"]["priorityClassName"] == "low"
    assert not {"priorityClassName", "enableServiceLinks"} & template(made, "big")["spec"].keys()


def test_collectors_of_a_group_find_room_on_its_pods_alone() -> None:
    made = worker_groups(cluster(groups()))
    resources = {name: json.loads(one["rayStartParams"]["resources"].strip("'")) for name, one in made.items()}
    assert resources == {"small": {"collector": 1, "collector-small": 1}, "big": {"collector": 1, "collector-big": 1}}


def test_a_group_has_the_custom_resources_that_it_says_or_else_those_of_the_fleet() -> None:
    made = worker_groups(
        cluster(
            {
                "spec.workers.customPerPod": {"license": 3},
                "spec.collectors.resources.custom": {"license": 1},
                **groups(big={"resources": {"custom": {}}, "workers": {"customPerPod": {"disk": 1}}}),
            }
        )
    )
    resources = {name: json.loads(one["rayStartParams"]["resources"].strip("'")) for name, one in made.items()}
    assert resources == {
        "small": {"collector": 3, "collector-small": 3, "license": 3},
        "big": {"collector": 1, "collector-big": 1, "disk": 1},
    }
    assert {name: one["replicas"] for name, one in made.items()} == {"small": 1, "big": 1}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        pytest.param(groups(), set(), id="nothing"),
        pytest.param(groups(big={"workers": {"template": {}}}), {"group-big"}, id="the template of one"),
        pytest.param({"spec.workers.template": {"spec": {"a": 1}}, **groups()}, {"group-big", "group-small"}, id="all"),
        pytest.param(groups(big={"environment": {"kwargs": {"size": 3}}}), {"driver"}, id="environment"),
        pytest.param(groups(small={"resources": {"cpu": 2}}), {"driver", "group-small"}, id="resources"),
        pytest.param(groups(small={"workers": {"collectorsPerPod": 3}}), {"driver", "group-small"}, id="packing"),
        pytest.param(
            groups(small={"workers": {"customPerPod": {"license": 3}}}), {"driver", "group-small"}, id="custom"
        ),
        pytest.param(
            {"spec.collectors.replicas": 6, **groups(small={"replicas": 5})}, {"driver"}, id="its part of the whole"
        ),
        pytest.param({"spec.collectors.replicas": 9, **groups()}, set(), id="kubectl scale"),
        pytest.param(
            {"spec.collectors.resources": {"memory": "3Gi"}, **groups()},
            {"driver", "group-small"},
            id="what one group says itself",
        ),
        pytest.param(
            {"spec.collectors.groups": []}, {"driver", "group-big", "group-small", "group-collectors"}, id="-"
        ),
    ],
)
def test_a_change_concerns_the_groups_that_it_is_about(changes: dict[str, Any], parts: set[str]) -> None:
    assert changed(changes) == parts


def test_pods_say_which_template_of_their_group_they_are_from() -> None:
    before, after = cluster(groups()), cluster(groups(big={"workers": {"template": {}}}))
    same = {
        name: template_label_of(template(before, name)) == template_label_of(template(after, name))
        for name in ("small", "big")
    }
    assert same == {"small": True, "big": False}


def test_the_job_remembers_the_templates_that_its_pods_do_not_see() -> None:
    later = fleet(groups(small={"workers": {"template": {"spec": {"nodeSelector": {"disk": "new"}}}}}))
    spec = spec_of_job(with_workers_of(driver_job(fleet(groups())), later))
    assert spec is not None
    assert spec["collectors"]["groups"] == later.spec.to_wire()["collectors"]["groups"]

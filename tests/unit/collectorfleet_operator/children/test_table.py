"""The table of children: what stands in it can be made, found, and is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.combinations.parts import JOB
from tests.unit.collectorfleet_operator.children.fleets import fleet

from collectorfleet_api import names
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.table import (
    CHILDREN,
    LISTED,
    LISTED_OFTEN,
    PROVIDERS,
    WATCHED,
    WORKLOAD_CHILD,
    ChangeSource,
    Child,
    child_named,
    manifests,
)
from collectorfleet_operator.children.token_secret import SECRET
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.objects import Key, Kind, Object, controller_uid, name_of, namespace_of

MANIFESTS = Path(__file__).parents[4] / "operator" / "manifests" / "operator.yaml"
ROWS = pytest.mark.parametrize("row", CHILDREN, ids=str)


def verbs(kind: Kind) -> set[str]:
    """What the operator's ClusterRole allows."""
    objects: list[Any] = list(yaml.safe_load_all(MANIFESTS.read_text()))
    (role,) = (o for o in objects if (o["kind"], o["metadata"]["name"]) == ("ClusterRole", "collectorfleet-operator"))
    rules = [rule for rule in role["rules"] if kind.group in rule["apiGroups"] and kind.plural in rule["resources"]]
    return {verb for rule in rules for verb in rule["verbs"]}


# What not every fleet asks for.
OPTIONAL = {"spec.networkPolicy": {}, "metadata.labels": {names.QUEUE_LABEL: "team"}}


def built(row: Child) -> Object:
    """Of a fleet in Ray, and where that has no such child, of one without."""
    made = row.build(fleet(OPTIONAL)) or row.build(fleet({**OPTIONAL, **JOB}))
    assert made is not None
    return made


@ROWS
def test_a_child_is_built_under_the_name_by_which_it_is_found(row: Child) -> None:
    made = built(row)
    assert (made["apiVersion"], made["kind"]) == (row.kind.api_version, row.kind.kind)
    assert Key(namespace_of(made), name_of(made)) == row.key(Key("lab", "cheetah"))
    assert controller_uid(made) == "u-1"


@ROWS
def test_a_child_does_not_differ_from_itself(row: Child) -> None:
    assert row.difference(built(row), built(row)) == ""


@pytest.mark.parametrize("row", [row for row in CHILDREN if row is not WORKLOAD_CHILD], ids=str)
def test_the_operator_may_do_what_a_row_asks_of_it(row: Child) -> None:
    asked = {"get", "list", "create", "patch"} | ({"watch"} if row.change_source is ChangeSource.WATCHED else set())
    asked |= {"delete"} if row.build(fleet()) is None else set()
    assert asked <= verbs(row.kind)


def test_queues_take_rights_that_the_operator_has_only_where_it_serves_them() -> None:
    assert verbs(WORKLOAD) == set()


def test_of_secrets_the_operator_may_make_them_and_nothing_else() -> None:
    assert verbs(SECRET) == {"create"}


def test_a_fleet_has_what_its_launcher_needs_and_nothing_of_the_other() -> None:
    of_ray, of_jobs = (
        {str(row) for row in manifests(fleet(changes))} - {str(row) for row in manifests(fleet(other))}
        for changes, other in (({}, JOB), (JOB, {}))
    )
    assert of_ray == {"RayCluster FLEET"}
    assert of_jobs == {"Service FLEET-driver", "Job FLEET-collectors"}


def test_the_operator_reads_no_secret_runs_nothing_in_pods_and_gives_no_rights_that_it_lacks() -> None:
    objects: list[Any] = list(yaml.safe_load_all(MANIFESTS.read_text()))
    rules = [rule for one in objects if one["kind"] in ("ClusterRole", "Role") for rule in one["rules"]]
    resources = {resource for rule in rules for resource in rule["resources"]}
    assert {"pods", "configmaps"} <= resources
    assert not {one for one in resources if one in ("*", "serviceaccounts/token") or one.startswith("pods/")}
    assert not {verb for rule in rules for verb in rule["verbs"]} & {"*", "bind", "escalate", "impersonate"}


@pytest.mark.parametrize("kind", [FLEET, POD], ids=str)
def test_fleets_and_pods_are_followed_as_well(kind: Kind) -> None:
    assert kind in WATCHED
    assert {"list", "watch"} <= verbs(kind)


def test_what_is_watched_or_listed_often_is_listed_too() -> None:
    assert {*WATCHED, *LISTED_OFTEN, *PROVIDERS} <= set(LISTED)
    assert len(LISTED) == len(set(LISTED)) == len({row.kind for row in CHILDREN}) + 2


def test_an_event_tells_of_the_children_that_hold_quota_or_pods_and_of_no_others() -> None:
    assert {str(row) for row in CHILDREN if row.announced} == {
        "Workload FLEET",
        "Job FLEET-driver",
        "RayCluster FLEET",
        "Job FLEET-collectors",
    }


def test_only_the_timeline_is_listed_without_its_content() -> None:
    assert [str(row) for row in CHILDREN if row.metadata_alone] == ["ConfigMap FLEET-timeline"]


@ROWS
def test_a_stored_object_is_found_in_the_table_by_its_kind_and_name(row: Child) -> None:
    stored_name = "".join([*row.name("cheetah")])  # equal to the name, and another object
    assert child_named(row.kind, stored_name, "cheetah") is row
    assert child_named(row.kind, stored_name, "hopper") is None
    assert child_named(POD, stored_name, "cheetah") is None

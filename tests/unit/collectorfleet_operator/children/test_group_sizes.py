"""How large the worker groups of a RayCluster are, one or several."""

from __future__ import annotations

import pytest
from tests.unit.collectorfleet_operator.children.fleets import cluster, group

from collectorfleet_api import names
from collectorfleet_operator.children.diff import DIFFERS
from collectorfleet_operator.children.group_sizes import (
    GroupSize,
    cluster_difference,
    pods_text,
    resized,
    sizes_of,
    worker_groups,
)
from collectorfleet_operator.objects import Object

ONE = names.WORKER_GROUP


def two_groups() -> Object:
    made = cluster()
    made["spec"]["workerGroupSpecs"].append({**group(made), "groupName": "large", "replicas": 2})
    return made


def test_resizing_changes_nothing_else() -> None:
    made = cluster()
    smaller = resized(made, {ONE: GroupSize(1, ("b", "a"))})
    assert group(smaller)["scaleStrategy"] == {"workersToDelete": ["a", "b"]}
    assert resized(smaller, {ONE: GroupSize(4)}) == made


def test_groups_are_resized_by_name_and_keep_their_order() -> None:
    changed = resized(two_groups(), {"large": GroupSize(1, ("x",))})
    assert sizes_of(changed) == {ONE: GroupSize(4), "large": GroupSize(1, ("x",))}
    assert list(worker_groups(changed)) == [ONE, "large"]


def test_the_pods_of_every_group_are_told() -> None:
    assert pods_text(cluster()) == "4 worker pods for 1 collector each"
    assert pods_text(two_groups()) == (
        f"4 worker pods for 1 collector each in {ONE}, 2 worker pods for 1 collector each in large"
    )


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        pytest.param({}, "", id="nothing"),
        pytest.param({ONE: GroupSize(1)}, "from 4 to 1 worker pod for 1 collector each", id="pods"),
        pytest.param({ONE: GroupSize(4, ("a",))}, "another pod replaces a", id="names that are to go"),
    ],
)
def test_a_difference_of_size_is_told_with_both_numbers(sizes: dict[str, GroupSize], words: str) -> None:
    assert cluster_difference(cluster(), resized(cluster(), sizes)) == words


def test_names_that_have_to_vanish_are_a_difference() -> None:
    stored = resized(cluster(), {ONE: GroupSize(4, ("gone",))})
    assert cluster_difference(stored, cluster()) == DIFFERS


def test_what_kuberay_added_is_no_difference() -> None:
    stored = cluster()
    group(stored)["scaleStrategy"] = {}
    group(stored)["numOfHosts"] = 1
    assert cluster_difference(stored, cluster()) == ""

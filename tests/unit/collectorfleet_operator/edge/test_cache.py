"""What the operator last saw: three sources that overtake each other, and never older over newer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet_api import names
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.objects import Key, Object, metadata

FLEET_KEY = Key("lab", "cheetah")


def pod(name: str, version: int, fleet: str = "cheetah", uid: str = "u", namespace: str = "lab") -> Object:
    kept = {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": str(version)}
    return {"metadata": {**kept, "labels": {names.FLEET_LABEL: fleet}, "managedFields": [{}]}}


def cache() -> Cache:
    return Cache(lambda: 0.0)


def test_an_object_concerns_the_fleet_of_its_label_once() -> None:
    seen = cache()
    assert seen.put(POD, pod("p", 1)) == {FLEET_KEY}
    assert seen.put(POD, pod("p", 1)) == set()
    assert [one.name for one in seen.pods_of(FLEET_KEY)] == ["p"]


def test_a_pod_that_changes_its_label_concerns_both_fleets() -> None:
    seen = cache()
    seen.put(POD, pod("p", 1))
    assert seen.put(POD, pod("p", 2, fleet="other")) == {FLEET_KEY, Key("lab", "other")}
    assert seen.pods_of(FLEET_KEY) == []


def test_an_older_list_neither_rolls_back_nor_removes_newer_objects() -> None:
    seen = cache()
    seen.put(POD, pod("changed", 9))
    seen.put(POD, pod("made", 10))
    seen.put(POD, pod("gone", 3))
    assert seen.replace(POD, None, [pod("changed", 5)], "7") == {FLEET_KEY}
    assert [one.name for one in seen.pods_of(FLEET_KEY)] == ["changed", "made"]
    assert seen.put(POD, pod("changed", 9)) == set()


def test_a_list_of_one_namespace_says_nothing_of_others() -> None:
    seen = cache()
    seen.put(POD, pod("p", 1, namespace="elsewhere"))
    seen.replace(POD, "lab", [], "100")
    assert seen.uid(POD, Key("elsewhere", "p")) is not None


def test_news_that_another_object_of_the_name_is_gone_is_late() -> None:
    seen = cache()
    seen.put(POD, pod("p", 5, uid="new"))
    assert seen.remove(POD, pod("p", 4, uid="old")) == set()
    assert seen.uid(POD, Key("lab", "p")) is not None


def test_what_is_deleted_while_it_is_listed_stays_gone() -> None:
    seen = cache()
    seen.put(POD, pod("p", 5))
    assert seen.remove(POD, pod("p", 8)) == {FLEET_KEY}
    # Asked for at version 7, taken at 8.
    assert seen.replace(POD, None, [pod("p", 5)], "7") == set()
    assert seen.pods_of(FLEET_KEY) == []
    # It may also be heard of for the first time by its end.
    assert seen.remove(POD, pod("q", 9, uid="q")) == set()
    assert seen.put(POD, pod("q", 6, uid="q")) == set()
    # Another one of the name is another one.
    assert seen.put(POD, pod("p", 10, uid="new")) == {FLEET_KEY}


def test_an_object_whose_label_is_taken_off_and_put_back_is_there() -> None:
    seen = cache()
    seen.put(POD, pod("p", 5))
    # The watch calls both of them an end and a beginning, with the versions of the two changes.
    assert seen.remove(POD, pod("p", 6)) == {FLEET_KEY}
    assert seen.put(POD, pod("p", 5)) == set()
    assert seen.put(POD, pod("p", 7)) == {FLEET_KEY}
    # A list may be the first to tell.
    seen.remove(POD, pod("p", 8))
    assert seen.replace(POD, None, [pod("p", 9)], "9") == {FLEET_KEY}
    # And the watch, which comes behind it, tells the end before.
    assert seen.replace(POD, None, [pod("p", 11)], "11") == set()
    assert seen.remove(POD, pod("p", 10)) == set()
    assert [one.name for one in seen.pods_of(FLEET_KEY)] == ["p"]


def test_news_of_what_this_process_deleted_are_of_its_end() -> None:
    seen = cache()
    seen.put(POD, pod("p", 5))
    seen.remove(POD, pod("p", 5), by_us=True)
    # It was changed, or marked, before it went.
    assert seen.put(POD, pod("p", 6)) == set()


def test_what_is_gone_is_remembered_no_longer_than_a_list_can_be_late() -> None:
    seen = cache()
    for number in range(100):
        seen.remove(POD, pod(f"p{number}", number, uid=f"u{number}"))
    seen.replace(POD, None, [], "200")
    assert not any(seen._gone.values())


def test_a_lease_that_is_made_again_was_never_held() -> None:
    seen = cache()
    key = Key("lab", "cheetah-driver")
    held = {**pod(key.name, 2), "spec": {"holderIdentity": "driver-1", "renewTime": "12:00"}}
    seen.put(LEASE, held)
    assert seen.unchanged_for(key) == timedelta(0)
    seen.remove(LEASE, held)
    seen.put(LEASE, pod(key.name, 3, uid="new"))
    assert seen.unchanged_for(key) is None


@pytest.mark.parametrize("kind", [FLEET, JOB], ids=str)
def test_who_wrote_which_field_is_forgotten(kind: Any) -> None:
    seen = cache()
    obj = pod("cheetah", 1)
    obj["metadata"]["managedFields"] = [{"manager": "m", "time": "t", "fieldsV1": {"f:spec": {}}}]
    seen.put(kind, obj)
    stored = seen.get(kind, FLEET_KEY)
    assert stored is not None
    kept = metadata(stored).get("managedFields")
    assert kept == ([{"manager": "m", "time": "t"}] if kind == FLEET else None)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        pytest.param(POD, {"status": {"podIP": "10.0.0.1"}}, id="a pod's address"),
        pytest.param(POD, {"spec": {"schedulerName": "other"}}, id="a pod's scheduler"),
        pytest.param(LEASE, {"spec": {"renewTime": "12:01"}}, id="a renewal"),
        pytest.param(RAYCLUSTER, {"status": {"lastUpdateTime": "12:01"}}, id="KubeRay's words"),
    ],
)
def test_news_of_what_nobody_reads_concern_nobody(kind: Any, change: Object) -> None:
    seen = cache()
    assert seen.put(kind, pod("p", 1)) == {FLEET_KEY}
    assert seen.put(kind, {**pod("p", 2), **change}) == set()
    # A write that names the version names the newest all the same.
    # A write that names the version names the newest all the same. Nobody writes pods.
    stored = None if kind == POD else seen.get(kind, Key("lab", "p"))
    assert stored is None or metadata(stored)["resourceVersion"] == "2"
    # One that is made again is another one.
    assert seen.put(kind, pod("p", 3, uid="new")) == {FLEET_KEY}


def test_another_holder_of_a_lease_is_news() -> None:
    seen = cache()
    seen.put(LEASE, {**pod("p", 1), "spec": {"holderIdentity": "driver-1"}})
    assert seen.put(LEASE, {**pod("p", 2), "spec": {"holderIdentity": "driver-2"}}) == {FLEET_KEY}


def test_an_object_that_is_read_is_the_readers_own() -> None:
    seen = cache()
    seen.put(JOB, pod("p", 1))
    at = Key("lab", "p")
    metadata(seen.get(JOB, at) or {})["labels"].clear()
    assert metadata(seen.get(JOB, at) or {})["labels"] == {names.FLEET_LABEL: "cheetah"}


def test_a_pod_is_read_anew_when_it_changes() -> None:
    seen = cache()
    seen.put(POD, {**pod("p", 1), "status": {"phase": "Pending"}})
    (before,) = seen.pods_of(FLEET_KEY)
    assert seen.pods_of(FLEET_KEY)[0] is before
    seen.put(POD, {**pod("p", 2), "status": {"phase": "Running"}})
    (after,) = seen.pods_of(FLEET_KEY)
    assert (before.phase, after.phase) == ("Pending", "Running")


def test_a_pod_that_cannot_be_read_says_so() -> None:
    seen = cache()
    seen.put(POD, {**pod("p", 1), "status": {"containerStatuses": "odd"}})
    (found,) = seen.pods_of(FLEET_KEY)
    assert found.unreadable is not None
    assert found.unreadable.startswith("this operator cannot read Pod p: ")


def test_news_that_come_while_a_list_is_read_stand() -> None:
    seen = cache()
    for name, version in (("a", 1), ("b", 2), ("c", 3)):
        seen.put(POD, pod(name, version, uid=name))
    relist = seen.relist(POD, None)
    assert relist.put(pod("a", 1, uid="a")) == set()
    seen.remove(POD, pod("c", 9, uid="c"))
    seen.put(POD, pod("d", 8, uid="d"))
    relist.keep(Key("lab", "c"))
    assert relist.complete("7") == {FLEET_KEY}  # b went
    assert [one.name for one in seen.pods_of(FLEET_KEY)] == ["a", "d"]


@given(st.permutations(range(1, 6)))
def test_in_whatever_order_news_arrive_the_newest_stands(versions: list[int]) -> None:
    seen = cache()
    for version in versions:
        seen.put(JOB, pod("p", version))
    stored = seen.get(JOB, Key("lab", "p"))
    assert stored is not None
    assert metadata(stored)["resourceVersion"] == "5"

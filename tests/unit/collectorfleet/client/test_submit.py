"""What a submission makes in the cluster, and what it leaves there if a part of it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.manifests import ABSENT, manifest
from tests.unit.collectorfleet.client.folders import files, folder
from tests.unit.collectorfleet.client.played_server import PlayedServer, serving

from collectorfleet.client import ClusterError, FleetRejected, Fleets, Tree, pack
from collectorfleet.errors import InvalidOption
from collectorfleet_api.v1alpha1 import CollectorFleet

FLEET = "collectorfleets/cheetah"
BESIDE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}


@pytest.fixture
def played() -> PlayedServer:
    return PlayedServer()


@pytest.fixture
def fleets(played: PlayedServer) -> Iterator[Fleets]:
    with serving(played) as connection:
        yield Fleets(connection)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return pack(folder(tmp_path / "project", files("train.py")))


@pytest.fixture
def code(tree: Tree) -> str:
    return f"configmaps/{tree.config_map_name('cheetah')}"


def test_the_fleet_is_checked_then_its_code_is_made_then_the_fleet_and_then_the_code_has_an_owner(
    played: PlayedServer, fleets: Fleets, tree: Tree, code: str
) -> None:
    fleets.submit_tree(tree, manifest(), BESIDE)
    assert played.requests == [
        f"PATCH {FLEET} (dry run)",
        f"PATCH {code}",
        "PATCH configmaps/settings",
        f"PATCH {FLEET}",
        f"GET {FLEET}",
        f"PATCH {code}",
    ]
    assert played.objects[FLEET]["spec"]["code"] == tree.code("cheetah")
    assert [owner["uid"] for owner in played.objects[code]["metadata"]["ownerReferences"]] == [f"uid of {FLEET}"]


@pytest.mark.parametrize("namespace", [ABSENT, "lab"], ids=["no namespace", "a namespace"])
def test_a_submitted_fleet_has_the_fields_of_its_manifest_and_no_defaults(
    played: PlayedServer, fleets: Fleets, tree: Tree, namespace: object
) -> None:
    given = manifest({"metadata.namespace": namespace, "spec.collectors": {"kwargs": {}}, "spec.suspend": False})
    fleets.submit_tree(tree, CollectorFleet.parse(given))
    uid = {"uid": f"uid of {FLEET}"}
    assert played.objects[FLEET] == {
        **given,
        "metadata": {**given["metadata"], **uid},
        "spec": {**given["spec"], "code": tree.code("cheetah")},
    }


@pytest.mark.parametrize(
    "refused", [f"PATCH {FLEET} (dry run)", f"PATCH {FLEET}", "PATCH configmaps/settings", "PATCH {code}"]
)
@pytest.mark.parametrize("status", [403, 404, 422])
def test_a_submission_that_is_refused_leaves_nothing(
    played: PlayedServer, fleets: Fleets, tree: Tree, code: str, refused: str, status: int
) -> None:
    played.refusals[refused.format(code=code)] = status
    with pytest.raises(ClusterError):
        fleets.submit_tree(tree, manifest(), BESIDE)
    assert played.objects == {}


def test_a_fleet_that_cannot_be_makes_no_config_map_even_for_a_moment(
    played: PlayedServer, fleets: Fleets, tree: Tree
) -> None:
    played.refusals[f"PATCH {FLEET} (dry run)"] = 404  # the CRD is missing
    with pytest.raises(ClusterError):
        fleets.submit_tree(tree, manifest(), BESIDE)
    assert played.requests == [f"PATCH {FLEET} (dry run)"]


def test_what_was_there_before_a_refusal_stays(played: PlayedServer, fleets: Fleets, tree: Tree, code: str) -> None:
    fleets.submit(manifest(), BESIDE)
    before = set(played.objects)
    played.refusals[f"PATCH {FLEET}"] = 403
    with pytest.raises(ClusterError):
        fleets.submit_tree(tree, manifest(), BESIDE)
    assert set(played.objects) == before == {FLEET, "configmaps/settings"}


def test_code_that_is_submitted_again_always_has_an_owner(
    played: PlayedServer, fleets: Fleets, tree: Tree, code: str
) -> None:
    fleets.submit_tree(tree, manifest())
    before = dict(played.objects)
    played.refusals[f"PATCH {FLEET}"] = 403
    with pytest.raises(ClusterError):
        fleets.submit_tree(tree, manifest({"spec.collectors.replicas": 5}))
    assert played.objects == before


@pytest.mark.parametrize("status", [0, 500, 504])
def test_a_fleet_that_may_have_been_made_keeps_its_code(
    played: PlayedServer, fleets: Fleets, tree: Tree, code: str, status: int
) -> None:
    played.refusals[f"PATCH {FLEET}"] = status
    with pytest.raises(ClusterError):
        fleets.submit_tree(tree, manifest())
    assert code in played.objects


def test_a_fleet_with_an_unknown_field_leaves_no_code(played: PlayedServer, fleets: Fleets, tree: Tree) -> None:
    """The API server answers a server-side apply with an unknown field or a wrong type with status 500."""
    played.refusals[f"PATCH {FLEET}"] = 500
    played.message = "failed to create typed patch object ({name}): .spec.collection.x: field not declared in schema"
    with pytest.raises(FleetRejected, match="x: field not declared in schema"):
        fleets.submit_tree(tree, manifest())
    assert played.objects == {}


def test_a_config_map_that_cannot_be_taken_away_again_is_named(
    played: PlayedServer, fleets: Fleets, tree: Tree, code: str
) -> None:
    played.refusals |= {f"PATCH {FLEET}": 403, f"DELETE {code}": 403}
    remains = f"{FLEET} is refused; ConfigMap {code.partition('/')[2]} remains, because its deletion failed"
    with pytest.raises(ClusterError, match=remains):
        fleets.submit_tree(tree, manifest())


def of_submit(fleets: Fleets, _: Tree, *given: Any) -> None:
    fleets.submit(*given)


def of_submit_tree(fleets: Fleets, tree: Tree, *given: Any) -> None:
    fleets.submit_tree(tree, *given)


@pytest.mark.parametrize("submit", [of_submit, of_submit_tree])
@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        pytest.param((5,), InvalidOption, "fleet: 5 is an int; give a CollectorFleet or a dict", id="no fleet"),
        pytest.param((None,), InvalidOption, "fleet: the value is None; give a CollectorFleet", id="nothing"),
        pytest.param(("fleet.yaml",), InvalidOption, "fleet: 'fleet.yaml' is a str; give a Coll", id="a file"),
        pytest.param((manifest(), 5), InvalidOption, "beside: 5 is an int; give a dict", id="no ConfigMap"),
        pytest.param((manifest(), BESIDE, [BESIDE]), InvalidOption, "is a list; give a dict", id="a list of them"),
        pytest.param(({"spec": {}},), FleetRejected, "CollectorFleet: the manifest has no metadata.name", id="no name"),
        pytest.param(
            ({"metadata": "cheetah", "spec": {}},), FleetRejected, "CollectorFleet: the manifest has no", id="metadata"
        ),
        pytest.param(
            (manifest({"metadata.name": 5}),), FleetRejected, "CollectorFleet: the manifest has no", id="a number"
        ),
        pytest.param(
            (manifest(), {"data": {}}), FleetRejected, "ConfigMap: the manifest has no", id="a ConfigMap without a name"
        ),
    ],
)
def test_what_is_no_manifest_is_refused_before_a_request_changes_anything(
    played: PlayedServer, fleets: Fleets, tree: Tree, submit: Any, given: Any, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        submit(fleets, tree, *given)
    assert played.objects == {}


def test_a_manifest_that_is_nested_deeply_is_refused(played: PlayedServer, fleets: Fleets) -> None:
    value: Any = 1
    for _ in range(3000):
        value = [value]
    with pytest.raises(FleetRejected, match=r"spec\.environment\.kwargs\.a.*: nested more than 64 levels deep"):
        fleets.submit(manifest() | {"spec": {"environment": {"kwargs": {"a": value}}}})
    assert played.requests == []


def test_a_manifest_without_a_spec_is_refused_where_code_is_put_into_it(fleets: Fleets, tree: Tree) -> None:
    with pytest.raises(InvalidOption, match="spec: the manifest has no spec"):
        fleets.submit_tree(tree, {"metadata": {"name": "cheetah"}})

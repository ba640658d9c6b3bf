"""What all models of the resource share."""

from __future__ import annotations

import pytest
from tests.manifests import fleet


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("collection.framesPerBatch", 4000, id="a field"),
        pytest.param("collectors.class", "Single", id="a field by its name in manifests"),
        pytest.param("collection.stragglers.firstShares", 2, id="a field of a part"),
        pytest.param("driver.checkpoint.claimName", None, id="a field of a part that is absent"),
    ],
)
def test_a_field_is_found_by_its_path(path: str, value: object) -> None:
    assert fleet({"spec.collection.stragglers.firstShares": 2}).spec.at(path) == value


@pytest.mark.parametrize("path", ["collection.frames_per_batch", "collector.replicas", "collection.shares.first"])
def test_a_path_that_manifests_do_not_have_is_an_error(path: str) -> None:
    with pytest.raises((KeyError, AttributeError)):
        fleet({"spec.collection.shares": 2}).spec.at(path)

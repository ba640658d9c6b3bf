"""templates/crds: the chart brings the CRD that the models say, and leaves it when it goes."""

from __future__ import annotations

import pytest
from tests.cluster.binaries import ROOT
from tests.delivery.helm import Helm
from tests.delivery.operator_chart.rendering import CHART, of_kind, only, rendered

from collectorfleet_api.schema.crd import crd


def test_the_charts_copy_is_the_generated_crd() -> None:
    copy, written = CHART / "files/collectorfleets.yaml", ROOT / "crds/collectorfleets.yaml"
    assert copy.read_bytes() == written.read_bytes(), "stale: run `make generate`"


def test_the_rendered_crd_is_what_the_models_say(helm: Helm) -> None:
    found = only(rendered(helm), "CustomResourceDefinition")
    expected = crd()
    # The chart adds labels and keeps those of the CRD.
    assert expected["metadata"].pop("labels").items() <= found["metadata"].pop("labels").items()
    del found["metadata"]["annotations"]
    assert found == expected


def test_it_stays_when_the_release_goes_unless_that_is_turned_off(helm: Helm) -> None:
    kept = only(rendered(helm), "CustomResourceDefinition")
    assert kept["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    goes = only(rendered(helm, "--set", "crds.keep=false"), "CustomResourceDefinition")
    assert "annotations" not in goes["metadata"]


@pytest.mark.parametrize("keep", ["true", "false"])
def test_it_is_left_to_others_when_it_is_turned_off(helm: Helm, keep: str) -> None:
    objects = rendered(helm, "--set", f"crds.enabled=false,crds.keep={keep}")
    assert of_kind(objects, "CustomResourceDefinition") == []
    assert of_kind(objects, "Deployment")

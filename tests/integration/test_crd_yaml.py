"""Our reader of YAML and the real kubectl agree on what unquoted words mean."""

from __future__ import annotations

import json

import pytest
import yaml
from tests.cluster.control_plane import ControlPlane
from tests.manifests import manifest
from tests.unit.collectorfleet_api.manifests.test_yaml_reader import WORDS

from collectorfleet_api.manifests.files import load_manifests

pytestmark = pytest.mark.usefixtures("fleet_crd")


def test_keyword_arguments_are_the_same_on_a_cluster_and_in_a_local_run(
    control_plane: ControlPlane, namespace: str
) -> None:
    # A lone dash is YAML's own. Beyond 2^63 the server's JSON has the float's digits, cut off and filled with zeros.
    asked = [word for word in WORDS if word not in ("-", "9223372036854775808")]
    words = "\n".join(f"        k{index}: {word}" for index, word in enumerate(asked))
    text = yaml.safe_dump(manifest()).replace(
        "function: my_train:train", f"function: my_train:train\n      kwargs:\n{words}"
    )
    stored = json.loads(
        control_plane.kubectl("create", "--dry-run=server", "-o", "json", "-n", namespace, "-f", "-", input=text)
    )
    (local,) = load_manifests(text).fleets
    assert local.spec.driver.train is not None
    on_cluster = stored["spec"]["driver"]["train"]["kwargs"]
    assert len(on_cluster) == len(asked)
    assert repr(sorted(local.spec.driver.train.kwargs.items())) == repr(sorted(on_cluster.items()))

"""What of a fleet's options only torch and TorchRL can say."""

from __future__ import annotations

import inspect

import pytest
import torch
from tests.cluster.binaries import ROOT
from tests.manifests import fleet
from torchrl.envs.utils import ExplorationType

from collectorfleet import FleetCollector
from collectorfleet.run.collector_options import collector_options
from collectorfleet.run.torch_options import torch_options
from collectorfleet_api import v1alpha1 as api


@pytest.mark.parametrize("asked", list(api.ExplorationType))
def test_torchrl_explores_as_the_manifest_says(asked: api.ExplorationType) -> None:
    changes = {"spec.collection.explorationType": asked.value}
    assert torch_options(fleet(changes).spec) == {"exploration_type": ExplorationType[asked.name]}


@pytest.mark.parametrize("asked", list(api.WeightsDtype))
def test_weights_travel_as_the_type_that_the_manifest_says(asked: api.WeightsDtype) -> None:
    found = torch_options(fleet({"spec.weights.dtype": asked.value}).spec)["weights_dtype"]
    assert found is getattr(torch, asked.lower())


def test_a_manifest_that_says_nothing_means_what_the_collector_does_by_default() -> None:
    spec = fleet({"spec.collectors.replicas": 1, "spec.collection.mode": "Async"}).spec
    found = collector_options(spec, gpu_per_collector=0) | torch_options(spec)
    defaults = {name: p.default for name, p in inspect.signature(FleetCollector.__init__).parameters.items()}
    differing = {name for name, value in found.items() if value != defaults[name]}
    assert differing == {
        *("create_env_fn", "frames_per_batch", "num_collectors", "remote_configs"),
        # With a training function the weights follow each batch.
        "update_after_each_batch",
        # A string here, a class there.
        "collector_class",
    }


def test_the_page_on_options_names_every_argument_of_the_collector() -> None:
    page = (ROOT / "docs/options.md").read_text()
    arguments = inspect.signature(FleetCollector.__init__).parameters.keys() - {"self"}
    assert {name for name in arguments if f"`{name}`" not in page} == set()

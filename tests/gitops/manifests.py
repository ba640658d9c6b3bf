"""What the tests commit, and the manifests of examples/gitops as they apply them."""

from __future__ import annotations

from typing import Any

import yaml
from tests.cluster.binaries import ROOT
from tests.cluster.client import Object
from tests.e2e import fleets

EXAMPLES = ROOT / "examples/gitops"
OPERATOR = "collectorfleet-operator"
OPERATOR_NAMESPACE = "collectorfleet-system"


def example(name: str) -> Object:
    """A manifest of examples/gitops."""
    found: Object = yaml.safe_load((EXAMPLES / name).read_text())
    return found


def fleet(name: str = "fleet", *, claim: str | None = None, **options: Any) -> Object:
    """A small fleet that leaves its number of collectors to ``kubectl scale``."""
    train = "workload:train_and_keep" if claim else "workload:train"
    made = fleets.fleet(name, **({"train": train} | options))
    del made["spec"]["collectors"]["replicas"]
    if claim:
        made["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": 1}
    return made


def impossible(name: str, **options: Any) -> Object:
    """A fleet that the API server takes, and of which the operator says why it cannot be run."""
    made = fleet(name, **options)
    made["spec"]["driver"]["resources"]["memory"] = "10k"
    return made


def refused(name: str) -> Object:
    """A fleet that the API server refuses: no GPU has room for four collectors of 0.3."""
    made = fleet(name)
    made["spec"]["collectors"]["resources"]["gpu"] = 0.3
    made["spec"]["workers"] = {"collectorsPerPod": 4}
    return made

"""What the chart's policy keeps drivers from writing is what the operator writes, whatever is added to the status."""

from __future__ import annotations

import re

from tests.cluster.binaries import ROOT

from collectorfleet_api.v1alpha1.report import DriverReport
from collectorfleet_api.v1alpha1.status import OperatorStatus

TEMPLATE = ROOT / "charts/collectorfleet-operator/templates/statuspolicy.yaml"


def wire_names(model: type[DriverReport | OperatorStatus]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def test_it_names_all_that_the_operator_writes_and_nothing_that_a_driver_does() -> None:
    (named,) = re.findall(r"range list (.*?) }}", TEMPLATE.read_text())
    assert set(re.findall(r'"(\w+)"', named)) == wire_names(OperatorStatus) - wire_names(DriverReport)

"""The README of the chart says what the values say."""

from __future__ import annotations

import re

import pytest
import yaml
from tests.cluster import binaries
from tests.delivery import chart_readme
from tests.delivery.operator_chart.rendering import CHART

README = (CHART / "README.md").read_text()


def test_it_is_written_from_the_values() -> None:
    if reason := binaries.missing([binaries.HELM_DOCS]):
        pytest.skip(f"left out the test of the chart's README: {reason}")
    assert chart_readme.readme() == README, "stale: run `make generate`"


def test_every_value_is_described() -> None:
    rows = dict(re.findall(r"^\| (\S+) \| [a-z]+ \| .+ \| (.*) \|$", README, re.MULTILINE))
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert {path.partition(".")[0] for path in rows} == set(values)
    assert [path for path, description in rows.items() if len(description.strip()) < 10] == []

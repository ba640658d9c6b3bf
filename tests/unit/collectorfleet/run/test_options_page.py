"""The page on arguments names the fields that the table of arguments has."""

from __future__ import annotations

import re

import pytest
from tests.cluster.binaries import ROOT

from collectorfleet.run.collector_options import ARGUMENTS
from collectorfleet_api.schema.crd import schema

PAGE = (ROOT / "docs/fleet-collector.md").read_text()
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line.startswith("| `")]
NAMED = re.compile(r"`([\w.]+)`")


def fields_of(argument: str) -> list[str]:
    """What the page says to write in a manifest for an argument."""
    return [field for row in ROWS if argument in NAMED.findall(row[0]) for field in NAMED.findall(row[1])]


@pytest.mark.parametrize(("path", "argument"), [(path, row.argument) for path, row in ARGUMENTS.items()])
def test_the_page_leads_from_each_argument_to_its_field(path: str, argument: str) -> None:
    below = (f"{path}.factory", f"{path}.kwargs")
    assert [field for field in fields_of(argument) if f"{path}.".startswith(f"{field}.") or field in below]


@pytest.mark.parametrize("field", sorted({field for row in ROWS for field in NAMED.findall(row[1])}))
def test_each_field_on_the_page_is_one_of_manifests(field: str) -> None:
    node = schema()["properties"]["spec"]
    for part in field.split("."):
        node = node["properties"][part]

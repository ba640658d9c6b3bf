"""The page that leads from arguments to fields says what the table of arguments does."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from tests.cluster.binaries import ROOT

from collectorfleet.fleet.options import FleetOptions
from collectorfleet.run.collector_options import ARGUMENTS
from collectorfleet_api.schema.crd import schema

# What other classes call their arguments comes behind.
PAGE = (ROOT / "docs/options.md").read_text().split("## Code that uses another class")[0]
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line.startswith("| `")]
NAMED = re.compile(r"`([\w.]+)`")


def fields_of(argument: str) -> list[str]:
    """What the page says to write in a manifest for an argument."""
    return [field for row in ROWS if argument in NAMED.findall(row[0]) for field in NAMED.findall(row[1])]


@pytest.mark.parametrize(("path", "argument"), [(path, row.argument) for path, row in ARGUMENTS.items()])
def test_the_page_leads_from_each_argument_to_its_field(path: str, argument: str) -> None:
    below = (f"{path}.factory", f"{path}.kwargs")
    assert [field for field in fields_of(argument) if f"{path}.".startswith(f"{field}.") or field in below]


def test_the_page_names_every_argument_once_and_nothing_else() -> None:
    without_a_field = PAGE[PAGE.index("Without a field:") :]
    named = [name for row in ROWS for name in NAMED.findall(row[0])]
    named += [name for name in NAMED.findall(without_a_field) if name not in ("weights",)]
    assert sorted(named) == sorted(field.name for field in fields(FleetOptions))


@pytest.mark.parametrize("field", sorted({field for row in ROWS for field in NAMED.findall(row[1])}))
def test_each_field_on_the_page_is_one_of_manifests(field: str) -> None:
    node = schema()["properties"]["spec"]
    for part in field.split("."):
        node = node["properties"][part]

from __future__ import annotations

from pathlib import Path

from collectorfleet_api.schema.reference import page

WRITTEN = Path(__file__).parents[4] / "docs" / "reference.md"


def test_the_written_reference_is_what_the_models_say() -> None:
    assert WRITTEN.read_text() == page(), "stale: run `make generate`"


def test_each_status_field_stands_under_its_writer() -> None:
    operator, driver = page().split("## status, by the driver")
    assert "`status.conditions[].reason`" in operator
    assert "`status.weights.acknowledged`" in driver
    assert "`status.weights.acknowledged`" not in operator

"""The values of the fleet chart that are written from the examples."""

from __future__ import annotations

import yaml
from examples.values import FOLDER, WRITTEN, pages, values


def test_every_example_is_written_as_values_and_the_written_ones_are_no_older() -> None:
    assert {path.stem for path in pages()} == {f"{path.stem}-values" for path in FOLDER.glob("*.yaml")}
    for path, text in pages().items():
        assert path.read_text() == text, f"{path} is stale; run `make generate`"


def test_code_beside_a_fleet_is_given_as_code_and_not_by_name() -> None:
    found = yaml.safe_load((WRITTEN / "cartpole-values.yaml").read_text())
    assert "code" not in found["fleet"]
    assert found["code"] == {"cartpole.py": (FOLDER / "cartpole" / "cartpole.py").read_text()}


def test_a_fleet_whose_code_is_elsewhere_keeps_what_it_says() -> None:
    assert values("kind: CollectorFleet\nspec: {code: {configMap: theirs}}\n") == {
        "fleet": {"code": {"configMap": "theirs"}}
    }

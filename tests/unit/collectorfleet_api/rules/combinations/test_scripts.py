"""What the CRD lets through beside a script: fields that are absent, empty or at the default that the server stores."""

from __future__ import annotations

import pytest

from collectorfleet_api.rules.combinations.scripts import OF_THE_SCRIPT, SCRIPTS

CEL = {one.field: one.cel for one in SCRIPTS if one.name.endswith("-is-the-scripts")}


def test_each_field_of_a_script_but_the_output_has_a_rule() -> None:
    assert set(CEL) == set(OF_THE_SCRIPT) - {"output"}


@pytest.mark.parametrize(
    ("field", "part"),
    [
        ("environment", "(!has(self.environment))"),
        ("collectors.class", "(self.collectors.class == 'Single')"),
        ("collectors.devices", "(!has(self.collectors.devices.device) && "),
        ("collectors.noCudaSync", "(!has(self.collectors.noCudaSync))"),
        ("weights", "(self.weights.updateAfterEachBatch == true && "),
        ("weights", " && (!has(self.weights.models) || self.weights.models.size() == 0) && "),
        ("weights", " && !has(self.weights.dtype) && "),
        ("collection", "(self.collection.mode == 'Sync' && !has(self.collection.framesPerBatch) && "),
        ("collection", " && self.collection.exactStaleness == false && "),
        ("collection", " && self.collection.copy == true)"),
    ],
)
def test_a_field_that_says_nothing_passes_by_its_default(field: str, part: str) -> None:
    assert CEL[field].startswith("!has(self.driver.script) || (")
    assert part in CEL[field]


def test_the_transport_is_the_fleets() -> None:
    assert "transport" not in CEL["collection"]


@pytest.mark.parametrize(
    ("name", "cel"),
    [
        ("environment-without-a-script", "has(self.driver.script) || has(self.environment)"),
        (
            "collection-frames-per-batch-without-a-script",
            "has(self.driver.script) || has(self.collection.framesPerBatch)",
        ),
        ("not-train-and-script", "!(has(self.driver.script) && has(self.driver.train))"),
    ],
)
def test_without_a_script_the_manifest_says_it(name: str, cel: str) -> None:
    assert [one.cel for one in SCRIPTS if one.name == name] == [cel]

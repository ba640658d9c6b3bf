"""What is left of a status that the installed CRD does not know all of."""

from __future__ import annotations

import pytest

from collectorfleet_operator.edge.status_writer import drop
from collectorfleet_operator.objects import Object


@pytest.mark.parametrize(
    ("path", "left"),
    [
        (".status.phase", {"driver": {"pod": "p"}, "conditions": [{"type": "A", "colour": "red"}, {"type": "B"}]}),
        (
            ".status.driver.pod",
            {"phase": "x", "driver": {}, "conditions": [{"type": "A", "colour": "red"}, {"type": "B"}]},
        ),
        (
            '.status.conditions[type="A"].colour',
            {"phase": "x", "driver": {"pod": "p"}, "conditions": [{"type": "A"}, {"type": "B"}]},
        ),
    ],
)
def test_an_unknown_field_is_left_out_wherever_it_stands(path: str, left: Object) -> None:
    status = {"phase": "x", "driver": {"pod": "p"}, "conditions": [{"type": "A", "colour": "red"}, {"type": "B"}]}
    assert drop(status, path)
    assert status == left
    assert not drop(status, path)

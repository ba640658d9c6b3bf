"""What is left of a status that the installed CRD does not know all of."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from collectorfleet_api.v1alpha1 import OperatorStatus, Phase
from collectorfleet_operator.edge.errors import UndeclaredFieldError
from collectorfleet_operator.edge.status_writer import TRY_AGAIN_SECONDS, StatusWriter, drop
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


def test_an_odd_path_of_an_unknown_field_does_not_delay_the_operator() -> None:
    assert not drop({"phase": "x"}, ".status." + "[" * 4_000_000)  # with backtracking, hours


class OlderCrd:
    """Takes no status with a phase."""

    def __init__(self) -> None:
        self.asked: list[Object] = []

    async def apply_status(self, seen: Object, status: Object) -> Object:
        self.asked.append(status.copy())
        if "phase" in status:
            raise UndeclaredFieldError("apply", "no such field", ".status.phase")
        return {**seen, "status": status}


def test_a_field_that_was_left_out_is_tried_again_after_a_while() -> None:
    crd, now = OlderCrd(), [0.0]
    kube: Any = crd
    writer = StatusWriter(kube, lambda: now[0])
    new = OperatorStatus(phase=Phase.COLLECTING, replicas=2)
    for seconds in (0.0, 1.0, TRY_AGAIN_SECONDS):
        now[0] = seconds
        asyncio.run(writer.write({"status": {}}, new))
    assert ["phase" in status for status in crd.asked] == [True, False, False, True, False]

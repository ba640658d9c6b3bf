"""Whether a driver takes up where an earlier driver ended, and where its work is kept."""

from __future__ import annotations

from typing import Any

import pytest
from tests.manifests import ABSENT, fleet

from collectorfleet_operator.decide.resuming import kept_at, resumes

CHECKPOINT = {"spec.driver.checkpoint": {"claimName": "runs", "subPath": "a"}}
GATHER = {"spec.driver.train": ABSENT, "spec.output": {"path": "/data"}}


@pytest.mark.parametrize(
    ("changes", "is_resumed", "where"),
    [
        ({}, False, None),
        ({"spec.output": {"path": "/data"}}, False, "/data"),
        ({"spec.driver.train": ABSENT}, False, None),
        (GATHER, True, "/data"),
        (CHECKPOINT, True, ("runs", "a")),
        ({**GATHER, **CHECKPOINT}, True, ("runs", "a")),
    ],
    ids=["training", "training with an output", "neither", "output", "checkpoint", "both"],
)
def test_a_driver_resumes_from_a_checkpoint_or_behind_its_output_if_it_does_not_train(
    changes: dict[str, Any], is_resumed: bool, where: object
) -> None:
    spec = fleet(changes).spec
    assert resumes(spec) is is_resumed
    assert kept_at(spec) == where

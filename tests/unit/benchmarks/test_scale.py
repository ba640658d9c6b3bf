"""The actors of the scale benchmark are asked what a collector's actor is asked."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from benchmarks.scale.real import Idle

from collectorfleet.transport.ray.actor import CollectorActor


def parameters(of: type[Any], method: str) -> list[str]:
    return list(inspect.signature(getattr(of, method)).parameters)


@pytest.mark.parametrize("method", [name for name in vars(Idle) if not name.startswith("_")] + ["__init__"])
def test_they_take_what_a_collectors_actor_takes(method: str) -> None:
    assert parameters(Idle, method) == parameters(CollectorActor, method)

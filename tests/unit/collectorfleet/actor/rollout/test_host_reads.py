"""Steps of environments on a device read no tensor on the host, which would wait for the device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import torch
from tests.unit.collectorfleet.actor.rollout.cases import TENSORS, bounded_policy
from tests.unit.collectorfleet.actor.rollout.sides import Asked, sides
from torch.utils._python_dispatch import TorchDispatchMode

from collectorfleet.actor.rollout.device_loop import DeviceLoop
from collectorfleet.actor.rollout.policies import Policy


class Waits(TorchDispatchMode):
    """Notes what makes the host wait where a tensor is on a GPU: what reads a number, or has a shape of numbers."""

    _WAITING = ("_local_scalar_dense", "is_nonzero", "nonzero", "equal", "masked_select", "_unique2", "unique_dim")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.removeprefix("aten::")
        by_mask = name in ("index", "index_put_") and any(
            one is not None and one.dtype is torch.bool for one in args[1]
        )
        if by_mask or name in self._WAITING:
            self.found.append(name)
        return func(*args, **(kwargs or {}))


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Waits]:
    """Watch from the first step of a rollout to its last."""
    waits = Waits()
    end, begin = DeviceLoop._end, Policy.begin

    def begun(self: Policy) -> None:
        begin(self)
        waits.__enter__()

    def ended(self: DeviceLoop, *given: Any) -> None:
        waits.__exit__(None, None, None)
        end(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Policy, "begin", begun)
        patch.setattr(DeviceLoop, "_end", ended)
        yield waits


@pytest.mark.parametrize("draws", [False, True], ids=["computes", "draws"])
@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("reset by the mask", 0),
        ("resets itself", 0),
        ("transformed", 0),
        ("truncated", 0),
        ("reset by the host", 1),
        ("normal", 3),
    ],
)
def test_no_step_reads_on_the_host_unless_that_is_said(
    monkeypatch: pytest.MonkeyPatch, name: str, waits: int, draws: bool
) -> None:
    _, ours = sides(TENSORS[name], partial(bounded_policy, draws=draws), 24)
    ours.run(Asked(4))  # the first step compares
    with watched(monkeypatch) as seen:
        ours.run(Asked(12))
    assert len(seen.found) == 12 * waits, seen.found

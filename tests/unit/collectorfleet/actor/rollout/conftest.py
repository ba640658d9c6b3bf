"""A fixture for tests of recorded steps."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.unit.collectorfleet.actor.rollout.recorded_graphs import Pretended
from torchrl.collectors import Collector

from collectorfleet.actor.rollout import find, recording


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[Pretended]:
    """Return the graphs recorded from now on, by a recorder that needs no GPU."""
    found: list[Pretended] = []

    def capture(call: Callable[[], recording.Values], device: torch.device) -> Pretended:
        assert device.type == "cpu"
        found.append(Pretended(call))
        return found[-1]

    monkeypatch.setattr(recording, "capture", capture)
    monkeypatch.setattr(find, "is_recorded", lambda collector: collector.cudagraphed_policy)
    # TorchRL's recorder changes how torch computes, in all of the process.
    monkeypatch.setattr(Collector, "_compile_wrapped_policy", lambda _, policy: policy)
    return found

"""What of a fleet with learners is in the state of a checkpoint."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from collectorfleet.run.spec_learners.run_learners import KeptParts


def policy(**widths: int) -> nn.Module:
    made = nn.Module()
    for name, width in widths.items():
        setattr(made, name, nn.Linear(1, width))
    return made


def test_parts_that_stay_go_on_whoever_comes_and_goes() -> None:
    before, after = policy(red=1, blue=1), policy(red=1, green=1)
    new = after.green.weight.clone()
    KeptParts(after).load_state_dict(KeptParts(before).state_dict())
    assert torch.equal(after.red.weight, before.red.weight)
    assert torch.equal(after.green.weight, new)


def test_a_part_of_another_shape_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="size mismatch for red"):
        KeptParts(policy(red=2)).load_state_dict(policy(red=1).state_dict())

"""How writes into a tensor are found by its bytes."""

from __future__ import annotations

import math

import pytest
import torch

from collectorfleet.actor.rollout.ownership import same_bytes

NAN = torch.tensor([math.nan])
OTHER_NAN = torch.tensor([0x7FC00001], dtype=torch.int32).view(torch.float32)

SAME = {
    "NaN": (NAN, NAN),
    "complex NaN": (torch.complex(NAN, NAN), torch.complex(NAN, NAN)),
    "no entry": (torch.zeros(0, 3), torch.zeros(0, 3)),
    "one number": (torch.tensor(1.5), torch.tensor(1.5)),
    "another layout in memory": (torch.ones(3, 2).t(), torch.ones(2, 3)),
    "an expanded row": (torch.ones(3).expand(2, 3), torch.ones(2, 3)),
    "a conjugate": (torch.tensor([1 - 2j]).conj(), torch.tensor([1 + 2j])),
    "bfloat16": (torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.bfloat16)),
    "float8": (torch.ones(2).to(torch.float8_e4m3fn), torch.ones(2).to(torch.float8_e4m3fn)),
    "flags": (torch.tensor([True, False]), torch.tensor([True, False])),
}
DIFFERENT = {
    "the sign of zero": (torch.tensor([0.0]), torch.tensor([-0.0])),
    "the bits of NaN": (NAN, OTHER_NAN),
    "the sign of a complex zero": (torch.tensor([complex(0, 0)]), torch.tensor([complex(0, -0.0)])),
    "a number": (torch.tensor([1, 2]), torch.tensor([1, 3])),
}


@pytest.mark.parametrize("case", SAME)
def test_tensors_with_the_same_bytes_are_unchanged(case: str) -> None:
    one, other = SAME[case]
    assert same_bytes(one, other.clone())


@pytest.mark.parametrize("case", DIFFERENT)
def test_tensors_with_other_bytes_are_changed(case: str) -> None:
    one, other = DIFFERENT[case]
    assert not same_bytes(one, other.clone())

"""Attributes and modes of the policy do not travel with its weights: a publish says so when they changed."""

from __future__ import annotations

import logging

import pytest
import torch
from torch import nn

from collectorfleet.fleet.weights import WeightsSource


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(2, 2)
        self.noise = nn.Dropout(0.5)
        self.temperature = 1.0
        self._calls = 0
        self.names = ["a"]


def source(policy: object) -> WeightsSource:
    return WeightsSource(policy, {}, dtype=None, names=None)


INSTEAD = (
    "the collectors keep the value that the policy was built with. Only parameters and buffers are published; "
    "register changing values as buffers, and call train() or eval() before you pass the policy"
)


def test_changed_attributes_and_modes_are_told_once_at_the_publish(caplog: pytest.LogCaptureFixture) -> None:
    policy = Policy()
    published = source(policy)
    with caplog.at_level(logging.WARNING, "collectorfleet"):
        published.take()
        assert caplog.messages == []
        policy.temperature = 0.5
        policy.eval()
        policy.noise.p = 0.1
        published.take()
        assert caplog.messages == [
            f"policy: training is False here and True in the collectors, and of 2 more modules; {INSTEAD}",
            f"policy: temperature is 0.5 here and 1.0 in the collectors; {INSTEAD}",
            f"policy: noise.p is 0.1 here and 0.5 in the collectors; {INSTEAD}",
        ]
        published.take()
        published.take({"head.bias": torch.zeros(2)})
        assert len(caplog.messages) == 3


def test_new_attributes_are_told_and_what_is_no_plain_value_is_not(caplog: pytest.LogCaptureFixture) -> None:
    policy = Policy()
    published = source(policy)
    with caplog.at_level(logging.WARNING, "collectorfleet"):
        policy._calls = 5
        policy.names = ["b"]
        policy.head.weight.data.fill_(1.0)
        policy.head.bias.requires_grad_(False)
        published.take()
        assert caplog.messages == []
        policy.head.scale = "log"  # type: ignore[assignment]
        published.take()
        assert caplog.messages == [f"policy: head.scale is 'log' here and absent in the collectors; {INSTEAD}"]


def test_modes_that_are_back_before_the_publish_are_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    policy = Policy()
    published = source(policy)
    with caplog.at_level(logging.WARNING, "collectorfleet"):
        policy.eval()
        policy.train()
        published.take()
        assert caplog.messages == []


@pytest.mark.parametrize("policy", [None, len])
def test_a_policy_that_is_no_module_has_nothing_to_compare(policy: object) -> None:
    assert source(policy).take({"value": torch.zeros(1)}) is not None


def test_an_attribute_that_became_an_array_is_told_too(caplog: pytest.LogCaptureFixture) -> None:
    policy = Policy()
    published = source(policy)
    policy.temperature = torch.ones(3)  # type: ignore[assignment]
    with caplog.at_level(logging.WARNING, "collectorfleet"):
        published.take()
    assert caplog.messages == [
        f"policy: temperature is a tensor of shape [3] here and 1.0 in the collectors; {INSTEAD}"
    ]


class Scaled(nn.Module):
    def __init__(self, scale: torch.Tensor) -> None:
        super().__init__()
        self.head = nn.Linear(2, 2)
        self.scale = scale
        self.normed: torch.Tensor | None = None

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        self.normed = self.head.weight / self.head.weight.norm()
        return self.normed @ values


ONE = "is 0.5 here and 1.0 in the collectors"
THREE = "has other values here than in the collectors"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    ("shape", "said"), [((), ONE), ((1,), ONE), ((3,), THREE)], ids=["one", "a list of one", "three"]
)
@pytest.mark.parametrize("in_place", [True, False], ids=["written in place", "another tensor"])
def test_a_changed_tensor_that_is_no_buffer_is_told_once(
    caplog: pytest.LogCaptureFixture, dtype: torch.dtype, shape: tuple[int, ...], said: str, in_place: bool
) -> None:
    policy = Scaled(torch.ones(shape, dtype=dtype))
    published = source(policy)
    with caplog.at_level(logging.WARNING, "collectorfleet"):
        published.take()
        policy.scale.mul_(1.0)
        published.take()
        policy.scale = policy.scale.clone()
        published.take()
        assert caplog.messages == []
        if in_place:
            policy.scale.mul_(0.5)
        else:
            policy.scale = policy.scale * 0.5
        published.take()
        published.take()
    assert caplog.messages == [f"policy: scale {said}; {INSTEAD}"]


def test_tensors_that_a_module_computes_are_not_told(caplog: pytest.LogCaptureFixture) -> None:
    policy = Scaled(torch.ones(()))
    policy(torch.ones(2))
    published = source(policy)
    with caplog.at_level(logging.WARNING, "collectorfleet"):
        torch.nn.init.ones_(policy.head.weight)
        policy(torch.ones(2))
        policy.cache = torch.ones(2)
        published.take()
    assert caplog.messages == []


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(0),
        torch.ones(2, dtype=torch.complex64),
        torch.ones(2, device="meta"),
        torch.ones(2).to_sparse(),
        torch.ones(4, 4).t(),
    ],
    ids=["empty", "complex", "meta", "sparse", "transposed"],
)
def test_an_unusual_tensor_is_no_error(caplog: pytest.LogCaptureFixture, tensor: torch.Tensor) -> None:
    published = source(Scaled(tensor))
    with caplog.at_level(logging.WARNING, "collectorfleet"):
        published.take()
    assert caplog.messages == []


def test_a_tensor_of_inference_mode_is_compared(caplog: pytest.LogCaptureFixture) -> None:
    with torch.inference_mode():
        policy = Scaled(torch.ones(()))
    published = source(policy)
    with caplog.at_level(logging.WARNING, "collectorfleet"):
        published.take()
        with torch.inference_mode():
            policy.scale.mul_(0.5)
        published.take()
    assert caplog.messages == [f"policy: scale {ONE}; {INSTEAD}"]

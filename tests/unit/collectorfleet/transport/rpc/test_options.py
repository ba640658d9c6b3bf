"""What of TensorPipe, and of GPUs, a user may set."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from collectorfleet.transport.rpc.options import TensorPipeOptions, cuda_visible_devices


def test_options_of_the_reference_are_taken_and_those_that_are_left_out_have_our_defaults() -> None:
    given = {"rpc_timeout": 10_000, "_transports": ["uv"]}
    assert TensorPipeOptions.of(given).arguments() == {
        "num_worker_threads": 16,
        "rpc_timeout": 10_000,
        "_transports": ["uv"],
        "_channels": None,
    }
    assert TensorPipeOptions.of(None) == TensorPipeOptions.of({})


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        (None, None),
        (1, "1"),
        ("cuda:2", "2"),
        (torch.device("cuda", 3), "3"),
        ([0, "cuda:1"], "0,1"),
        ("cpu", ""),
    ],
)
def test_an_entry_says_which_gpus_a_process_sees(entry: Any, value: str | None) -> None:
    assert cuda_visible_devices(entry) == value


@pytest.mark.parametrize("entry", ["cuda", "mps", -1, 0.5])
def test_what_is_no_gpu_with_a_number_is_no_entry(entry: Any) -> None:
    with pytest.raises(ValueError, match="is not a GPU with a number"):
        cuda_visible_devices(entry)

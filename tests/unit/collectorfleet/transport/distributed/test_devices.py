"""Which GPUs the process of a collector sees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet.errors import InvalidOption
from collectorfleet.transport.distributed.devices import visible_devices
from collectorfleet_api.packing.pods import UNITS_PER_GPU


@pytest.mark.parametrize(
    ("gpus", "seen"),
    [
        pytest.param(0.25, ["0", "0", "0", "0", "1"], id="four to a GPU"),
        pytest.param(0.4, ["0", "0", "1", "1", "2"], id="no share spans two"),
        pytest.param(1, ["0", "1", "2", "3", "4"], id="one each"),
        pytest.param(2, ["0,1", "2,3", "4,5", "6,7", "8,9"], id="two each"),
    ],
)
def test_collectors_of_a_machine_share_its_gpus_as_their_pod_was_packed(gpus: float, seen: list[str]) -> None:
    assert [visible_devices(position, gpus, None) for position in range(5)] == seen


def test_without_gpus_nothing_is_said_of_them() -> None:
    assert visible_devices(3, 0, "GPU-1") is None


def test_a_machine_that_sees_some_gpus_gives_those() -> None:
    assert visible_devices(2, 0.5, "4,GPU-ab") == "GPU-ab"
    assert visible_devices(0, 2, "4,GPU-ab") == "4,GPU-ab"


@pytest.mark.parametrize(("position", "gpus"), [(2, 0.5), (1, 1), (0, 2)])
def test_a_machine_that_sees_fewer_than_its_collectors_need_is_told(position: int, gpus: float) -> None:
    needed = f"with {gpus:g} GPU each, collector {position + 1} of a machine needs GPU number 2"
    with pytest.raises(InvalidOption, match=f"{needed}, but CUDA_VISIBLE_DEVICES=GPU-1 lists only 1; list"):
        visible_devices(position, gpus, "GPU-1")
    with pytest.raises(InvalidOption, match="CUDA_VISIBLE_DEVICES= lists only 0"):
        visible_devices(position, gpus, "")


@given(units=st.integers(1, UNITS_PER_GPU), position=st.integers(0, 500))
def test_a_gpu_is_never_given_to_more_than_it_has_shares_for(units: int, position: int) -> None:
    of = [visible_devices(other, units / UNITS_PER_GPU, None) for other in range(position + 1)]
    assert of.count(of[-1]) * units <= UNITS_PER_GPU

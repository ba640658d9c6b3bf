"""What a run on this machine makes of the GPUs that a cluster's manifest asks for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collectorfleet.local.gpus import GpuShare, gpu_share
from collectorfleet_api.v1alpha1 import Collectors, Resources


def asks(gpu: float, replicas: int = 4) -> Collectors:
    return Collectors(replicas=replicas, resources=Resources(gpu=gpu))


def test_a_fleet_without_gpus_needs_none() -> None:
    assert gpu_share(asks(0), gpus=0) == GpuShare(0)


def test_what_fits_is_taken_as_it_stands() -> None:
    assert gpu_share(asks(0.25), gpus=1) == GpuShare(0.25)
    assert gpu_share(asks(2, replicas=2), gpus=4) == GpuShare(2)


def test_a_machine_without_gpus_runs_on_the_cpu_and_says_so() -> None:
    share = gpu_share(asks(0.25), gpus=0)
    assert share == GpuShare(
        0,
        "collectors.resources.gpu is 0.25 for 4 collectors, and this machine has no GPU: collectors run on the CPU",
    )


def test_too_few_gpus_are_shared_equally() -> None:
    share = gpu_share(asks(1), gpus=1)
    assert share.per_collector == 0.25
    assert "this machine has 1: each gets 0.25" in share.note


@given(gpu=st.sampled_from([0.1, 0.3, 0.3333, 0.5, 1.0, 2.0]), replicas=st.integers(1, 50), gpus=st.integers(1, 8))
def test_whatever_is_given_can_be_placed(gpu: float, replicas: int, gpus: int) -> None:
    share = round(gpu_share(asks(gpu, replicas), gpus).per_collector * 10_000)
    assert share > 0
    room = gpus * 10_000 // share if share > 10_000 else gpus * (10_000 // share)
    assert room >= replicas

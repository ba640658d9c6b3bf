"""A policy on another device than its frames says what TorchRL's says there."""

from __future__ import annotations

from tests.forks.program import run
from tests.unit.collectorfleet.actor.rollout import on_a_device, tensors_on_a_device


def test_frames_are_torchrls_and_come_from_the_cpu_and_without_cuda_no_graph_is_recorded() -> None:
    # Torch keeps the device that is pretended for as long as the process lives.
    done = run(["-m", on_a_device.__name__], timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.count("equal: ") == len(on_a_device.CASES)
    assert "recorded nothing without CUDA" in done.stdout
    assert "without CUDA device available" in done.stderr


def test_environments_of_tensors_on_another_device_give_the_frames_of_the_cpu() -> None:
    done = run(["-m", tensors_on_a_device.__name__], timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.count("equal: ") == len(tensors_on_a_device.CASES)

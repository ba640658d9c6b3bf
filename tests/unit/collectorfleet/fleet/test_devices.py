"""What leaves a process with a GPU can be read in one without."""

from __future__ import annotations

from tests.forks.program import run
from tests.unit.collectorfleet.fleet import on_a_device


def test_policies_and_written_frames_of_another_device_travel_on_the_cpu() -> None:
    # Torch keeps the device that is pretended for as long as the process lives.
    done = run(["-m", on_a_device.__name__], timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split("\n")[:2] == ["sent from the CPU", "written from the CPU"]

"""``collectorfleet drive``: for the operator to start, not for people."""

from __future__ import annotations

import subprocess
import sys

from tests.cluster.binaries import ROOT


def test_a_driver_outside_of_its_pod_says_what_to_use_instead() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "collectorfleet.cli", "drive"],
        env={"PYTHONPATH": f"{ROOT}/crds:{ROOT}/collector_image"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "COLLECTORFLEET_NAME" in done.stderr
    assert "`collectorfleet run FILE` runs a fleet on this machine" in done.stderr

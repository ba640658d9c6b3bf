"""``collectorfleet drive``: for the operator to start, not for people."""

from __future__ import annotations

import subprocess
import sys

from tests.cluster.binaries import ROOT


def drive(**env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "collectorfleet.cli", "drive"],
        env={"PYTHONPATH": f"{ROOT}/crds:{ROOT}/collector_image", **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_driver_outside_of_its_pod_says_what_to_use_instead() -> None:
    done = drive()
    assert done.returncode == 1
    assert "COLLECTORFLEET_NAME" in done.stderr
    assert "`collectorfleet run FILE` runs a fleet on this machine" in done.stderr


def test_a_format_of_log_lines_that_there_is_not_is_the_users_to_change() -> None:
    done = drive(COLLECTORFLEET_LOG_FORMAT="jsn")
    assert done.returncode == 64
    assert done.stderr == "error: COLLECTORFLEET_LOG_FORMAT: 'jsn' is no format of log lines; write text or json\n"

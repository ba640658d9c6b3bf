"""``collectorfleet drive``: for the operator to start, not for people."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cluster.binaries import ROOT
from tests.wait import eventually

from collectorfleet.pod import drive as drives
from collectorfleet.pod.early_stop import end_at_once_on_sigterm
from collectorfleet.pod.settings import DriverSettings
from collectorfleet.run.exit import Completed
from collectorfleet.run.stop import StopRequest
from collectorfleet_api.names import EXIT_SIGTERM


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


def test_a_driver_that_is_ended_while_it_still_imports_ends_at_once_and_in_order(tmp_path: Path) -> None:
    """As PID 1 of a container it would not hear of a signal without a handler."""
    begun = tmp_path / "begun"
    (tmp_path / "pydantic.py").write_text(
        f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(600)"
    )
    words = [sys.executable, "-m", "collectorfleet.cli", "drive"]
    env = {"PYTHONPATH": f"{tmp_path}:{ROOT}/crds:{ROOT}/collector_image"}
    with subprocess.Popen(words, env=env, stderr=subprocess.PIPE, text=True) as process:
        eventually(begun.exists, within=60, every=0.02, what="the imports have begun")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == EXIT_SIGTERM
        assert process.stderr is not None
        assert process.stderr.read() == "stopped: SIGTERM, before the driver had begun\n"


SETTINGS = DriverSettings(namespace="lab", name="cheetah", uid="1", pod="driver", spec={})


def test_a_sigterm_that_ray_handles_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def ended_by_ray(_settings: DriverSettings, _stop: StopRequest) -> Completed:
        # As its handler does, which is in place while Ray starts.
        sys.exit(signal.SIGTERM)

    monkeypatch.setattr(drives, "_drive", ended_by_ray)
    assert drives.drive(SETTINGS) == EXIT_SIGTERM
    assert "stopped: SIGTERM" in caplog.messages
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_a_sigterm_when_the_run_is_over_changes_nothing_of_how_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        end_at_once_on_sigterm()
        monkeypatch.setattr(drives, "_drive", lambda *_: Completed("done"))
        assert drives.drive(SETTINGS) == 0
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)

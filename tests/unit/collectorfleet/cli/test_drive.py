"""``collectorfleet drive``: for the operator to start, not for people."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cluster.binaries import ROOT
from tests.manifests import manifest
from tests.ports import reserve_ports
from tests.wait import eventually

from collectorfleet.pod import drive as drives
from collectorfleet.pod.early_stop import end_at_once_on_sigterm
from collectorfleet.pod.settings import DriverSettings
from collectorfleet.run.exit import Completed
from collectorfleet.run.stop import StopRequest
from collectorfleet_api import names
from collectorfleet_api.names import EXIT_INFRASTRUCTURE, EXIT_SIGTERM


def drive(**env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "collectorfleet.cli", "drive"],
        env={"PYTHONPATH": f"{ROOT}/crds:{ROOT}/collector_image", **env},
        capture_output=True,
        text=True,
        check=False,
    )


def env_of(spec: Path) -> dict[str, str]:
    return {
        names.ENV_NAMESPACE: "lab",
        names.ENV_NAME: "cheetah",
        names.ENV_UID: "1",
        names.ENV_POD: "driver",
        names.ENV_SPEC: str(spec),
        names.ENV_POD_IP: "127.0.0.1",
    }


def test_a_driver_outside_of_its_pod_says_what_to_use_instead() -> None:
    done = drive()
    assert done.returncode == 1
    assert "COLLECTORFLEET_NAME" in done.stderr
    assert "to run a fleet on this machine, use `collectorfleet run FILE`" in done.stderr


def test_a_format_of_log_lines_that_there_is_not_is_the_users_to_change() -> None:
    done = drive(COLLECTORFLEET_LOG_FORMAT="jsn")
    assert done.returncode == 64
    assert done.stderr == "error: COLLECTORFLEET_LOG_FORMAT: 'jsn' is not a log format; write text or json\n"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param(None, "cannot be read: No such file or directory", id="absent"),
        pytest.param(b"", "is not JSON: Expecting value: line 1 column 1 (char 0)", id="empty"),
        pytest.param(b"\xff", "is not JSON: 'utf-8' codec can't decode byte 0xff", id="no text"),
        pytest.param(b"[1]", "is not a JSON object", id="a list"),
    ],
)
def test_a_spec_that_cannot_be_read_is_one_sentence(tmp_path: Path, spec: bytes | None, why: str) -> None:
    path = tmp_path / "spec"
    if spec is not None:
        path.write_bytes(spec)
    done = drive(**env_of(path))
    assert done.returncode == EXIT_INFRASTRUCTURE
    assert done.stderr.startswith(f"error: COLLECTORFLEET_SPEC: {path} {why}")
    assert len(done.stderr.splitlines()) == 1


def test_a_grace_period_that_is_no_number_is_one_sentence(tmp_path: Path) -> None:
    spec = tmp_path / "spec"
    spec.write_text("{}")
    done = drive(**env_of(spec), COLLECTORFLEET_GRACE_SECONDS="soon")
    assert done.returncode == EXIT_INFRASTRUCTURE
    assert done.stderr == "error: COLLECTORFLEET_GRACE_SECONDS: 'soon' is not a number of seconds\n"


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


def ended_by_sigterm(folder: Path, sentence: str, **env: str) -> str:
    """Return the log of a driver without an API server that gets SIGTERM once it has logged ``sentence``."""
    (port,) = reserve_ports(1)
    nowhere = {"server": f"http://127.0.0.1:{port}"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": nowhere}],
        "users": [{"name": "it", "user": {"token": "t"}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    }
    kubeconfig, spec, log = (folder / name for name in ("kubeconfig", "spec", "log"))
    kubeconfig.write_text(json.dumps(config))
    spec.write_text(json.dumps(manifest()["spec"]))
    env = {
        "PYTHONPATH": f"{ROOT}/crds:{ROOT}/collector_image",
        "KUBECONFIG": str(kubeconfig),
        **env_of(spec),
        **env,
    }
    words = [sys.executable, "-m", "collectorfleet.cli", "drive"]
    with log.open("wb") as said, subprocess.Popen(words, env=env, stderr=said) as process:
        try:
            eventually(lambda: sentence in log.read_text(), within=60, what=f"it says: {sentence}")
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == EXIT_SIGTERM
        finally:
            process.kill()
    return log.read_text()


def test_a_driver_that_cannot_reach_the_api_server_ends_in_order_when_its_pod_is_deleted(tmp_path: Path) -> None:
    """The Job does not count a deleted pod, whatever kept its driver from starting."""
    log = ended_by_sigterm(tmp_path, "cannot read the fleet; trying again")
    assert "stopped: SIGTERM" in log
    assert "Traceback" not in log


def test_a_driver_that_imports_torch_ends_at_once_however_long_its_grace_is(tmp_path: Path) -> None:
    """It has nothing to save, and the next driver waits for its end."""
    (tmp_path / "torchrl").mkdir()
    (tmp_path / "torchrl" / "__init__.py").write_text(
        "import sys, time\nprint('torchrl is imported', file=sys.stderr, flush=True)\ntime.sleep(600)"
    )
    path = f"{tmp_path}:{ROOT}/crds:{ROOT}/collector_image"
    log = ended_by_sigterm(tmp_path, "torchrl is imported", PYTHONPATH=path, COLLECTORFLEET_GRACE_SECONDS="900")
    assert log.splitlines()[-1].endswith("stopped: SIGTERM")
    assert "Traceback" not in log


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


def drive_code(*lines: str) -> subprocess.CompletedProcess[str]:
    """Drive in a process of its own, with a run that consists of these lines."""
    before = [
        *("import os, sys", "from collectorfleet.pod import drive as drives"),
        *("from collectorfleet.pod.settings import DriverSettings", "def run(settings, stop):"),
    ]
    after = [
        *(
            "drives._drive = run",
            "settings = DriverSettings(namespace='lab', name='cheetah', uid='1', pod='p', spec={})",
        ),
        "os._exit(drives.drive(settings))",
    ]
    return subprocess.run(
        [sys.executable, "-c", "\n".join([*before, *(f"    {line}" for line in lines), *after])],
        env={"PYTHONPATH": f"{ROOT}/crds:{ROOT}/collector_image"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("code", [0, 7, 64, 65, 143])
def test_code_that_ends_the_process_of_the_driver_fails_whatever_its_exit_code(code: int) -> None:
    """0 completed the fleet; 65 and 143 restarted the driver without end, because the Job counts neither."""
    done = drive_code(f"os._exit({code})")
    assert done.returncode == EXIT_INFRASTRUCTURE
    assert f"failed: code in the driver called os._exit({code}); return from the training function" in done.stderr


def test_processes_that_code_of_the_driver_forks_end_as_they_ask() -> None:
    done = drive_code(
        *("if not (child := os.fork()):", "    os._exit(7)"),
        *("_, status = os.waitpid(child, 0)", "assert os.waitstatus_to_exitcode(status) == 7"),
        "return drives.Completed('done')",
    )
    assert done.returncode == 0


def test_a_sigterm_when_the_run_is_over_changes_nothing_of_how_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        end_at_once_on_sigterm()
        monkeypatch.setattr(drives, "_drive", lambda *_: Completed("done"))
        assert drives.drive(SETTINGS) == 0
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)

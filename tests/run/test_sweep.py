"""The sweep of the examples on this machine: interrupted, killed and continued, and with trials that fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import optuna
import psutil
import pytest
import yaml
from optuna.trial import TrialState
from tests.cluster.binaries import ROOT
from tests.wait import eventually

from collectorfleet.cli.main import main

SWEEP = ROOT / "examples/sweep/sweep.py"
# Starts in half the time of the other example. What a signal leaves of a Ray is in tests/run/test_run.py.
WITHOUT_RAY = ROOT / "examples/cartpole_job.yaml"
# Reached by the first batch, and by none.
EASY, NEVER = "--goal=15", "--goal=1e9"


class Sweeps:
    """Sweeps of one study, whose processes carry a mark."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "cartpole-sweep"
        self._mark = f"sweep-{uuid.uuid4()}"

    def start(self, *options: str) -> subprocess.Popen[str]:
        import_path = os.pathsep.join([f"{ROOT}/crds", f"{ROOT}/collector_image", os.environ.get("PYTHONPATH", "")])
        return subprocess.Popen(
            [sys.executable, SWEEP, "--local", "--fleet", WITHOUT_RAY, "--folder", self.folder, *options],
            env={**os.environ, "PYTHONPATH": import_path, "OF_SWEEP": self._mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        with self.start(*options) as started:
            out, errors = started.communicate(timeout=400)
        return subprocess.CompletedProcess(started.args, started.returncode, out, errors)

    def processes(self) -> set[int]:
        """Return the pids of all processes of these sweeps, whoever their parent is by now."""
        return {process.pid for process in psutil.process_iter() if self._is_marked(process)}

    def trains(self, trial: int) -> bool:
        """Return whether the run of the trial has delivered frames."""
        log = self.runs / f"trial-{trial}.log"
        return log.exists() and "  return " in log.read_text()

    def trials(self) -> list[optuna.trial.FrozenTrial]:
        return optuna.load_study(study_name="cartpole-sweep", storage=f"sqlite:///{self.folder / 'study.db'}").trials

    def _is_marked(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get("OF_SWEEP") == self._mark
        except psutil.Error:
            return False


def none_is_left(sweeps: Sweeps) -> None:
    """Collectors of a run that was ended end by themselves, a moment after the sweep."""
    eventually(sweeps.processes, until=lambda left: not left, within=60, what="no process of the sweep")


@pytest.fixture
def sweeps(short_tmp: Path) -> Iterator[Sweeps]:
    made = Sweeps(short_tmp / "sweep")
    yield made
    for pid in made.processes():
        with suppress(psutil.NoSuchProcess):  # it has ended by itself
            psutil.Process(pid).kill()


@pytest.mark.timeout(1200)
def test_a_sweep_that_is_killed_and_then_interrupted_continues_with_the_same_trials(
    sweeps: Sweeps, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = sweeps.runs / "trial-0.log"
    for number, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
        with sweeps.start("--trials=2", NEVER) as started:
            eventually(lambda: sweeps.trains(0), within=200, what="a run that trains")
            recorded = sweeps.processes()
            started.send_signal(number)
            assert started.wait(120) == code
        assert len(recorded) > 4, "the sweep, its run, the collectors, and processes between them"
        log.unlink()
        none_is_left(sweeps)
    (interrupted,) = sweeps.trials()
    assert interrupted.state is TrialState.RUNNING

    done = sweeps.run("--trials=2", EASY)
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = sweeps.trials()
    assert first.params == interrupted.params
    assert [first.state, second.state] == [TrialState.COMPLETE] * 2
    ran = yaml.safe_load_all((sweeps.runs / "trial-0.yaml").read_text())
    assert next(ran)["spec"]["driver"]["train"]["kwargs"] == {"goal": 15, **first.params}
    none_is_left(sweeps)

    folders = [str(sweeps.runs / f"trial-{trial}") for trial in range(2)]
    assert main(["report", *folders, "-o", str(tmp_path / "page.html")]) == 0, capsys.readouterr().err
    assert "Comparison of 2 runs in 2 groups" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(("--frames=2048",), "after all frames, and the goal is", id="an error of the training function"),
        pytest.param(("--hours=0.002",), "no result within 0.002 h", id="a timeout"),
    ],
)
def test_a_trial_that_fails_is_stored_as_failed_and_leaves_no_process(
    options: tuple[str, ...], said: str, sweeps: Sweeps
) -> None:
    done = sweeps.run("--trials=1", NEVER, *options)
    assert done.returncode == 1
    assert "trial 0: failed: " in done.stdout
    assert said in done.stdout
    assert done.stderr.splitlines()[-1] == "none of 1 trials reached the goal"
    assert [trial.state for trial in sweeps.trials()] == [TrialState.FAIL]
    none_is_left(sweeps)


def trained(folder: Path, text: str) -> None:
    """A folder that a run has left, beside its manifest."""
    (folder / "trial-0").mkdir(parents=True)
    (folder / "trial-0.yaml").write_text(text)


def test_a_folder_with_the_run_of_another_study_is_refused_and_the_trial_is_not_lost(sweeps: Sweeps) -> None:
    fleet, code = yaml.safe_load_all(WITHOUT_RAY.read_text())
    fleet["spec"]["driver"]["train"]["kwargs"] = {"goal": 450, "lr": 0.5, "epochs": 3}
    trained(sweeps.runs, yaml.safe_dump_all([fleet, code]))
    done = sweeps.run("--trials=1", EASY)
    assert done.returncode == 1
    said = f"error: {sweeps.runs / 'trial-0'} has a run with {{'epochs': 3, 'lr': 0.5}}, and trial 0 has {{'lr': "
    assert done.stderr.splitlines()[-1].startswith(said)
    assert done.stderr.endswith("move the folder away, or choose another --name\n")
    assert [trial.state for trial in sweeps.trials()] == [TrialState.RUNNING]


def test_each_study_has_its_own_folders_and_one_without_its_values_is_refused(sweeps: Sweeps) -> None:
    trained(sweeps.folder / "other", "")
    (sweeps.folder / "other/trial-0.yaml").unlink()
    done = sweeps.run("--trials=1", "--name=other", EASY)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {sweeps.folder / 'other/trial-0'} has a run, and its values are unknown")

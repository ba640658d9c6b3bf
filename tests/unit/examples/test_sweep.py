"""The sweep of the examples on a cluster: whatever ends a trial, no fleet is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState
from tests.cluster.binaries import ROOT
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.played_api import ApiServer, Request
from tests.wait import eventually

WATCH_SECONDS = 0.2


class Cluster:
    """An API server that stores fleets, and puts ``conditions`` into the status of each; counts what is submitted."""

    def __init__(self, server: ApiServer, kubeconfig: str) -> None:
        self.fleets: dict[str, dict[str, Any]] = {}
        self.conditions: list[dict[str, Any]] = []
        self.completed: set[str] = set()
        self.submitted: list[str] = []
        self.began = 0.0  # when the first fleet was submitted
        self.deleted: dict[str, float] = {}  # when each was
        self.kubeconfig = kubeconfig
        self._changed = threading.Event()  # which nothing sets: a watch ends after its time
        server.answer = self._answer

    def _answer(self, request: Request) -> None:
        path = request.path.partition("?")[0]
        name = path.rpartition("/")[2]
        if "watch=true" in request.path:
            self._changed.wait(WATCH_SECONDS)
            request.send(200, b"", "application/json")
        elif f"/collectorfleets/{name}" not in path:
            request.serve()
        elif request.command == "PATCH":
            self.began = self.began or time.monotonic()
            self.submitted.append(name)
            self.fleets.setdefault(name, {})
            request.send_json(self._stored(name))
        elif name not in self.fleets:
            request.send_json(played_api.not_found("collectorfleets", name), 404)
        elif request.command == "DELETE":
            self.deleted[name] = time.monotonic()
            request.send_json(self.fleets.pop(name))
        else:
            request.send_json(self._stored(name))

    def _stored(self, name: str) -> dict[str, Any]:
        conditions = [condition("Completed", "True")] if name in self.completed else self.conditions
        status = {"conditions": conditions, "progress": {"framesDelivered": 4096}}
        metadata = {**played_api.FLEET["metadata"], "name": name}
        return {**played_api.FLEET, "metadata": metadata, "status": status}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with played_api.served() as server:
        yield Cluster(server, played_api.written(tmp_path, played_api.kubeconfig(server.url)))


def condition(kind: str, status: str, message: str = "") -> dict[str, Any]:
    now = "2026-01-01T00:00:00Z"
    what = {"type": kind, "status": status, "reason": "Played", "message": message}
    return {**what, "lastTransitionTime": now, "observedGeneration": played_api.FLEET["metadata"]["generation"]}


@contextmanager
def started(cluster: Cluster, folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    import_path = os.pathsep.join([f"{ROOT}/crds", f"{ROOT}/collector_image", os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, ROOT / "examples/sweep/sweep.py", "--folder", folder, *options],
        env={**os.environ, "PYTHONPATH": import_path, "KUBECONFIG": cluster.kubeconfig},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def run(cluster: Cluster, folder: Path, *options: str) -> tuple[int, str, str]:
    with started(cluster, folder, *options) as process:
        out, errors = process.communicate(timeout=120)
        return process.returncode, out, errors


def trials(folder: Path) -> list[optuna.trial.FrozenTrial]:
    return optuna.load_study(study_name="cartpole-sweep", storage=f"sqlite:///{folder / 'study.db'}").trials


def test_each_trial_is_a_fleet_that_is_deleted_once_it_has_completed(cluster: Cluster, tmp_path: Path) -> None:
    cluster.conditions = [condition("Completed", "True")]
    code, out, errors = run(cluster, tmp_path, "--trials=3", "--parallel=2")
    assert code == 0, errors
    assert set(cluster.submitted) == {f"cartpole-sweep-{trial}" for trial in range(3)}
    assert "trial 2: 4,096 frames" in out
    assert out.splitlines()[-1].startswith("best: trial 0 with {'lr': ")
    assert cluster.fleets == {}


@pytest.mark.parametrize(
    ("conditions", "hours", "said"),
    [
        pytest.param([], "--hours=0.0001", "failed: no result within 0.0001 h: fleet cartpole-sweep-", id="a timeout"),
        pytest.param(
            [condition("Stalled", "True", "the goal was not reached")],
            "--hours=1",
            "the goal was not reached",
            id="a fleet that fails",
        ),
    ],
)
def test_a_trial_without_a_result_leaves_no_fleet(
    conditions: list[dict[str, Any]], hours: str, said: str, cluster: Cluster, tmp_path: Path
) -> None:
    cluster.conditions = conditions
    code, out, errors = run(cluster, tmp_path, "--trials=2", "--parallel=2", hours)
    assert (code, errors.splitlines()[-1]) == (1, "none of 2 trials reached the goal")
    assert out.count(said) == 2
    assert len(cluster.submitted) >= 2
    assert cluster.fleets == {}
    assert {trial.state for trial in trials(tmp_path)} == {TrialState.FAIL}


def test_the_hours_of_trials_that_run_at_the_same_time_count_at_the_same_time(cluster: Cluster, tmp_path: Path) -> None:
    seconds, trials = 5, 5
    code, out, _ = run(cluster, tmp_path, f"--trials={trials}", f"--parallel={trials}", f"--hours={seconds / 3600}")
    assert (code, out.count("no result within")) == (1, trials)
    assert len(cluster.deleted) == trials
    assert max(cluster.deleted.values()) - cluster.began < seconds * trials


def test_a_trial_is_stopped_before_the_sweep_waits_for_the_next(cluster: Cluster, tmp_path: Path) -> None:
    cluster.completed = {"cartpole-sweep-0"}
    with started(cluster, tmp_path, "--trials=2", "--parallel=2"):
        ended, runs = ["cartpole-sweep-0"], ["cartpole-sweep-1"]
        # The second trial may be submitted after the end of the first.
        eventually(
            lambda: (list(cluster.deleted), list(cluster.fleets)) == (ended, runs), within=60, what="a deleted fleet"
        )


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(
            signal.SIGINT,
            130,
            id="Ctrl-C",
            marks=pytest.mark.variant_of(
                "tests/run/test_sweep.py::test_a_sweep_that_is_killed_and_then_interrupted_continues_with_the_same_trials"
            ),
        ),
        pytest.param(signal.SIGTERM, 143, id="SIGTERM"),
    ],
)
def test_an_interrupted_sweep_leaves_no_fleet_and_continues_its_trials(
    number: int, code: int, cluster: Cluster, tmp_path: Path
) -> None:
    with started(cluster, tmp_path, "--trials=2", "--parallel=2") as process:
        eventually(lambda: len(cluster.fleets) == 2, within=60, what="two fleets")
        process.send_signal(number)
        assert process.wait(60) == code
    assert cluster.fleets == {}
    before = trials(tmp_path)
    assert {trial.state for trial in before} == {TrialState.RUNNING}

    cluster.conditions = [condition("Completed", "True")]
    assert run(cluster, tmp_path, "--trials=2", "--parallel=2")[0] == 0
    assert [trial.params for trial in trials(tmp_path)] == [trial.params for trial in before]


def test_fleets_of_a_killed_sweep_go_on_and_the_next_one_waits_for_them(cluster: Cluster, tmp_path: Path) -> None:
    with started(cluster, tmp_path, "--trials=2", "--parallel=2") as process:
        eventually(lambda: len(cluster.fleets) == 2, within=60, what="two fleets")
        process.kill()
        process.wait(60)
    assert len(cluster.fleets) == 2
    cluster.conditions = [condition("Completed", "True")]
    assert run(cluster, tmp_path, "--trials=2", "--parallel=2")[0] == 0
    assert set(cluster.submitted) == {"cartpole-sweep-0", "cartpole-sweep-1"}
    assert cluster.fleets == {}
    assert [trial.state for trial in trials(tmp_path)] == [TrialState.COMPLETE] * 2

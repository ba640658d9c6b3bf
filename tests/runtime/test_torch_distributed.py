"""FleetCollector in processes of this machine, over a process group or RPC: what a user sees, with no Ray at all."""

from __future__ import annotations

import logging
import os
import signal
import textwrap
import threading
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from tests import envs
from tests.cluster.binaries import ROOT
from tests.forks import program
from tests.runtime.batches import VERSION, Make, learn
from tests.wait import eventually

from collectorfleet import InvalidOption, UserCodeError

NAMES = {"torch_distributed": "TorchDistributed", "rpc": "RPC"}


@pytest.fixture(params=list(NAMES))
def carrier(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def gang(make: Make, carrier: str) -> Make:
    return partial(make, transport=carrier)


def test_sync_batches_are_stacked_shares_of_the_newest_weights(gang: Make, carrier: str) -> None:
    collector = gang(total_frames=60, update_after_each_batch=True)
    for number, batch in enumerate(collector, 1):
        assert tuple(batch.batch_size) == (2, 10)
        assert set(batch[VERSION].flatten().tolist()) == {number}
        assert set((batch["next", "reward"].flatten() / 2).tolist()) == {float(number - 1)}
        learn(collector)
    report = collector.status()
    assert report.progress is not None
    assert (report.progress.frames_delivered, report.progress.frames_discarded) == (60, 0)
    assert report.weights is not None
    assert report.weights.transport == NAMES[carrier]


def test_a_fleet_that_cannot_be_made_leaves_nothing_behind(gang: Make) -> None:
    before = set(threading.enumerate())
    with pytest.raises(
        InvalidOption, match=r"^load_state_dict: the state has no frames and no version; load what state_dict"
    ):
        gang(resume_from={})
    eventually(lambda: set(threading.enumerate()) <= before, within=30, what="the end of its threads")


def test_async_batches_come_of_each_collector(gang: Make) -> None:
    shapes = [tuple(batch.batch_size) for batch in gang(sync=False, total_frames=100)]
    assert shapes == [(20,)] * 5


def test_a_killed_collector_is_replaced_and_frames_go_on(gang: Make) -> None:
    collector = gang(total_frames=-1)
    batches = iter(collector)
    next(batches)
    victim = collector.remote_collectors[0]
    os.kill(victim.pid, signal.SIGKILL)
    for _ in range(20):
        assert tuple(next(batches).batch_size) == (2, 10)
    eventually(lambda: collector.status().progress.collectors.restarts == 1, within=60, what="a replacement")


def test_a_replacement_repeats_nothing_that_the_lost_collector_drew(gang: Make) -> None:
    collector = gang(create_env_fn=envs.make_drawing, total_frames=-1)
    collector.set_seed(3)
    batches = iter(collector)
    seen = []
    for killed in (1, 2):
        seen += [next(batches)["next", "observation"].flatten(0, 1).clone() for _ in range(3)]
        os.kill(collector.remote_collectors[-1].pid, signal.SIGKILL)  # the newest: of one slot both times
        eventually(
            lambda killed=killed: collector.status().progress.collectors.restarts == killed, within=60, what="its loss"
        )
        eventually(lambda: collector.status().progress.collectors.available == 2, within=60, what="a replacement")
    seen += [next(batches)["next", "observation"].flatten(0, 1).clone() for _ in range(3)]
    frames = torch.cat(seen)
    # Numbers of 24 bits: two of a hundred may be equal by chance.
    assert all(len(drawn.unique()) >= len(frames) - 1 for drawn in frames.unbind(-1))


@pytest.mark.parametrize(
    ("seeds", "warnings"),
    [pytest.param({"seed": 0}, 1, id="one"), pytest.param([{"seed": 0}, {"seed": 1}], 0, id="each its own")],
)
def test_environments_of_one_seed_are_warned_of(
    gang: Make, seeds: Any, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    collector = gang(create_env_fn=envs.make_starting, create_env_kwargs=seeds, total_frames=100)
    with caplog.at_level(logging.WARNING):
        assert len(list(collector)) == 5
    said = [record.message for record in caplog.records if "began with the same observations" in record.message]
    assert len(said) == warnings
    assert all("of c0 and c1" in one or "of c1 and c0" in one for one in said)


def test_collectors_are_asked_between_rollouts(gang: Make) -> None:
    collector = gang(total_frames=-1)
    next(iter(collector))
    assert collector.get_distant_attr("frames_per_batch") == [10, 10]
    assert set(collector.state_dict()["collectors"]) == {"c0", "c1"}
    assert isinstance(collector.set_seed(3), int)
    with pytest.raises(UserCodeError, match="no_such_method"):
        collector.map_fn("no_such_method")


ENDS = {
    "returns": ("", 0),
    "raises": ("raise SystemExit(3)", 3),
    "is killed": ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
}


VARIANT = pytest.mark.variant_of(
    "tests/runtime/test_torch_distributed.py::test_there_is_no_ray_and_a_driver_that_ends_without_shutdown_leaves_nobody"
)
_PROCESSES_OF_ITS_OWN = "collector_class='sync', num_workers_per_collector=2,"


@pytest.mark.parametrize(
    ("carrier", "options", "how"),
    [
        pytest.param(
            "torch_distributed",
            "",
            "returns",
            id="process group-returns",
            marks=pytest.mark.variant_of(
                "tests/runtime/test_programs.py::test_a_script_without_a_guard_runs_once_and_closes_a_fleet_that_it_drops"
            ),
        ),
        pytest.param("torch_distributed", "", "raises", id="process group-raises", marks=VARIANT),
        pytest.param("torch_distributed", "", "is killed", id="process group-is killed"),
        pytest.param(
            "torch_distributed",
            _PROCESSES_OF_ITS_OWN,
            "is killed",
            id="process group of sync-is killed",
            marks=VARIANT,
        ),
        pytest.param("rpc", "", "returns", id="rpc-returns", marks=VARIANT),
        pytest.param("rpc", "", "is killed", id="rpc-is killed", marks=VARIANT),
    ],
)
def test_there_is_no_ray_and_a_driver_that_ends_without_shutdown_leaves_nobody(
    how: str, options: str, carrier: str, tmp_path: Path
) -> None:
    ends, code = ENDS[how]
    script = f"""
        import os, psutil, ray, signal
        from tests import envs
        from collectorfleet import FleetCollector

        if __name__ == "__main__":
            collector = FleetCollector(
                envs.make_counting, envs.make_policy(), frames_per_batch=20, num_collectors=2, sync=True,
                {options} transport="{carrier}",
            )
            next(iter(collector))
            assert not ray.is_initialized()
            print(*[one.pid for one in psutil.Process().children(recursive=True)], flush=True)
            {ends}
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(script))
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT}/crds:{ROOT}/collector_image"}
    done = program.run([tmp_path / "program.py"], timeout=120, forkserver=True, env=env)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) >= 2 + bool(options) * 4
    eventually(
        lambda: [pid for pid in pids if psutil.pid_exists(pid)] == [], within=60, what="the end of all processes"
    )


def test_a_fleet_is_resized(gang: Make) -> None:
    collector = gang(total_frames=-1)
    batches = iter(collector)
    assert tuple(next(batches).batch_size) == (2, 10)
    collector.resize(4)
    eventually(lambda: tuple(next(batches).batch_size) == (4, 5), within=60, what="shares of four collectors")
    collector.resize(1)
    eventually(lambda: tuple(next(batches).batch_size) == (1, 20), within=60, what="the share of one collector")

"""Evaluation beside training: what a user sees, over Ray, over a process group and over RPC."""

from __future__ import annotations

import gc
import os
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from tensordict.nn import TensorDictModule
from tests import envs
from tests.contract.harness import make_gated
from tests.runtime.batches import Make, learn
from tests.wait import eventually

from collectorfleet import Evaluation, FleetCollector, UserCodeError
from collectorfleet.actor.build import build_player
from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.inbox import Offer
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.evaluation.state.episodes import seed_of
from collectorfleet.messages import Request
from collectorfleet_api.v1alpha1.evaluation_status import EvaluationStatus

TRANSPORTS = ["object_store", "torch_distributed", "rpc"]
LENGTH = 10


@pytest.fixture(params=TRANSPORTS)
def carrier(request: pytest.FixtureRequest) -> str:
    if request.param == "object_store":
        request.getfixturevalue("local_ray")
    return str(request.param)


@pytest.fixture
def fleet(make: Make, carrier: str) -> Make:
    return partial(make, transport=carrier)


@pytest.fixture
def ray_fleet(make: Make, local_ray: Any) -> Make:
    del local_ray
    return make


def status(collector: FleetCollector) -> EvaluationStatus:
    found = collector.status().evaluation
    assert found is not None
    return found


def versions(collector: FleetCollector) -> list[int]:
    return [result.version for result in collector.evaluations()]


def first_result(collector: FleetCollector) -> None:
    eventually(lambda: len(collector.evaluations()) >= 1, within=60, what="a first evaluation")


# ---------------------------------------------------------------- numbers
SEEDS, EPISODES = (3, 4), 7


def noisy_policy() -> TensorDictModule:
    return TensorDictModule(envs.NoisyConstant(1.0), in_keys=["observation"], out_keys=["action"])


@pytest.fixture(scope="module")
def alone() -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Returns and lengths of the episodes, played one after another in this process."""
    env = partial(envs.make_drawn, (2, 3, 5, 7, 11))
    made = build_player(CollectorConfig(env, noisy_policy(), 0, plays_episodes=True))
    version = Offer(1, snapshots.take(snapshots.tensors_of(noisy_policy())))
    played = [made.run(Request(n, 0, 1, 1, seed=seed_of(n, SEEDS)), version).episodes for n in range(EPISODES)]
    returns = tuple(value for one in played if one is not None for value in one.returns)
    assert len(set(returns)) == EPISODES
    return returns, tuple(value for one in played if one is not None for value in one.lengths)


@pytest.mark.parametrize(
    ("transport", "replicas"),
    [("object_store", 1), ("object_store", 2), ("object_store", 3), ("torch_distributed", 2), ("rpc", 3)],
)
def test_a_version_has_the_same_numbers_each_time_on_each_transport_with_any_number_of_evaluators(
    make: Make, request: pytest.FixtureRequest, transport: str, replicas: int, alone: Any
) -> None:
    if transport == "object_store":
        request.getfixturevalue("local_ray")
    evaluation = Evaluation(
        replicas=replicas,
        create_env_fn=envs.make_drawn,
        create_env_kwargs={"lengths": (2, 3, 5, 7, 11)},
        every_versions=1,
        episodes=EPISODES,
        seeds=SEEDS,
    )
    collector = make(policy=noisy_policy(), transport=transport, total_frames=40, evaluation=evaluation)
    first_result(collector)
    collector.update_policy_weights_()  # the same weights as a version of their own
    assert len(list(collector)) == 2
    assert versions(collector) == [1, 2]
    for result in collector.evaluations():
        assert (result.returns, result.lengths) == alone


def test_each_result_is_that_of_exactly_its_version_and_the_last_version_has_one(fleet: Make) -> None:
    collector = fleet(
        total_frames=80,
        update_after_each_batch=True,
        evaluation=Evaluation(replicas=2, every_versions=1, episodes=3),
    )
    for _ in collector:
        learn(collector)
    assert collector.status().weights.published == versions(collector)[-1] == 5
    assert versions(collector) == sorted(set(versions(collector)))
    for result in collector.evaluations():
        # The policy was at 0 when version 1 was published, and learned 1 for each later one.
        assert result.returns == (2.0 * (result.version - 1) * LENGTH,) * 3
        assert result.lengths == (LENGTH,) * 3
    found = status(collector)
    assert (found.finished, found.failed) == (len(versions(collector)), 0)
    assert found.finished + found.skipped == 5
    assert collector.evaluations()[-1].frames == 80


def test_a_fleet_of_groups_has_results_of_the_environment_for_evaluation_alone(ray_fleet: Make) -> None:
    environments = [partial(envs.make_counting, length=4), partial(envs.make_counting, length=5)]
    evaluation = Evaluation(create_env_fn=envs.make_counting, every_versions=1, episodes=3)
    collector = ray_fleet(create_env_fn=environments, groups=["short", "long"], total_frames=40, evaluation=evaluation)
    list(collector)
    assert [result.lengths for result in collector.evaluations()] == [(LENGTH,) * 3]


# ---------------------------------------------------------------- beside training
def test_evaluators_that_are_slow_hold_up_no_batch(fleet: Make, gate: Path) -> None:
    evaluation = Evaluation(
        create_env_fn=make_gated, create_env_kwargs={"gate": str(gate)}, every_versions=1, episodes=1
    )
    collector = fleet(total_frames=200, update_after_each_batch=True, evaluation=evaluation)
    eventually((gate.parent / "waits").exists, within=60, what="an episode that waits")
    batches = iter(collector)
    for _ in range(9):
        next(batches)
        learn(collector)
    found = status(collector)
    assert (found.running_version, found.finished) == (1, 0)  # it is still in its first episode
    gate.touch()
    assert len(list(batches)) == 1
    found = status(collector)
    assert collector.evaluations()[0].returns == (0.0,)
    assert versions(collector)[0] == 1
    assert versions(collector)[-1] == collector.status().weights.published == 11
    assert found.finished + found.skipped == 11


def test_an_evaluator_that_dies_in_an_episode_repeats_it_and_nothing_else(fleet: Make, tmp_path: Path) -> None:
    evaluation = Evaluation(
        replicas=2,
        create_env_fn=envs.make_counting,
        create_env_kwargs={"misbehaves": "die", "once": str(tmp_path / "once")},
        every_versions=1000,
        episodes=4,
    )
    collector = fleet(policy=envs.make_policy(1.0), total_frames=40, evaluation=evaluation)
    assert len(list(collector)) == 2
    (result,) = collector.evaluations()
    assert result.returns == (2.0 * LENGTH,) * 4
    found = status(collector)
    assert (found.restarts, found.failed, found.finished) == (1, 0, 1)
    assert found.last_failure is not None
    assert found.last_failure.startswith("evaluator e")
    assert collector.status().progress.collectors.restarts == 0


def test_an_environment_that_raises_in_an_evaluator_ends_the_run_and_is_named(fleet: Make) -> None:
    evaluation = Evaluation(
        create_env_fn=envs.make_counting, create_env_kwargs={"misbehaves": "raise"}, every_versions=1
    )
    with pytest.raises(UserCodeError) as raised:
        for _ in fleet(total_frames=-1, evaluation=evaluation):
            pass
    said = str(raised.value)
    assert said.startswith("environment make_counting of the evaluation (evaluator e0)")
    assert "ValueError: the game is broken" in said


def test_an_environment_that_raises_at_the_end_of_a_run_is_no_success(make: Make, gate: Path) -> None:
    """The evaluator is built after the last batch."""
    evaluation = Evaluation(
        create_env_fn=make_late_and_broken, create_env_kwargs={"gate": str(gate)}, every_versions=1000
    )
    collector = make(total_frames=40, evaluation=evaluation, transport="torch_distributed")
    batches = iter(collector)
    for _ in range(2):
        next(batches)
    gate.touch()
    with pytest.raises(UserCodeError, match=r"environment make_late_and_broken of the evaluation \(evaluator e0\)"):
        next(batches)


def test_a_last_evaluation_that_hangs_is_not_finished(make: Make) -> None:
    evaluation = Evaluation(
        create_env_fn=envs.make_counting,
        create_env_kwargs={"misbehaves": "hang"},
        every_versions=1000,
        timeout=timedelta(seconds=1),
    )
    collector = make(total_frames=-1, evaluation=evaluation, transport="torch_distributed")
    next(iter(collector))
    assert not collector.finish_evaluation()
    assert status(collector).failed == 1


def test_a_policy_that_raises_in_an_evaluator_ends_the_run_even_if_environments_may_raise(ray_fleet: Make) -> None:
    with pytest.raises(UserCodeError, match=r"^policy of the evaluation \(evaluator e0\)|^policy \(collector"):
        for _ in ray_fleet(
            policy=envs.make_broken_policy(),
            total_frames=-1,
            on_environment_error="restart",
            evaluation=Evaluation(every_versions=1),
        ):
            pass


def test_an_evaluator_is_started_again_if_environments_may_raise(ray_fleet: Make, tmp_path: Path) -> None:
    evaluation = Evaluation(
        create_env_fn=envs.make_counting,
        create_env_kwargs={"misbehaves": "raise", "once": str(tmp_path / "once")},
        episodes=2,
    )
    collector = ray_fleet(
        policy=envs.make_policy(1.0), total_frames=40, on_environment_error="restart", evaluation=evaluation
    )
    assert len(list(collector)) == 2
    assert collector.evaluations()[-1].returns == (20.0, 20.0)
    assert status(collector).restarts == 1
    assert status(collector).last_failure == "evaluator e0: EnvironmentError: ValueError: the game is broken"


def test_an_evaluation_that_hangs_fails_in_time_and_a_later_one_succeeds(ray_fleet: Make, tmp_path: Path) -> None:
    evaluation = Evaluation(
        create_env_fn=envs.make_counting,
        create_env_kwargs={"misbehaves": "hang", "once": str(tmp_path / "once")},
        every_versions=1,
        episodes=2,
        timeout=timedelta(seconds=5),  # the later one has no more, however busy the machine is
    )
    collector = ray_fleet(total_frames=-1, update_after_each_batch=True, evaluation=evaluation)
    batches = iter(collector)
    while not collector.evaluations():
        next(batches)
        learn(collector)
    found = status(collector)
    assert (found.failed, found.restarts) == (1, 1)
    assert found.last_failure is not None
    assert found.last_failure.endswith(
        ": 0 of 2 episodes ended within 5 s; play fewer episodes, limit their length, or allow more time"
    )
    result = collector.evaluations()[0]
    assert result.version > 1
    assert result.returns == (2.0 * (result.version - 1) * LENGTH,) * 2
    assert collector.status().progress.collectors.restarts == 0


# ---------------------------------------------------------------- goals, the best, the end
@pytest.mark.parametrize("sync", [True, False])
def test_the_iteration_ends_once_the_goal_is_reached(ray_fleet: Make, *, sync: bool) -> None:
    goal = 2.0 * 3 * LENGTH
    collector = ray_fleet(
        sync=sync,
        total_frames=-1,
        update_after_each_batch=True,
        evaluation=Evaluation(every_versions=1, episodes=2, stop_at_return=goal),
    )
    for _ in collector:
        learn(collector)
    means = [result.mean for result in collector.evaluations()]
    assert max(means) >= goal
    assert status(collector).stopped is True
    weights = collector.status().weights
    assert versions(collector)[-1] == weights.published
    # The policy began at 0 and learned 1 after each batch: the last of it was published and evaluated, too.
    assert means[-1] == 2.0 * collector.policy.module.value.item() * LENGTH


def test_the_best_weights_are_those_that_were_evaluated(fleet: Make) -> None:
    collector = fleet(
        policy=envs.make_policy(3.0),
        total_frames=60,
        evaluation=Evaluation(every_versions=1, episodes=1, keep_best=True),
    )
    first_result(collector)
    batches = iter(collector)
    next(batches)
    learn(collector, by=-1.0)  # from here on it gets worse
    collector.update_policy_weights_()
    next(batches)
    eventually(lambda: len(collector.evaluations()) == 2, within=60, what="a second evaluation")
    best = collector.best_weights()
    assert best is not None
    result, weights = best
    assert (result.version, result.mean) == (1, 2 * 3.0 * LENGTH)
    policy = envs.make_policy()
    policy.load_state_dict(weights)
    assert policy.module.value.item() == 3.0
    assert collector.policy.module.value.item() == 2.0
    assert status(collector).best.version == 1


def make_late_and_broken(gate: str) -> envs.Counting:
    eventually(Path(gate).exists, within=60, what="the gate")
    return envs.make_counting(misbehaves="raise when built")


def make_noted(folder: str) -> envs.Counting:
    (Path(folder) / str(os.getpid())).touch()
    return envs.Counting()


def test_a_fleet_that_is_dropped_without_shutdown_leaves_no_evaluator(
    request: pytest.FixtureRequest, carrier: str, tmp_path: Path
) -> None:
    evaluation = Evaluation(replicas=2, create_env_fn=make_noted, create_env_kwargs={"folder": str(tmp_path)})

    def pids_of_dropped() -> list[int]:
        collector = FleetCollector(
            envs.make_counting,
            envs.make_policy(),
            num_collectors=1,
            frames_per_batch=10,
            total_frames=-1,
            sync=True,
            transport=carrier,
            evaluation=evaluation,
        )
        eventually(lambda: status(collector).available == 2, within=60, what="two evaluators")
        return [int(one.name) for one in tmp_path.iterdir()]

    pids = pids_of_dropped()
    assert len(pids) == 2
    gc.collect()

    def gone() -> bool:
        return not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids)

    eventually(gone, within=30, what="the end of the evaluators", tolerate=(psutil.NoSuchProcess,))

"""Videos of episodes beside training: with a real environment that draws itself, over each transport."""

from __future__ import annotations

import os
import signal
import time
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tensordict.nn import TensorDictModule
from tests.pictures import Pictured
from tests.runtime.batches import Make
from torch import nn
from torchrl.envs import GymWrapper

from collectorfleet import Evaluation, EvaluationResult, FleetCollector, Video
from collectorfleet.codec.video import decode
from collectorfleet_api.v1alpha1 import VideoStatus

LENGTH = 6
LEVELS = [0, 20, 40, 60, 80, 100, 120]  # the brightness of each frame


class Crashing(Pictured):
    """``render()`` ends the process, or hangs, as a driver of a GPU may do."""

    def __init__(self, how: str) -> None:
        super().__init__(length=LENGTH)
        self._how = how

    def render(self) -> Any:
        if self._how == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(600)


def make_env(**kwargs: Any) -> GymWrapper:
    return GymWrapper(Pictured(length=LENGTH, **kwargs))


def make_crashing(how: str) -> GymWrapper:
    return GymWrapper(Crashing(how))


class Zero(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.zeros(1))  # or there would be no version to evaluate

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.value * observation


@pytest.fixture
def fleet(make: Make) -> Make:
    policy = TensorDictModule(Zero(), in_keys=["observation"], out_keys=["action"])
    # Collectors need no renderer.
    create = partial(make_env, render_mode=None)
    return partial(make, create_env_fn=create, policy=policy, total_frames=40)


def evaluation(video: Video | None, **options: Any) -> Evaluation:
    given: dict[str, Any] = {"create_env_fn": make_env, "every_versions": 1, "episodes": 3, "seeds": (5, 6, 7)}
    return Evaluation(video=video, **given | options)


def results(collector: FleetCollector) -> list[EvaluationResult]:
    assert len(list(collector)) == 2
    return collector.evaluations()


def status(collector: FleetCollector) -> VideoStatus:
    found = collector.status().evaluation
    assert found is not None
    assert found.video is not None
    return found.video


@pytest.mark.parametrize(
    "transport",
    [
        "object_store",
        "torch_distributed",
        pytest.param(
            "rpc",
            marks=pytest.mark.variant_of(
                "tests/runtime/test_videos.py::test_the_first_episodes_are_recorded_on_each_transport"
            ),
        ),
    ],
)
def test_the_first_episodes_are_recorded_on_each_transport(
    fleet: Make, request: pytest.FixtureRequest, transport: str
) -> None:
    if transport == "object_store":
        request.getfixturevalue("local_ray")
    video = Video(episodes=2, every_evaluations=1)
    collector = fleet(transport=transport, evaluation=evaluation(video, replicas=2))
    (result, *_) = results(collector)
    videos = collector.videos()
    assert [(one.episode, one.seed, one.length) for one in videos] == [(0, 5, LENGTH), (1, 6, LENGTH)]
    assert [one.episode_return for one in videos] == list(result.returns[:2])
    for one in videos:
        frames, _ = decode(one.data)
        assert [float(frame.mean()) for frame in frames] == pytest.approx(LEVELS, abs=4)
    assert status(collector) == VideoStatus(version=result.version)


def test_results_are_the_same_with_and_without_videos(fleet: Make) -> None:
    environment = {"create_env_kwargs": {"draws": True}}
    alone, watched = (
        results(fleet(transport="torch_distributed", evaluation=evaluation(video, **environment)))[0]
        for video in (None, Video(episodes=3, every_evaluations=1))
    )
    assert (alone.returns, alone.lengths) == (watched.returns, watched.lengths)


def test_a_renderer_that_raises_is_reported_once_and_evaluation_and_training_go_on(
    fleet: Make, caplog: pytest.LogCaptureFixture
) -> None:
    collector = fleet(
        transport="torch_distributed",
        update_after_each_batch=True,
        evaluation=evaluation(Video(episodes=3, every_evaluations=1), create_env_kwargs={"kind": "raises"}),
    )
    (result, *_) = results(collector)
    assert result.lengths == (LENGTH,) * 3
    assert collector.videos() == ()
    assert status(collector) == VideoStatus(failure="render() failed: RuntimeError: no display")
    warned = [one.message for one in caplog.records if one.message.startswith("evaluation.video")]
    (sentence,) = warned
    assert sentence == (
        "evaluation.video: render() failed: RuntimeError: no display; evaluation and training continue without this "
        "video"
    )


HUNG = "the recorded evaluation has not ended within 7.5 s"


@pytest.mark.parametrize(("how", "cause"), [("crash", "Died: "), ("hang", HUNG)])
def test_a_renderer_that_ends_its_process_or_hangs_costs_the_video_and_no_evaluation(
    fleet: Make, how: str, cause: str
) -> None:
    collector = fleet(
        transport="torch_distributed",
        evaluation=evaluation(
            Video(every_evaluations=1),
            create_env_fn=make_crashing,
            create_env_kwargs={"how": how},
            timeout=timedelta(seconds=6),
        ),
    )
    (result, *_) = results(collector)
    assert result.lengths == (LENGTH,) * 3
    found = collector.status()
    assert found.evaluation is not None
    assert (found.evaluation.failed, found.evaluation.restarts) == (0, 1)
    failure = status(collector).failure
    assert failure is not None
    assert failure.startswith(f"an evaluator was lost while it recorded a video: evaluator e0: {cause}")


class Slow(Pictured):
    """Each step takes ``seconds``, and a frame nearly nothing."""

    def __init__(self, seconds: float) -> None:
        super().__init__(length=LENGTH)
        self._seconds = seconds

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        time.sleep(self._seconds)
        return super().step(action)


def make_slow(seconds: float) -> GymWrapper:
    return GymWrapper(Slow(seconds))


@pytest.mark.variant_of(
    "tests/unit/collectorfleet/evaluation/state/test_videos.py::test_a_recorded_evaluation_has_a_quarter_of_the_timeout_more_for_its_renderer"
)
def test_a_long_episode_is_recorded_though_it_takes_more_than_half_of_the_timeout(fleet: Make) -> None:
    timeout = 15
    collector = fleet(
        transport="torch_distributed",
        evaluation=evaluation(
            Video(every_evaluations=1),
            episodes=1,
            seeds=(5,),
            create_env_fn=make_slow,
            create_env_kwargs={"seconds": 0.6 * timeout / LENGTH},
            timeout=timedelta(seconds=timeout),
        ),
    )
    (result, *_) = results(collector)
    assert result.lengths == (LENGTH,)
    assert [one.length for one in collector.videos()] == [LENGTH]
    found = collector.status().evaluation
    assert found is not None
    assert (found.failed, found.restarts, status(collector).failure) == (0, 0, None)


def test_no_frame_is_rendered_in_evaluations_that_are_not_recorded(fleet: Make, tmp_path: Path) -> None:
    collector = fleet(
        transport="torch_distributed",
        total_frames=40,
        evaluation=evaluation(Video(every_evaluations=1000), create_env_fn=partial(make_noted, str(tmp_path))),
    )
    assert len(results(collector)) == 1
    # One for the reset, and one for each step.
    assert len(list(tmp_path.iterdir())) == LENGTH + 1


class Noted(Pictured):
    def __init__(self, folder: str) -> None:
        super().__init__(length=LENGTH)
        self._folder = folder

    def render(self) -> Any:
        Path(self._folder, str(time.time_ns())).touch()
        return super().render()


def make_noted(folder: str) -> GymWrapper:
    return GymWrapper(Noted(folder))

"""Only the newest driver of a run writes the checkpoints of the run's learners, whoever requests them."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import ray
from tests import envs
from tests.manifests import ABSENT, fleet
from tests.runtime.learners import frames
from tests.unit.collectorfleet.run.interleaving import content

from collectorfleet.durable_files import write
from collectorfleet.errors import FolderTakenOver
from collectorfleet.learners import returning
from collectorfleet.learners.record import is_whole
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.spec_learners import run_learners
from collectorfleet.run.spec_learners.code import load_learner_code
from collectorfleet.run.spec_learners.run_learners import RunLearners, open_learners

pytestmark = pytest.mark.usefixtures("local_ray")

FLEET = fleet(
    {
        "spec.driver.train": ABSENT,
        "spec.learners": {
            "factory": "tests.runtime.learners:Stepping",
            "split": "tests.runtime.learners:even_and_odd",
            "policies": [{"id": "acting", "module": "module.acting"}],
        },
    }
)
MINUTE = timedelta(minutes=1)

StartDriver = Callable[..., RunLearners]


@pytest.fixture
def start_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StartDriver]:
    """Return a function that starts the learners of the run's next driver. They end with the test."""
    # The node of this Ray has CPUs, and no resource `learner`.
    monkeypatch.setattr(run_learners, "LEARNER_RESOURCE", "CPU")
    code = load_learner_code(FLEET.spec)
    assert code is not None
    started: list[RunLearners] = []

    def mkdir(path: Path, **_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    def start(*, on_a_full_volume: bool = False) -> RunLearners:
        folder = CheckpointFolder(tmp_path, fleet="cheetah", run="run-1")
        with monkeypatch.context() as volume:
            if on_a_full_volume:
                volume.setattr(Path, "mkdir", mkdir)
            policy = envs.make_two_part_policy(0.0, 0.0)
            started.append(open_learners(FLEET.spec, code, policy, folder, on_gpus=False))
        return started[-1]

    yield start
    for learners in started:
        learners.close()


def test_a_checkpoint_by_the_training_function_does_not_prevent_those_of_the_run(
    start_driver: StartDriver, tmp_path: Path
) -> None:
    learners = start_driver(on_a_full_volume=True)
    learners.shards.checkpoint()
    learners.checkpoint(MINUTE)
    assert [is_whole(folder) for folder in tmp_path.glob("learners-*")] == [True]


@pytest.mark.parametrize("lacks_room", ["replay", "policy"])
def test_a_volume_without_room_for_an_actor_is_an_error_of_the_volume_and_ends_no_run(
    start_driver: StartDriver, tmp_path: Path, lacks_room: str
) -> None:
    def fill(_: Any) -> None:
        def full(_file: Path, put: Callable[..., object]) -> None:
            write(Path("/dev/full"), put)  # each write fails, as on a full volume

        patch.object(returning, "write", full).start()

    learners = start_driver()
    (folder,) = tmp_path.glob("learners-*")
    replay, policy = learners.shards.get_replay_and_policy_actors("acting")
    actor = replay if lacks_room == "replay" else policy
    ray.get(actor.__ray_call__.remote(fill))
    # At its first checkpoint, a run ends by a CollectorFleetError and not by an OSError.
    with pytest.raises(OSError, match="No space left on device") as caught:
        learners.checkpoint(MINUTE)
    assert caught.value.errno == errno.ENOSPC
    assert list(folder.iterdir()) == []
    ray.get(actor.__ray_call__.remote(lambda _: patch.stopall()))
    learners.checkpoint(MINUTE)
    assert is_whole(folder)


def test_a_displaced_driver_does_not_write_into_the_folder_of_its_successor(
    start_driver: StartDriver, tmp_path: Path
) -> None:
    # No driver could make its folder, so both drivers chose the same name.
    first, second = (start_driver(on_a_full_volume=True) for _ in range(2))
    with pytest.raises(FolderTakenOver):
        first.shards.checkpoint()
    replay, _ = second.shards.get_replay_and_policy_actors("acting")
    ray.get(replay.extend.remote("acting", frames(2.0)))
    second.checkpoint(MINUTE)
    written = content(tmp_path)
    with pytest.raises(FolderTakenOver):
        first.shards.checkpoint()
    first.feed.end()
    first.shards.remove_policy("acting")
    assert [is_whole(folder) for folder in tmp_path.glob("learners-*")] == [True]
    assert content(tmp_path) == written


def test_a_displaced_driver_does_not_make_its_folder_again(start_driver: StartDriver, tmp_path: Path) -> None:
    first = start_driver()
    first.checkpoint(MINUTE)
    second = start_driver()
    second.checkpoint(MINUTE)
    assert [folder.name for folder in tmp_path.glob("learners-*")] == ["learners-000001"]
    with pytest.raises(FolderTakenOver):
        first.shards.checkpoint()
    assert [folder.name for folder in tmp_path.glob("learners-*")] == ["learners-000001"]


def test_a_displaced_driver_that_removes_a_policy_changes_no_file(start_driver: StartDriver, tmp_path: Path) -> None:
    first = start_driver()
    first.checkpoint(MINUTE)
    # It resumes from the folder of the first driver, because it could not make a folder.
    start_driver(on_a_full_volume=True)
    written = content(tmp_path)
    first.feed.end()
    with pytest.raises(FolderTakenOver):
        first.shards.remove_policy("acting")
    assert content(tmp_path) == written

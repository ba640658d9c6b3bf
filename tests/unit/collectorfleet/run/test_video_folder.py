"""Where the videos of a run are."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.manifests import ABSENT, fleet

from collectorfleet.errors import FolderTakenOver
from collectorfleet.evaluation.result import EpisodeVideo
from collectorfleet.run.video_folder import VideoFolder, video_folder
from collectorfleet.timeline.videos import name_of, newest_videos
from collectorfleet_api.v1alpha1 import EvaluationStatus, VideoStatus

VIDEO: dict[str, Any] = {"spec.evaluation": {"video": {}}}
SCRIPT = {"spec.driver": {"script": "train.py"}, "spec.environment": ABSENT, "spec.policy": ABSENT}
OUTPUT = {"spec.driver": {}, "spec.output": {"path": "/data/out"}}


def video(version: int = 3, episode: int = 0, value: float = 1.5, data: bytes = b"file") -> EpisodeVideo:
    return EpisodeVideo(version, 100, episode, 0, value, 10, data)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("[!.]*"))


@pytest.mark.parametrize(
    ("changes", "checkpoints", "folder"),
    [
        pytest.param(VIDEO, "/kept/fleet", "/kept/fleet/videos", id="beside the checkpoints"),
        pytest.param(VIDEO | OUTPUT, "/kept/fleet", "/kept/fleet/videos", id="where the report finds them"),
        pytest.param(VIDEO | OUTPUT, None, "/data/out/videos", id="in the output"),
        pytest.param(VIDEO, None, "/tmp/run/videos", id="where a local run has its files"),
        pytest.param(
            {"spec.evaluation": {}} | SCRIPT, "/kept/fleet", "/kept/fleet/videos", id="the script may request"
        ),
        pytest.param({"spec.evaluation": {}}, "/kept/fleet", None, id="no videos"),
        pytest.param({"spec.evaluation": ABSENT} | SCRIPT, "/kept/fleet", None, id="a script without evaluators"),
        pytest.param({"spec.evaluation": ABSENT}, "/kept/fleet", None, id="no evaluation"),
    ],
)
def test_videos_are_beside_the_checkpoints_or_in_the_output(
    changes: dict[str, Any], checkpoints: str | None, folder: str | None
) -> None:
    found = video_folder(fleet(changes).spec, None if checkpoints is None else Path(checkpoints), Path("/tmp/run"))
    assert found == (None if folder is None else Path(folder))


def test_on_a_cluster_without_such_a_folder_there_is_none() -> None:
    assert video_folder(fleet(VIDEO).spec, None) is None


def test_each_episode_is_a_file_and_the_status_names_the_newest(tmp_path: Path) -> None:
    folder = VideoFolder(tmp_path / "videos")
    status = EvaluationStatus(video=VideoStatus(version=3))
    assert folder.named_in(status) == status
    for episode in (0, 1):
        folder.log_video(video(episode=episode))
    names = names_in(tmp_path / "videos")
    assert names == ["version-000003-episode-0-return-1.5.webp", "version-000003-episode-1-return-1.5.webp"]
    assert (tmp_path / "videos" / names[0]).read_bytes() == b"file"
    named = folder.named_in(status).video
    assert named is not None
    assert (named.version, named.path) == (3, str(tmp_path / "videos" / names[1]))
    assert folder.named_in(EvaluationStatus()) == EvaluationStatus()


def test_the_status_and_the_report_name_the_same_video_after_a_resume_at_an_older_version(tmp_path: Path) -> None:
    before = VideoFolder(tmp_path)
    for version in (100, 130):
        before.log_video(video(version=version))
    for file in tmp_path.glob("[!.]*"):
        os.utime(file, (0, 0))  # some time ago
    resumed = VideoFolder(tmp_path)
    resumed.log_video(video(version=110))
    named = resumed.named_in(EvaluationStatus(video=VideoStatus(version=110))).video
    assert named is not None
    (shown,) = newest_videos(tmp_path)
    assert named.path == str(tmp_path / name_of(shown.version, shown.episode, float(shown.episode_return)))
    assert shown.version == 110


def test_a_version_that_a_resumed_run_plays_anew_has_one_video(tmp_path: Path) -> None:
    folder = VideoFolder(tmp_path)
    for value in (1.0, 2.0):
        folder.log_video(video(value=value))
    folder.log_video(video(episode=10))
    assert names_in(tmp_path) == [
        "version-000003-episode-0-return-2.webp",
        "version-000003-episode-10-return-1.5.webp",
    ]


def test_a_displaced_driver_adds_and_removes_no_video(tmp_path: Path) -> None:
    first = VideoFolder(tmp_path)
    first.log_video(video(value=1.0))
    second = VideoFolder(tmp_path)
    second.log_video(video(value=2.0))
    for one in (video(value=1.0), video(version=4)):
        with pytest.raises(FolderTakenOver, match=f"^{tmp_path}: another driver has taken over the folder"):
            first.log_video(one)
    assert names_in(tmp_path) == ["version-000003-episode-0-return-2.webp"]


def test_a_folder_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    folder = VideoFolder(tmp_path / "videos")
    shutil.rmtree(tmp_path / "videos")
    folder.log_video(video())
    assert names_in(tmp_path / "videos") == ["version-000003-episode-0-return-1.5.webp"]


def test_a_folder_that_cannot_be_made_ends_no_run_and_is_said_with_the_first_video(tmp_path: Path) -> None:
    (tmp_path / "videos").write_text("a file")
    folder = VideoFolder(tmp_path / "videos")
    with pytest.raises(NotADirectoryError, match="not a folder, but a file; name a folder"):
        folder.log_video(video())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
def test_a_driver_that_starts_while_the_volume_fails_writes_its_later_videos(tmp_path: Path, number: int) -> None:
    with patch.object(Path, "mkdir", side_effect=OSError(number, os.strerror(number))):
        folder = VideoFolder(tmp_path / "videos")
        with pytest.raises(OSError, match=os.strerror(number)):
            folder.log_video(video())
    folder.log_video(video())
    assert names_in(tmp_path / "videos") == ["version-000003-episode-0-return-1.5.webp"]


def test_a_driver_whose_start_failed_takes_the_folder_from_no_other_driver(tmp_path: Path) -> None:
    with patch.object(Path, "mkdir", side_effect=OSError(errno.EIO, os.strerror(errno.EIO))):
        failed = VideoFolder(tmp_path)
    newer = VideoFolder(tmp_path)
    with pytest.raises(OSError, match="Input/output error"):
        failed.log_video(video(version=1))
    newer.log_video(video())
    assert names_in(tmp_path) == ["version-000003-episode-0-return-1.5.webp"]

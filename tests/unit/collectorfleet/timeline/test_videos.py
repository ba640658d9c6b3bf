"""Files of videos say by their names what they show."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectorfleet.timeline.videos import _NAME, VideoFile, name_of, newest_videos


def test_a_name_sorts_by_version_and_tells_the_return() -> None:
    assert name_of(120, 0, 475.25) == "version-000120-episode-0-return-475.25.webp"


@given(st.integers(0, 10**9), st.integers(0, 99_999), st.floats(allow_nan=False, allow_infinity=False))
def test_each_name_can_be_read(version: int, episode: int, value: float) -> None:
    found = _NAME.fullmatch(name_of(version, episode, value))
    assert found is not None
    assert (int(found[1]), int(found[2]), found[3]) == (version, episode, f"{value:.6g}")


def test_the_newest_version_is_shown_with_all_of_its_episodes_in_their_order(tmp_path: Path) -> None:
    for version, episode in ((5, 0), (1_000_000, 1), (1_000_000, 0), (999_999, 0)):
        file = tmp_path / name_of(version, episode, -2.5)
        file.write_bytes(b"%d" % episode)
        os.utime(file, (0, 0))  # as on a file system with coarse times
    (tmp_path / ".unfinished-version-000009-episode-0-return-1.webp").touch()
    (tmp_path / "mine.webp").touch()
    assert newest_videos(tmp_path) == [
        VideoFile(1_000_000, 0, "-2.5", b"0"),
        VideoFile(1_000_000, 1, "-2.5", b"1"),
    ]


def test_the_video_that_was_written_last_is_shown_though_a_lost_timeline_had_higher_versions(tmp_path: Path) -> None:
    """A driver that resumes from a checkpoint continues with a lower version than the newest file has."""
    for seconds, (version, episode) in enumerate([(130, 0), (130, 1), (110, 0), (110, 1)]):
        file = tmp_path / name_of(version, episode, 1.0)
        file.write_bytes(b"")
        os.utime(file, (seconds, seconds))
    assert [(video.version, video.episode) for video in newest_videos(tmp_path)] == [(110, 0), (110, 1)]


def test_a_folder_without_videos_and_no_folder_show_none(tmp_path: Path) -> None:
    assert newest_videos(tmp_path) == []
    assert newest_videos(tmp_path / "videos") == []


def test_what_is_no_folder_and_no_file_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert newest_videos(tmp_path / "file") == []
    (tmp_path / name_of(3, 0, 5.0)).mkdir()
    assert newest_videos(tmp_path) == []
    os.mkfifo(tmp_path / name_of(3, 1, 5.0))
    assert newest_videos(tmp_path) == []

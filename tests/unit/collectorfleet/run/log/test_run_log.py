"""Numbers come to every logger, and no logger costs the run anything."""

from __future__ import annotations

import errno
import re
import threading
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tests.manifests import fleet
from tests.wait import eventually
from torchrl.record.loggers.csv import CSVLogger

from collectorfleet.codec.video import encode
from collectorfleet.evaluation.result import EpisodeVideo
from collectorfleet.run.log import run_log
from collectorfleet.run.log.loggers import TensorBoard, video_sinks
from collectorfleet.run.log.opening import open_run_log
from collectorfleet.run.log.run_log import RunLog, fleet_metrics
from collectorfleet.run.video_folder import VideoFolder
from collectorfleet_api.v1alpha1 import DriverReport, Progress, WeightsStatus


def video(version: int, data: bytes = b"") -> EpisodeVideo:
    return EpisodeVideo(version, 640, 0, 0, 1.0, 10, data)


REPORT = DriverReport(
    progress=Progress(frames_delivered=400, frames_per_second=100.0, metrics={"reward": 2.0}),
    weights=WeightsStatus(published=7),
)
FLEETS = {
    "collectorfleet/frames_delivered": 400.0,
    "collectorfleet/frames_per_second": 100.0,
    "collectorfleet/weights_published_version": 7.0,
}


class Recorded:
    """A logger that keeps what it gets; it raises, or waits, when it is told to."""

    def __init__(self) -> None:
        self.records: list[tuple[dict[str, float], int]] = []
        self.closed = False
        self.error: BaseException | None = None
        self.go_on = threading.Event()
        self.go_on.set()

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> None:
        self.go_on.wait()
        if self.error:
            raise self.error
        self.records.append((dict(metrics), step))

    def close(self) -> None:
        self.closed = True


def test_the_users_numbers_come_at_once_and_the_fleets_at_the_end() -> None:
    one, other = Recorded(), Recorded()
    with RunLog({"one": one, "other": other}, lambda: REPORT, every_seconds=3600) as log:
        log.add({"reward": 1.0}, 200)
        log.add({"reward": 2.0}, 400)
        eventually(lambda: len(other.records), until=lambda seen: seen == 2, within=10, what="two records")
    wanted = [({"reward": 1.0}, 200), ({"reward": 2.0}, 400), (fleet_metrics(REPORT), 400)]
    assert (one.records, other.records) == (wanted, wanted)
    assert (one.closed, other.closed) == (True, True)


def test_the_fleets_numbers_come_again_and_again() -> None:
    logger = Recorded()
    with RunLog({"one": logger}, lambda: REPORT, every_seconds=0.02):
        eventually(lambda: len(logger.records), until=lambda seen: seen >= 3, within=10, what="three records")
    assert {step for _, step in logger.records} == {400}


def test_before_the_first_frame_there_are_none_of_the_fleet() -> None:
    logger = Recorded()
    with RunLog({"one": logger}, DriverReport, every_seconds=3600):
        pass
    assert logger.records == []


def test_a_logger_that_fails_is_told_of_once_and_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    broken, other = Recorded(), Recorded()
    broken.error = OSError("No space left on device")
    with caplog.at_level("INFO"), RunLog({"broken": broken, "other": other}, DriverReport, every_seconds=3600) as log:
        for frames in (1, 2, 3):
            log.add({"reward": 1.0}, frames)
        eventually(lambda: len(other.records), until=lambda seen: seen == 3, within=10, what="three records")
        broken.error = None
        log.add({"reward": 1.0}, 4)
    assert [one.message for one in caplog.records] == [
        "broken: OSError: No space left on device; the run continues without these numbers",
        "broken accepts numbers again",
    ]
    assert broken.records == [({"reward": 1.0}, 4)]


def test_a_logger_that_exits_is_told_of_and_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    broken, other = Recorded(), Recorded()
    broken.error = SystemExit("no account")
    with RunLog({"broken": broken, "other": other}, DriverReport, every_seconds=3600) as log:
        log.add({"reward": 1.0}, 1)
    assert [one.message for one in caplog.records] == [
        "broken: SystemExit: no account; the run continues without these numbers"
    ]
    assert other.records == [({"reward": 1.0}, 1)]


def test_a_logger_that_waits_for_a_network_holds_up_nothing_and_the_end_only_for_a_while(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_log, "MOST_WAITING", 5)
    monkeypatch.setattr(run_log, "CLOSE_SECONDS", 0.1)
    slow = Recorded()
    slow.go_on.clear()
    try:
        with RunLog({"slow": slow}, DriverReport, every_seconds=3600) as log:
            for frames in range(100):
                log.add({"reward": 1.0}, frames)
    finally:
        slow.go_on.set()
    full, late = (one.message for one in caplog.records)
    assert full == "slow: 5 records wait to be logged; further records are dropped"
    assert late.startswith("slow: not finished 0.1 s after the run; about ")
    eventually(lambda: slow.closed, within=10, what="what was waited for")


def test_videos_go_to_each_sink_without_a_logger_of_numbers_too() -> None:
    one: list[EpisodeVideo] = []
    other: list[EpisodeVideo] = []
    sinks = {"one": one.append, "other": other.append}
    with RunLog({}, lambda: REPORT, every_seconds=3600, video_sinks=sinks) as log:
        log.add_videos([video(1), video(2)])
        log.add_videos([video(3)])
        log.wait_for_videos()
        assert len(other) == 3
    assert one == other == [video(1), video(2), video(3)]


def test_a_sink_of_videos_that_fails_is_told_of_once_and_costs_the_others_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(_: EpisodeVideo) -> None:
        raise OSError("No space left on device")

    kept: list[EpisodeVideo] = []
    logger = Recorded()
    sinks = {"broken": broken, "other": kept.append}
    with RunLog({"logger": logger}, DriverReport, every_seconds=3600, video_sinks=sinks) as log:
        log.add_videos([video(1), video(2)])
        log.add({"reward": 1.0}, 1)
    assert [one.message for one in caplog.records] == [
        "videos for broken: OSError: No space left on device; the run continues without these videos"
    ]
    assert (kept, logger.records) == ([video(1), video(2)], [({"reward": 1.0}, 1)])


def test_few_videos_wait_for_a_logger_that_hangs(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_log, "CLOSE_SECONDS", 0.1)
    go_on = threading.Event()
    took: list[EpisodeVideo] = []

    def slow(found: EpisodeVideo) -> None:
        go_on.wait()
        took.append(found)

    try:
        with RunLog({}, DriverReport, every_seconds=3600, video_sinks={"slow": slow}) as log:
            for version in range(30):
                log.add_videos([video(version)])
    finally:
        go_on.set()
    assert caplog.records[0].message == (
        "slow: videos of 10 evaluations wait, so the videos of a further evaluation are dropped"
    )
    eventually(lambda: len(took), until=lambda seen: 10 <= seen <= 11, within=10, what="those that waited")


def test_videos_that_are_added_while_all_places_for_records_are_taken_drop_no_record(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_log, "MOST_WAITING", 5)
    slow, took = Recorded(), list[EpisodeVideo]()
    slow.go_on.clear()
    try:
        with RunLog({"slow": slow}, DriverReport, every_seconds=3600, video_sinks={"other": took.append}) as log:
            log.add({"reward": 1.0}, 0)
            eventually(log._waiting.empty, within=10, what="the first record, which its logger does not take")
            for frames in range(1, 6):
                log.add({"reward": 1.0}, frames)
            log.add_videos([video(1)])
            assert caplog.messages == []
            log.add({"reward": 1.0}, 6)
            assert caplog.messages == ["slow, other: 5 records wait to be logged; further records are dropped"]
            slow.go_on.set()
    finally:
        slow.go_on.set()
    assert [frames for _, frames in slow.records] == [0, 1, 2, 3, 4, 5]
    assert took == [video(1)]


def test_tensorboard_shows_a_video_as_a_gif(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path)
    board.log_metrics({"reward": 1.0}, 400)
    video_sinks({"board": board})["board"](video(5, encode([np.zeros((8, 16, 3), np.uint8)] * 2)))
    board.close()
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    (image,) = events.Images("evaluation/video/0")
    assert (image.step, image.width, image.height) == (640, 16, 8)
    assert image.encoded_image_string.startswith(b"GIF89a")
    assert events.Scalars("reward")[0].value == 1.0


def test_a_logger_of_torchrl_gets_the_frames_in_its_own_order_of_dimensions(tmp_path: Path) -> None:
    logger = CSVLogger("mine", str(tmp_path))
    numbers_only = Recorded()
    sinks = video_sinks({"mine": logger, "numbers only": numbers_only})
    assert list(sinks) == ["mine"]
    frames = [np.full((8, 16, 3), level, np.uint8) for level in (0, 255)]
    sinks["mine"](video(5, encode(frames)))
    (file,) = (tmp_path / "mine" / "videos").rglob("*.pt")
    found = torch.load(file, weights_only=True)
    assert found.shape == (1, 2, 3, 8, 16)
    assert found.dtype == torch.uint8
    assert found.float().mean((0, 2, 3, 4)).tolist() == [0.0, 255.0]


@pytest.mark.parametrize("keeper", ["nobody", "a folder", "a logger"])
def test_videos_that_nobody_takes_are_told_of(keeper: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log_of = {"spec.driver.log": {"tensorboard": str(tmp_path)}} if keeper == "a logger" else {}
    folder = VideoFolder(tmp_path) if keeper == "a folder" else None
    opened = open_run_log(fleet({"spec.evaluation": {}} | log_of), DriverReport, folder)
    assert caplog.records == []  # a script requests videos later
    opened.expect_videos()
    sentence = (
        "evaluation.video: no folder and no logger stores the videos; set driver.checkpoint or driver.log, or read "
        "collector.videos() in your code"
    )
    assert [one.message for one in caplog.records] == [sentence] * (keeper == "nobody")


def test_without_loggers_there_is_no_thread() -> None:
    with RunLog({}, DriverReport, every_seconds=1) as log:
        log.add({"reward": 1.0}, 1)
        assert "run log" not in {thread.name for thread in threading.enumerate()}


def test_what_the_user_reported_is_not_the_fleets() -> None:
    found = fleet_metrics(REPORT)
    assert found.items() >= FLEETS.items()
    assert [name for name in found if "reward" in name or "reported" in name] == []


def test_a_logger_that_fails_names_the_file_the_room_that_is_left_and_what_to_do(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    broken = Recorded()
    broken.error = OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "events"))
    with RunLog({"driver.log.logger mine": broken}, DriverReport, every_seconds=3600) as log:
        log.add({"reward": 1.0}, 1)
    (said,) = caplog.messages
    assert re.fullmatch(
        r"driver\.log\.logger mine: OSError: \[Errno 28\] No space left on device \([\d,]+ of [\d,]+ bytes left\): "
        rf"'{tmp_path}/events'; make room on the volume; the run continues without these numbers",
        said,
    )

"""From reports to a timeline."""

from __future__ import annotations

from typing import Any

from collectorfleet.timeline.recorder import MOST_EARLIER, MOST_HAPPENED, MOST_LIVES, MOST_SPANS, Recorder
from collectorfleet.timeline.timeline import Earlier, RunEvent, Span, Timeline
from collectorfleet_api.v1alpha1 import CollectorState, CollectorStatus, DriverReport, Progress, WeightsStatus

STARTING, READY, FAILED = CollectorState.STARTING, CollectorState.READY, CollectorState.FAILED


def row(state: CollectorState, name: str = "c0", **more: Any) -> CollectorStatus:
    return CollectorStatus(name=name, state=state, **more)


def report(*rows: CollectorStatus, **progress: Any) -> DriverReport:
    return DriverReport(progress=Progress(**progress), collectors=list(rows))


def test_a_life_is_one_span_for_each_state() -> None:
    recorder = Recorder("f", 0.0)
    for now, state in enumerate((STARTING, STARTING, READY, READY, READY)):
        recorder.note(report(row(state)), float(now))
    assert recorder.timeline().lives == {
        "c0": [Span(state="Starting", begin=0, end=2), Span(state="Ready", begin=2, end=4)]
    }


def test_a_loss_is_told_once_with_its_cause() -> None:
    recorder = Recorder("f", 0.0)
    recorder.note(report(row(READY)), 1.0)
    lost = row(STARTING, restarts=1, last_error="Died: killed")
    for now in (2.0, 3.0):
        recorder.note(report(lost), now)
    recorder.note(report(row(READY, restarts=2, last_error="Died: killed")), 4.0)
    assert recorder.timeline().happened == [
        RunEvent(time=2.0, what="Died: killed", collector="c0"),
        RunEvent(time=4.0, what="Died: killed", collector="c0"),
    ]


def test_one_that_was_replaced_between_two_looks_begins_another_span() -> None:
    recorder = Recorder("f", 0.0)
    recorder.note(report(row(READY)), 1.0)
    recorder.note(report(row(READY, restarts=1)), 2.0)
    assert [span.begin for span in recorder.timeline().lives["c0"]] == [1.0, 2.0]


def test_the_next_driver_goes_on_and_says_so() -> None:
    first = Recorder("f", 0.0)
    first.note(report(row(READY), frames_delivered=10), 5.0)
    second = Recorder("f", 60.0, Timeline.from_wire(first.timeline().to_wire()))
    second.note(report(row(STARTING), frames_delivered=8), 61.0)
    second.end("completed: done")
    found = second.timeline()
    assert (found.began, found.times, found.series["frames"]) == (0.0, [5.0, 61.0], [10.0, 8.0])
    assert found.happened == [RunEvent(time=60.0, what="the driver was restarted")]
    # What the first did not see, nobody says.
    assert found.lives["c0"] == [Span(state="Ready", begin=5, end=5), Span(state="Starting", begin=61, end=61)]
    assert found.ended == "completed: done"


def test_a_restart_names_the_changed_fields_and_the_end_of_the_earlier_driver() -> None:
    before = {
        "image": "fleet:1",
        "driver": {"train": {"kwargs": {"lr": 0.1, "seed": 1}}},
        "collectors": {"replicas": 2},
    }
    after = {"image": "fleet:2", "driver": {"train": {"kwargs": {"lr": 0.2, "seed": 1}}}, "collectors": {"replicas": 2}}
    first = Recorder("f", 0.0, None, before)
    assert restart_of(first, after) == ("the driver was restarted; changed in the spec: driver.train.kwargs.lr, image")
    assert restart_of(first, before) == "the driver was restarted"
    assert restart_of(Recorder("f", 0.0), after) == "the driver was restarted"
    first.end("stopped: Ctrl-C")
    assert restart_of(first, before) == "the driver was restarted; the earlier driver ended with: stopped: Ctrl-C"


def restart_of(first: Recorder, configuration: dict[str, Any]) -> str:
    (restart,) = Recorder("f", 60.0, first.timeline(), configuration).timeline().happened
    return restart.what


def test_numbers_that_are_not_known_are_holes_and_what_is_no_number_too() -> None:
    recorder = Recorder("f", 0.0)
    recorder.note(report(metrics={"loss": float("nan"), "reward": 1.0}), 1.0)
    recorder.note(DriverReport(weights=WeightsStatus(published=3)), 2.0)
    series = recorder.timeline().series
    assert series["reported/reward"] == [1.0, None]
    assert series["published"] == [None, 3.0]
    assert "reported/loss" not in series


def test_a_run_without_end_is_bounded() -> None:
    recorder = Recorder("f", 0.0)
    for now in range(2 * MOST_HAPPENED):
        state = (READY, STARTING)[now % 2]
        rows = [row(state, restarts=now), *(row(FAILED, f"c{number}") for number in range(1, MOST_LIVES + 20))]
        recorder.note(report(*rows), float(now))
    found = recorder.timeline()
    assert (len(found.happened), found.left_out) == (MOST_HAPPENED, MOST_HAPPENED - 1)
    assert len(found.lives["c0"]) == MOST_SPANS
    assert len(found.lives) == MOST_LIVES


def driven(before: Timeline | None, frames: int, lr: float) -> Timeline:
    """The timeline after one more driver."""
    recorder = Recorder("f", 0.0, before, {"lr": lr})
    if frames:
        recorder.note(report(frames_delivered=frames), float(frames))
    return Timeline.from_wire(recorder.timeline().to_wire())


def test_a_driver_with_another_configuration_keeps_the_earlier_one_with_its_frames() -> None:
    run = driven(driven(driven(None, 100, 0.1), 200, 0.1), 300, 0.001)
    assert (run.configuration, run.earlier) == (
        {"lr": 0.001},
        [Earlier(until_frames=200, configuration={"lr": 0.1})],
    )


def test_a_configuration_whose_driver_delivered_nothing_is_not_kept() -> None:
    assert driven(driven(None, 0, 0.1), 300, 0.001).earlier == []
    assert [one.configuration["lr"] for one in driven(driven(driven(None, 9, 1), 0, 2), 20, 3).earlier] == [1]


def test_the_newest_earlier_configurations_are_kept() -> None:
    run = None
    for number in range(MOST_EARLIER + 5):
        run = driven(run, number + 1, number)
    assert run is not None
    assert [one.configuration["lr"] for one in run.earlier] == list(range(4, MOST_EARLIER + 4))

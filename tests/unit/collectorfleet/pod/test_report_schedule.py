"""Reports go out on change, at most every 2 s, and at once on a transition."""

from __future__ import annotations

from collectorfleet.pod.report_schedule import LastWrite, due
from collectorfleet_api.v1alpha1 import CollectorState, CollectorStatus, DriverReport, Progress, WeightsStatus


def report(batches: int = 5, state: CollectorState = CollectorState.READY, published: int = 5) -> DriverReport:
    return DriverReport(
        weights=WeightsStatus(published=published, acknowledged=published),
        progress=Progress(batches=batches),
        collectors=[CollectorStatus(name="c0", state=state)],
    )


def test_the_first_report_goes_out() -> None:
    assert due(DriverReport(), None, now=0)


def test_numbers_that_grow_wait_two_seconds() -> None:
    written = LastWrite(report(batches=5), at=10)
    assert not due(report(batches=6), written, now=11.9)
    assert due(report(batches=6), written, now=12)


def test_a_collector_that_is_lost_is_reported_at_once() -> None:
    written = LastWrite(report(), at=10)
    assert due(report(state=CollectorState.RETIRED), written, now=10.25)


def test_collectors_of_a_large_fleet_that_come_and_go_are_reported_no_faster_than_numbers() -> None:
    def fleet(ready: int) -> DriverReport:
        states = [CollectorState.STARTING if i >= ready else CollectorState.READY for i in range(100)]
        rows = [CollectorStatus(name=f"c{i}", state=state) for i, state in enumerate(states)]
        return DriverReport(collectors=rows)

    written = LastWrite(fleet(ready=1), at=10)
    assert not due(fleet(ready=2), written, now=11.9)
    assert due(fleet(ready=2), written, now=12)
    # Of a small one each is a write of its own.
    few = [row for row in fleet(ready=1).collectors if int(row.name[1:]) < 4]
    assert due(DriverReport(collectors=few[1:]), LastWrite(DriverReport(collectors=few), at=10), now=10.25)


def test_the_first_batch_and_the_first_weights_are_reported_at_once() -> None:
    assert due(report(batches=1), LastWrite(report(batches=0), at=10), now=10.25)
    before = report().model_copy(update={"weights": None})
    assert due(report(), LastWrite(before, at=10), now=10.25)


def test_a_later_version_is_a_number_that_grows() -> None:
    assert not due(report(published=6), LastWrite(report(published=5), at=10), now=11)


def test_a_quiet_report_is_written_again_after_five_seconds() -> None:
    written = LastWrite(report(), at=10)
    assert not due(report(), written, now=14.9)
    assert due(report(), written, now=15)

"""One table says how runs end, in the code and on the page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cluster.binaries import ROOT

from collectorfleet.errors import (
    CollectorClosed,
    FolderTakenOver,
    InfrastructureError,
    InvalidOption,
    TooFewCollectors,
    UserCodeError,
)
from collectorfleet.run.endings import (
    END_SECONDS,
    ENDINGS,
    LastCheckpoint,
    Way,
    checkpoint_of,
    seconds_for_batch,
    way_of,
)
from collectorfleet.run.exit import exit_code, exit_of
from collectorfleet.run.stop import StopNow

HEADER = (
    "| the run ends because | the batch in hand is | last checkpoint | if the function is interrupted | exit code |"
)


def page() -> list[list[str]]:
    """The table's rows."""
    lines = (ROOT / "docs/operate.md").read_text().splitlines()
    begin = lines.index(HEADER) + 2
    end = next(number for number, line in enumerate(lines) if number > begin and not line.startswith("|"))
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[begin:end]]


def cell(one: LastCheckpoint | None) -> str:
    return one.value if one is not None else ""


def test_every_way_has_a_row() -> None:
    assert set(ENDINGS) == set(Way)


def test_the_page_has_the_table() -> None:
    said = [
        [way.value, one.batch.value, *map(cell, (one.returned, one.cut_short)), str(one.exit_code)]
        for way, one in ENDINGS.items()
    ]
    assert page() == said


@pytest.mark.parametrize(
    ("error", "way"),
    [
        (None, Way.RETURNED),
        (UserCodeError("train t:t", "ValueError: no"), Way.RAISED),
        (InvalidOption("frames_per_batch is 0"), Way.RAISED),
        (FolderTakenOver("/checkpoints", "another"), Way.TAKEN_OVER),
        (TooFewCollectors("only 1 of 4"), Way.LOST),
        (InfrastructureError("Ray is gone"), Way.LOST),
        (CollectorClosed("used after shutdown()"), Way.LOST),
        (OSError(28, "No space left on device"), Way.LOST),
        (KeyboardInterrupt(), Way.LOST),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_a_run_raises_says_how_it_ended_unless_it_was_asked_to_end(error: BaseException | None, way: Way) -> None:
    assert way_of(error, None) is way
    assert way_of(error, Way.SIGTERM) is Way.SIGTERM
    # The exit code of the table is the one that the driver ends with.
    if error is not None:
        assert exit_code(exit_of(error)) == ENDINGS[way].exit_code


def test_a_run_that_was_interrupted_leaves_the_last_batch_boundary_and_one_that_returned_its_end() -> None:
    way = way_of(StopNow(), Way.SIGTERM)
    assert checkpoint_of(way, returned=False) is LastCheckpoint.OF_THE_LAST_BATCH
    assert checkpoint_of(way, returned=True) is LastCheckpoint.OF_THE_END


def test_a_displaced_driver_writes_nothing_however_it_ends() -> None:
    assert {checkpoint_of(Way.TAKEN_OVER, returned=returned) for returned in (True, False)} == {LastCheckpoint.NONE}


@pytest.mark.parametrize(
    ("way", "killed_after", "checkpoint", "seconds"),
    [
        pytest.param(Way.SIGTERM, 30, 5, 10, id="a checkpoint of 5 s in Kubernetes' grace"),
        pytest.param(Way.SIGTERM, 30, 0, 20, id="no checkpoint"),
        pytest.param(Way.SIGTERM, 120, 20, 70, id="a checkpoint of 20 s in the operator's grace"),
        pytest.param(Way.SIGTERM, 30, 20, 0, id="a checkpoint that needs it all"),
        pytest.param(Way.SIGTERM, 3, 0, 2, id="a short grace"),
        pytest.param(Way.SIGTERM, 0, 0, 0, id="none"),
        pytest.param(Way.TAKEN_OVER, 30, 5, 10, id="taken over"),
        pytest.param(Way.TAKEN_OVER, 600, 5, 10, id="taken over, with a long grace"),
        pytest.param(Way.INTERRUPTED, None, 60, 5, id="a person waits"),
        pytest.param(Way.ORDERED, 30, 5, None, id="the operator waits"),
        pytest.param(Way.ACCESS_REFUSED, 30, 5, None, id="nobody waits"),
    ],
)
def test_the_batch_has_what_the_checkpoint_and_the_end_leave_of_the_grace(
    way: Way, killed_after: float | None, checkpoint: float, seconds: float | None
) -> None:
    assert seconds_for_batch(way, killed_after, checkpoint) == seconds


@given(killed_after=st.floats(0, 1e6), checkpoint=st.floats(0, 1e6))
def test_what_is_left_for_the_checkpoint_is_as_much_as_it_took_or_all_there_is(
    killed_after: float, checkpoint: float
) -> None:
    seconds = seconds_for_batch(Way.SIGTERM, killed_after, checkpoint)
    assert seconds is not None
    assert 0 <= seconds <= killed_after
    assert killed_after - seconds >= min(checkpoint + min(END_SECONDS, killed_after / 3), killed_after) - 1e-6

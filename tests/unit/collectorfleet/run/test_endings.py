"""One table says how runs end, in the code and on the page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cluster.binaries import ROOT
from tests.manifests import fleet
from tests.unit.collectorfleet_operator.world import DRIVER, NOON, running

from collectorfleet.errors import (
    CollectorClosed,
    FolderTakenOver,
    InfrastructureError,
    InvalidOption,
    TooFewCollectors,
    UserCodeError,
)
from collectorfleet.local.status import final_status
from collectorfleet.run.endings import (
    END_SECONDS,
    ENDINGS,
    EndReason,
    LastCheckpoint,
    checkpoint_of,
    end_reason,
    seconds_for_batch,
)
from collectorfleet.run.exit import Stopped, exit_code, exit_of
from collectorfleet.run.stop import StopNow
from collectorfleet_api.v1alpha1 import ConditionType, DriverReport, Phase
from collectorfleet_operator.children.driver_job import JOB

HEADER = (
    "| the run ends because | the batch in hand is | last checkpoint | if the function is interrupted | exit code "
    "| status |"
)


def page() -> list[list[str]]:
    """The table's rows."""
    lines = (ROOT / "docs/operate.md").read_text().splitlines()
    begin = lines.index(HEADER) + 2
    end = next(number for number, line in enumerate(lines) if number > begin and not line.startswith("|"))
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[begin:end]]


def cell(one: LastCheckpoint | None) -> str:
    return one.value if one is not None else ""


def status_after(way: EndReason) -> str:
    """What the status shows of a run that ended this way."""
    match way:
        case EndReason.FLEET_GONE:
            return ""
        case EndReason.INTERRUPTED:  # a terminal, so the run is on a machine without the operator
            stopped = Stopped("Ctrl-C", ENDINGS[way].exit_code)
            found = final_status(fleet().spec, DriverReport(), stopped, NOON)
            [completed] = [one for one in found.conditions if one.type == ConditionType.COMPLETED]
            return f"`{completed.reason}`"
        case _:
            return status_of_operator(ENDINGS[way].exit_code)


def status_of_operator(code: int) -> str:
    world = running()
    world.end_driver(code)
    rules = world.get(JOB, DRIVER)["spec"]["podFailurePolicy"]["rules"]
    actions = [rule["action"] for rule in rules if code in rule.get("onExitCodes", {}).get("values", [])]
    match actions:
        case ["FailJob"]:
            world.end_job("Failed", failed=1)
        case ["Ignore"]:
            pass
        case _:
            world.store({**world.get(JOB, DRIVER), "status": {"failed": 1 if code else 0}})
    found = world.look()
    if found.phase in (Phase.COMPLETED, Phase.FAILED):
        return f"`{found.phase}`"
    assert found.driver is not None
    return "restart" if found.driver.restarts else "no restart"


def test_every_way_has_a_row() -> None:
    assert set(ENDINGS) == set(EndReason)


def test_the_page_has_the_table() -> None:
    said = [
        [way.value, one.batch.value, *map(cell, (one.returned, one.cut_short)), str(one.exit_code), status_after(way)]
        for way, one in ENDINGS.items()
    ]
    assert page() == said


@pytest.mark.parametrize(
    ("error", "way"),
    [
        (None, EndReason.RETURNED),
        (UserCodeError("train t:t", "ValueError: no"), EndReason.RAISED),
        (InvalidOption("frames_per_batch is 0"), EndReason.RAISED),
        (FolderTakenOver("/checkpoints", "another"), EndReason.TAKEN_OVER),
        (TooFewCollectors("only 1 of 4"), EndReason.LOST),
        (InfrastructureError("Ray is gone"), EndReason.LOST),
        (CollectorClosed("used after shutdown()"), EndReason.LOST),
        (OSError(28, "No space left on device"), EndReason.LOST),
        (KeyboardInterrupt(), EndReason.LOST),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_a_run_raises_says_how_it_ended_unless_it_was_asked_to_end(
    error: BaseException | None, way: EndReason
) -> None:
    assert end_reason(error, None) is way
    assert end_reason(error, EndReason.SIGTERM) is EndReason.SIGTERM
    # The exit code of the table is the one that the driver ends with.
    if error is not None:
        assert exit_code(exit_of(error)) == ENDINGS[way].exit_code


def test_a_run_that_was_interrupted_leaves_the_last_batch_boundary_and_one_that_returned_its_end() -> None:
    way = end_reason(StopNow(), EndReason.SIGTERM)
    assert checkpoint_of(way, returned=False) is LastCheckpoint.OF_THE_LAST_BATCH
    assert checkpoint_of(way, returned=True) is LastCheckpoint.OF_THE_END


def test_a_displaced_driver_writes_nothing_however_it_ends() -> None:
    assert {checkpoint_of(EndReason.TAKEN_OVER, returned=returned) for returned in (True, False)} == {
        LastCheckpoint.NONE
    }


@pytest.mark.parametrize(
    ("way", "killed_after", "checkpoint", "seconds"),
    [
        pytest.param(EndReason.SIGTERM, 30, 5, 10, id="a checkpoint of 5 s in Kubernetes' grace"),
        pytest.param(EndReason.SIGTERM, 30, 0, 20, id="no checkpoint"),
        pytest.param(EndReason.SIGTERM, 120, 20, 70, id="a checkpoint of 20 s in the operator's grace"),
        pytest.param(EndReason.SIGTERM, 30, 20, 0, id="a checkpoint that needs it all"),
        pytest.param(EndReason.SIGTERM, 3, 0, 2, id="a short grace"),
        pytest.param(EndReason.SIGTERM, 0, 0, 0, id="none"),
        pytest.param(EndReason.TAKEN_OVER, 30, 5, 10, id="taken over"),
        pytest.param(EndReason.TAKEN_OVER, 600, 5, 10, id="taken over, with a long grace"),
        pytest.param(EndReason.INTERRUPTED, None, 60, 5, id="a person waits"),
        pytest.param(EndReason.ORDERED, 30, 5, None, id="the operator waits"),
        pytest.param(EndReason.ACCESS_REFUSED, 30, 5, None, id="nobody waits"),
    ],
)
def test_the_batch_has_what_the_checkpoint_and_the_end_leave_of_the_grace(
    way: EndReason, killed_after: float | None, checkpoint: float, seconds: float | None
) -> None:
    assert seconds_for_batch(way, killed_after, checkpoint) == seconds


@given(killed_after=st.floats(0, 1e6), checkpoint=st.floats(0, 1e6))
def test_what_is_left_for_the_checkpoint_is_as_much_as_it_took_or_all_there_is(
    killed_after: float, checkpoint: float
) -> None:
    seconds = seconds_for_batch(EndReason.SIGTERM, killed_after, checkpoint)
    assert seconds is not None
    assert 0 <= seconds <= killed_after
    assert killed_after - seconds >= min(checkpoint + min(END_SECONDS, killed_after / 3), killed_after) - 1e-6

"""`stop` and `resume` of a fleet whose run is over already."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cluster.binaries import ROOT
from tests.unit.collectorfleet.cli.played_api import NAME, ApiServer

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.main import main

Said = pytest.CaptureFixture[str]


def fleet(state: str, **metadata: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / f"tests/data/fleets/{state}.json").read_text())["fleet"]
    return {**found, "metadata": {**found["metadata"], **metadata}}


def changes(lab: ApiServer) -> list[str]:
    return [request for request in lab.requests if not request.startswith("GET")]


def test_a_fleet_that_has_completed_is_not_said_to_be_suspended(lab: ApiServer, capsys: Said) -> None:
    lab.fleet = fleet("completed")
    assert main(["stop", NAME]) == ExitCode.DONE
    out, err = capsys.readouterr()
    assert out.startswith(f"fleet {NAME} has already ended: Completed, ")
    assert (err, changes(lab)) == ("", [])


def test_a_fleet_that_has_failed_is_suspended_so_that_it_can_be_tried_again(lab: ApiServer, capsys: Said) -> None:
    lab.fleet = fleet("failed")
    assert main(["stop", NAME]) == ExitCode.DONE
    out = capsys.readouterr().out
    assert out.startswith(f"fleet {NAME} has already ended: Failed, ")
    assert out.endswith(f"; to try again, run `collectorfleet resume {NAME}`\n")
    assert len(changes(lab)) == 1


@pytest.mark.parametrize(("state", "retry"), [("completed", False), ("failed", True)])
def test_a_fleet_that_is_over_does_not_go_on(state: str, retry: bool, lab: ApiServer, capsys: Said) -> None:
    lab.fleet = fleet(state)
    assert main(["resume", NAME]) == ExitCode.FAILED
    err = capsys.readouterr().err
    assert err.startswith(f"error: fleet {NAME} has already ended: {state.capitalize()}, ")
    assert (f"`collectorfleet stop {NAME}`, then `collectorfleet resume {NAME}`" in err) is retry


@pytest.mark.parametrize(
    ("reason", "later", "suspend"),
    [
        pytest.param("IdleTimeout", 0, [False, True, False], id="idle"),
        pytest.param("IdleTimeout", 1, [False], id="idle before a change of the spec"),
        pytest.param("Suspended", 0, [False], id="by its user"),
    ],
)
def test_a_resumed_fleet_that_was_idle_gets_a_changed_spec(
    reason: str, later: int, suspend: list[bool], lab: ApiServer, capsys: Said
) -> None:
    """The operator keeps an idle fleet suspended until its spec changes."""
    found = fleet("suspended")
    for condition in found["status"]["conditions"]:
        if condition["type"] == "Suspended":
            condition |= {"reason": reason, "observedGeneration": found["metadata"]["generation"] - later}
    lab.fleet = found
    assert main(["resume", NAME]) == ExitCode.DONE
    assert [json.loads(body) for body in lab.bodies] == [{"spec": {"suspend": one}} for one in suspend]
    assert capsys.readouterr().out.startswith(f"fleet {NAME} resumes; ")


def test_a_change_after_the_end_may_start_it_again(lab: ApiServer, capsys: Said) -> None:
    lab.fleet = fleet("failed", generation=99)
    assert main(["stop", NAME]) == ExitCode.DONE
    assert "is being suspended" in capsys.readouterr().out

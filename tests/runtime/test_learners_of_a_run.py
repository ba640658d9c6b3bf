"""The learners of a run, on a real Ray: what comes between the driver and its first batch."""

from __future__ import annotations

import threading

import pytest
from ray.util import placement_group_table
from tests.manifests import ABSENT, fleet
from tests.wait import eventually

from collectorfleet.run.driver_code import load_driver_code
from collectorfleet.run.endings import EndReason
from collectorfleet.run.history import RunHistory
from collectorfleet.run.session_opening import open_session
from collectorfleet.run.stop import StopReason, StopRequest, stop_on_signals
from collectorfleet_api.v1alpha1 import DriverReport

pytestmark = pytest.mark.usefixtures("local_ray")

# No node of this Ray has what Ray calls `learner`, so that they wait for room.
WAITS = fleet(
    {
        "spec.policy.factory": "tests.runtime.learners:make_both",
        "spec.driver.train": ABSENT,
        "spec.learners": {
            "factory": "tests.runtime.learners:Stepping",
            "split": "tests.runtime.learners:even_and_odd",
            "policies": [{"id": "acting", "module": "acting"}, {"id": "other", "module": "other"}],
        },
        "spec.collectors.availableTimeoutSeconds": 60,
    }
)
SUSPENDED = StopReason(EndReason.ORDERED, "the fleet is suspended")


def waiting() -> list[str]:
    return [name for name, one in placement_group_table().items() if one["state"] == "PENDING"]


def test_a_driver_that_waits_for_room_for_its_learners_ends_when_it_is_asked_to() -> None:
    stop = StopRequest(killed_after=600)

    def suspend() -> None:
        eventually(waiting, within=30)
        stop.request(SUSPENDED)

    asks = threading.Thread(target=suspend)
    history, share = RunHistory("run"), {"collectors": 0.0}
    session = open_session(
        WAITS, load_driver_code(WAITS.spec), stop, history, None, gpu_per_collector=share, starting=DriverReport()
    )
    with stop_on_signals(stop):
        asks.start()
        # StopNow is one, which Ray makes a plain one of where it is what waits.
        with pytest.raises(KeyboardInterrupt), session:
            pytest.fail("there is no room")
    asks.join()
    eventually(waiting, until=lambda left: not left, within=30)

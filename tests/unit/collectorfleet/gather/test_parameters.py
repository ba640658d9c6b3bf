"""Parameters of environments go along with requests until a collector is known to have them."""

from __future__ import annotations

from tests.unit.collectorfleet.gather.test_normalization import Fleet

from collectorfleet.gather.state.parameters import FleetParameters
from collectorfleet.messages import Parameters


def test_a_request_whose_answer_is_lost_is_sent_again_with_its_parameters() -> None:
    fleet = Fleet(collectors=1)
    remote = fleet.join("c0")
    fleet.shared.parameters = FleetParameters()
    fleet.shared.parameters.set_for_all({"level": 1})
    fleet.ask()
    newest = Parameters(1, {"level": 1})
    # Two requests wait, and the first of them alone needs to have them.
    assert [request.parameters for request in remote.requests] == [newest, None]
    fleet.world.lose_answer(remote)
    fleet.turn()
    fleet.turn()
    assert [request.parameters for request in remote.requests] == [None, newest]

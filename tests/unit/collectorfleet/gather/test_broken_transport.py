"""What the consumer hears when the gather thread cannot go on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.collectorfleet.gather.world import FRAMES, Played

from collectorfleet.errors import InfrastructureError
from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan


@pytest.mark.parametrize("error", [ConnectionError("InvalidAuthToken"), SystemExit("InvalidAuthToken")])
def test_a_transport_that_fails_is_nobodys_code(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    day = timedelta(days=1)
    played = Played(Plan(1, FRAMES, in_order=False, bound=None, total_frames=None), 1, limits=Limits(day, day, day, 1))

    def wait(_timeout: float) -> Any:
        raise error

    monkeypatch.setattr(played.world, "wait", wait)
    played.loop.start()
    with pytest.raises(InfrastructureError, match=f"gathering: {type(error).__name__}: InvalidAuthToken") as raised:
        played.consumer.next()
    assert raised.value.__cause__ is error
    played.loop.join(timeout=5)

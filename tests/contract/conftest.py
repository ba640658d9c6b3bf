"""Each contract test runs on every transport."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.contract.harness import Harness, in_process, over_a_process_group, over_ray, over_rpc, running

TRANSPORTS = {"in_process": in_process, "ray": over_ray, "process_group": over_a_process_group, "rpc": over_rpc}


@pytest.fixture(params=list(TRANSPORTS))
def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    if request.param == "ray":
        request.getfixturevalue("local_ray")
    with running(TRANSPORTS[request.param]) as made:
        yield made

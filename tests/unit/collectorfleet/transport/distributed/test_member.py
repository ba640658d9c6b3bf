"""The process of a collector that finds no driver."""

from __future__ import annotations

import socket

import pytest

from collectorfleet.messages import CollectorId
from collectorfleet.transport.distributed.member import member


def test_a_driver_that_cannot_be_reached_is_named_with_what_came_of_it() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # it refuses, because it does not listen
        address = bound.getsockname()
        with pytest.raises(
            SystemExit,
            match=rf"collector c3: the driver at 127.0.0.1:{address[1]} cannot be reached: ConnectionRefusedError: ",
        ):
            member(CollectorId("c3", 1), address, b"a token of 16 or more bytes")

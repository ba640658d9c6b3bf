"""Free ports, and which of them are listened on."""

from __future__ import annotations

import contextlib
import os
import socket

from collectorfleet.actor.simulator.ports import are_free, listeners, reserve


def test_reserved_ports_are_distinct_and_free() -> None:
    held = [reserve(["a", "b", "c"]) for _ in range(20)]
    with contextlib.ExitStack() as until_the_end:
        for one in held:
            until_the_end.callback(one.close)
        ports = [port for one in held for port in one.ports.values()]
        assert len(set(ports)) == 60
        assert are_free(ports)


def test_a_port_that_is_listened_on_is_not_free_and_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not are_free([port])
        assert listeners([port]) == {port: {os.fstat(server.fileno()).st_ino}}


def test_a_bound_port_that_nobody_listens_on_is_not_open() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        assert listeners([port]) == {port: set()}


def test_a_server_on_all_addresses_is_reached_by_loopback() -> None:
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        if family == socket.AF_INET6 and not socket.has_dualstack_ipv6():
            continue
        with socket.create_server((address, 0), family=family, dualstack_ipv6=family == socket.AF_INET6) as server:
            assert listeners([server.getsockname()[1]])[server.getsockname()[1]]

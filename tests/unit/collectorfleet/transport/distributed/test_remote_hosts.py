"""What hosts are told by the driver, whether or not they read it at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.wait import eventually

from collectorfleet.messages import CollectorId
from collectorfleet.transport.distributed import host_messages
from collectorfleet.transport.distributed.link import Link, dial
from collectorfleet.transport.distributed.remote_hosts import CollectorHosts

TOKEN = b"a token of 16 or more bytes"
MORE_THAN_SOCKETS_TAKE = "x" * 32 * 2**20


@pytest.fixture
def hosts() -> Iterator[CollectorHosts]:
    made = CollectorHosts("127.0.0.1", 0, TOKEN)
    yield made
    made.close()


@contextmanager
def joined(hosts: CollectorHosts, pod: str) -> Iterator[Link]:
    link = dial((hosts.host, hosts.port), TOKEN)
    link.send_message(host_messages.HostHello(0, 1, pod))
    eventually(lambda: pod in hosts.present(), within=10)
    yield link
    link.close()


def test_a_host_that_is_late_to_read_learns_that_another_has_its_rank(hosts: CollectorHosts) -> None:
    with joined(hosts, "first") as first:
        hosts.launch(CollectorId("c0", 0), (MORE_THAN_SOCKETS_TAKE, 1))
        with joined(hosts, "second") as second:
            assert isinstance(first.receive_message(), host_messages.Welcome)
            assert isinstance(first.receive_message(), host_messages.Launch)
            assert first.receive_message() == host_messages.Refused("second joined later as rank 0")
            assert isinstance(second.receive_message(), host_messages.Welcome)

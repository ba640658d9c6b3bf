"""A member that is stopped while megabytes are sent to it, in a process of its own."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
from tests.paused import go_on, pause
from tests.wait import eventually

from collectorfleet.messages import CollectorId
from collectorfleet.transport.distributed import group_messages
from collectorfleet.transport.distributed.courier import Courier
from collectorfleet.transport.distributed.link import Address, Link, Listener, dial

TOKEN = b"a token of 16 or more bytes"
MORE_THAN_SOCKETS_KEEP = b"x" * 2**25
STOPPED, OTHER = CollectorId("c0", 1), CollectorId("c1", 1)
# The kernel gives a peer that reads nothing up after 20 s (see link.py). Whatever is later has waited for that.
BEFORE_THE_KERNEL_GIVES_UP = 10.0


def receive(address: Address) -> None:
    """Receive messages, and send their sizes back."""
    link = dial(address, TOKEN)
    link.send_message(STOPPED)
    while True:
        link.send_message(len(link.receive_message()))


class Driver:
    """The links of its members, by the first message of each, and the sizes that the processes have sent back."""

    def __init__(self) -> None:
        self.links: dict[CollectorId, Link] = {}
        self.sizes: list[int] = []
        self.listener = Listener(("127.0.0.1", 0), TOKEN)
        self.listener.serve(self._handle_peer)

    def _handle_peer(self, link: Link, said: CollectorId) -> None:
        self.links[said] = link
        try:
            while True:
                self.sizes.append(link.receive_message())
        except (EOFError, OSError):
            return

    def link_of(self, collector: CollectorId) -> Link:
        eventually(lambda: collector in self.links, within=180, what=f"{collector} joined")
        return self.links[collector]


@pytest.fixture
def driver() -> Iterator[Driver]:
    made = Driver()
    yield made
    made.listener.close()
    for link in made.links.values():
        link.close()


@pytest.fixture
def process(driver: Driver) -> Iterator[BaseProcess]:
    made = multiprocessing.get_context("spawn").Process(target=receive, args=(driver.listener.address,), daemon=True)
    made.start()
    yield made
    made.kill()
    made.join()
    made.close()


def in_time(does: Any) -> bool:
    """Whether the function returns before the kernel gives the peer up."""
    thread = threading.Thread(target=does, daemon=True)
    thread.start()
    thread.join(BEFORE_THE_KERNEL_GIVES_UP)
    return not thread.is_alive()


def test_a_stopped_member_does_not_block_a_sender_and_later_receives_all_messages_in_order(
    driver: Driver, process: BaseProcess
) -> None:
    link = driver.link_of(STOPPED)
    assert process.pid is not None
    pause(process.pid)
    messages = [MORE_THAN_SOCKETS_KEEP, b"ab", MORE_THAN_SOCKETS_KEEP[1:], b"c"]

    def send_all() -> None:
        for message in messages:
            link.send_message(message)

    try:
        assert in_time(send_all)
    finally:
        go_on(process.pid)
    eventually(lambda: driver.sizes, until=[len(one) for one in messages].__eq__, within=60)


def test_a_stopped_member_with_megabytes_under_way_does_not_keep_a_call_from_others(
    driver: Driver, process: BaseProcess
) -> None:
    link = driver.link_of(STOPPED)
    other = dial(driver.listener.address, TOKEN)
    other.send_message(OTHER)
    other_link = driver.link_of(OTHER)
    assert process.pid is not None
    pause(process.pid)
    sender = threading.Thread(target=link.send_message, args=(MORE_THAN_SOCKETS_KEEP,), daemon=True)
    sender.start()
    sender.join(1.0)
    courier = Courier("127.0.0.1", lambda _: None)
    heard: list[Any] = []
    try:
        courier.join(STOPPED, link)
        assert in_time(lambda: courier.join(OTHER, other_link))
        assert in_time(lambda: heard.append(other.receive_message()))
        assert heard == [group_messages.RollCall()]
    finally:
        process.kill()
        other.close()
        courier.close()

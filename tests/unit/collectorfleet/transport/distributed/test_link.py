"""Two sides that share a token, and what somebody in between can do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from collectorfleet.transport.distributed import link as links
from collectorfleet.transport.distributed.link import Link, Listener, Unauthenticated, dial

TOKEN = b"a token of 16 or more bytes"


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener(("127.0.0.1", 0), TOKEN)
    thread = threading.Thread(target=made.serve, args=(_echo,))
    thread.start()
    yield made
    made.close()
    thread.join(10)


def _echo(link: Link, said: Any) -> None:
    try:
        while True:
            link.say(said)
            said = link.hear()
    except (EOFError, OSError):
        return


def test_what_is_said_is_heard_in_its_order(listener: Listener) -> None:
    link = dial(listener.address, TOKEN)
    for said in ("first", {"second": 2}, b"x" * 2**20):
        link.say(said)
        assert link.hear() == said
    assert link.own_host == "127.0.0.1"
    link.close()


def test_who_has_another_token_is_told_so_and_hears_nothing(listener: Listener) -> None:
    with pytest.raises(Unauthenticated, match="another token"):
        dial(listener.address, b"another")


@pytest.mark.parametrize("forged", ["changed", "repeated", "sent back"])
def test_a_message_that_somebody_in_between_made_is_not_read(forged: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    with near, far:
        speaker = Link(near, speaks=b"k" * 32, hears=b"l" * 32)
        hearer = Link(far, speaks=b"l" * 32, hears=b"k" * 32)
        speaker.say("begin")
        assert hearer.hear() == "begin"
        speaker.say("stop")
        caught = bytearray(far.recv(4096))
        if forged == "changed":
            caught[-1] ^= 1
        if forged == "repeated":
            near.sendall(bytes(caught))
            assert hearer.hear() == "stop"
        listens = speaker if forged == "sent back" else hearer
        (far if forged == "sent back" else near).sendall(bytes(caught))
        with pytest.raises(Unauthenticated):
            listens.hear()


def test_a_stranger_that_says_nothing_keeps_nobody_out(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "GREETING_SECONDS", 0.2)
    with socket.create_connection(listener.address, 10) as stranger:
        link = dial(listener.address, TOKEN)
        link.say("here")
        assert link.hear() == "here"
        link.close()
        said = b""
        while more := stranger.recv(4096):  # until it is shown out
            said += more
    assert len(said) == 32


def test_an_end_is_noticed_by_the_other_side(listener: Listener) -> None:
    link = dial(listener.address, TOKEN)
    link.say("here")
    assert link.hear() == "here"
    link.close()
    with pytest.raises(OSError):
        link.hear()

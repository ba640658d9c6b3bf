"""Two sides that share a token, and what somebody in between can do."""

from __future__ import annotations

import errno
import os
import resource
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NoReturn

import pytest
from tests.ports import reserve_ports
from tests.wait import eventually

from collectorfleet.transport.distributed import link as links
from collectorfleet.transport.distributed.link import Link, Listener, Unauthenticated, Unreadable, dial

TOKEN = b"a token of 16 or more bytes"


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener(("127.0.0.1", 0), TOKEN)
    made.serve(_echo)
    yield made
    made.close()


@pytest.fixture
def both_sides() -> Iterator[tuple[Link, Link]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    with near, far:
        yield (
            Link(near, send_key=b"k" * 32, receive_key=b"l" * 32),
            Link(far, send_key=b"l" * 32, receive_key=b"k" * 32),
        )


def _echo(link: Link, said: Any) -> None:
    try:
        while True:
            link.send_message(said)
            said = link.receive_message()
    except (EOFError, OSError):
        return


def test_what_is_said_is_heard_in_its_order(listener: Listener) -> None:
    link = dial(listener.address, TOKEN)
    for said in ("first", {"second": 2}, b"x" * 2**20):
        link.send_message(said)
        assert link.receive_message() == said
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
        speaker = Link(near, send_key=b"k" * 32, receive_key=b"l" * 32)
        hearer = Link(far, send_key=b"l" * 32, receive_key=b"k" * 32)
        speaker.send_message("begin")
        assert hearer.receive_message() == "begin"
        speaker.send_message("stop")
        caught = bytearray(far.recv(4096))
        if forged == "changed":
            caught[-1] ^= 1
        if forged == "repeated":
            near.sendall(bytes(caught))
            assert hearer.receive_message() == "stop"
        listens = speaker if forged == "sent back" else hearer
        (far if forged == "sent back" else near).sendall(bytes(caught))
        with pytest.raises(Unauthenticated):
            listens.receive_message()


def test_a_stranger_that_says_nothing_keeps_nobody_out(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "GREETING_SECONDS", 1.0)
    with socket.create_connection(listener.address, 60) as stranger:
        said = stranger.recv(32)  # its time has begun
        monkeypatch.undo()
        link = dial(listener.address, TOKEN)
        link.send_message("here")
        assert link.receive_message() == "here"
        link.close()
        while more := stranger.recv(4096):  # until it is shown out
            said += more
    assert len(said) == 32


def test_a_peer_with_the_token_that_says_nothing_is_not_waited_for(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "GREETING_SECONDS", 0.2)
    silent = dial(listener.address, TOKEN, timeout_seconds=10)
    with pytest.raises((EOFError, ConnectionResetError)):
        silent.receive_message()
    silent.close()
    talker = dial(listener.address, TOKEN, timeout_seconds=10)
    talker.send_message("first")
    assert talker.receive_message() == "first"
    time.sleep(0.5)  # only the first message has a timeout
    talker.send_message("later")
    assert talker.receive_message() == "later"
    talker.close()


MORE_THAN_SOCKETS_TAKE = b"x" * 32 * 2**20


def test_messages_that_wait_are_sent_before_the_connection_is_closed(both_sides: tuple[Link, Link]) -> None:
    speaker, hearer = both_sides
    speaker.send(MORE_THAN_SOCKETS_TAKE)
    speaker.send_message("last")
    closing = threading.Thread(target=partial(speaker.close, flush_seconds=60))
    closing.start()
    assert hearer.receive() == MORE_THAN_SOCKETS_TAKE
    assert hearer.receive_message() == "last"
    closing.join()
    with pytest.raises(EOFError):
        hearer.receive_message()


@pytest.mark.parametrize("flush_seconds", [0.0, 0.2])
def test_a_peer_that_reads_nothing_does_not_delay_the_close(
    both_sides: tuple[Link, Link], flush_seconds: float
) -> None:
    speaker, hearer = both_sides
    speaker.send(MORE_THAN_SOCKETS_TAKE)
    speaker.close(flush_seconds=flush_seconds)
    with pytest.raises((EOFError, OSError)):
        hearer.receive()


def test_what_cannot_be_unpickled_is_told_from_an_end_and_the_connection_goes_on(both_sides: tuple[Link, Link]) -> None:
    speaker, hearer = both_sides
    speaker.send(b"no pickle")
    speaker.send_message("one")
    with pytest.raises(Unreadable, match="UnpicklingError"):
        hearer.receive_message()
    assert hearer.receive_message() == "one"


def test_the_port_is_free_once_it_is_closed() -> None:
    (port,) = reserve_ports(1)
    address = ("127.0.0.1", port)
    first = Listener(address, TOKEN)
    for _ in range(20):
        first.serve(_echo)
        dial(address, TOKEN).close()
        first.close()
        first = Listener(address, TOKEN)
    first.close()  # also without having served
    first.close()


def test_where_no_file_is_left_it_waits_and_does_not_spin(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried = []

    def accept(_: socket.socket) -> NoReturn:
        tried.append(1)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(links, "PAUSE_SECONDS", 600.0)
    monkeypatch.setattr(socket.socket, "accept", accept)
    with socket.create_connection(listener.address, 10), socket.create_connection(listener.address, 10):
        eventually(lambda: "accepts no connection" in caplog.text, within=10)
        listener.close()  # does not wait for the pause
    assert len(tried) == 1


def test_it_listens_where_a_thousand_files_are_open() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        made = Listener(("127.0.0.1", 0), TOKEN)
        made.serve(_echo)
        link = dial(made.address, TOKEN)
        link.send_message("here")
        assert link.receive_message() == "here"
        link.close()
        made.close()
    finally:
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_an_end_is_noticed_by_the_other_side(listener: Listener) -> None:
    link = dial(listener.address, TOKEN)
    link.send_message("here")
    assert link.receive_message() == "here"
    link.close()
    with pytest.raises(OSError):
        link.receive_message()

"""Waiting for a head: a TCP connection that somebody takes."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from collectorfleet.pod.join_ray import wait_for, why_unreachable


def test_a_head_is_there_when_its_port_answers() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert "refused" in why_unreachable(address)
        server.listen()
        assert why_unreachable(address) == ""
        assert wait_for(address)


def test_a_head_that_comes_later_is_waited_for() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{server.getsockname()[1]}"
        # Bound, and refusing until it listens.
        threading.Timer(0.3, server.listen).start()
        assert wait_for(address)


def test_nobody_waits_for_a_head_when_the_driver_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = iter([1000, 1])
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    assert not wait_for("127.0.0.1:1")

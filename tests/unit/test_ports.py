from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests import ports

ROOT = Path(__file__).parents[2]


def test_a_reserved_port_is_outside_of_the_range_that_the_kernel_gives_out() -> None:
    lowest, highest = map(int, ports.EPHEMERAL_RANGE.read_text().split())
    reserved = ports.reserve_ports(20)
    assert len(set(reserved)) == 20
    assert not [port for port in reserved if lowest <= port <= highest]


def test_a_ray_head_takes_a_reserved_port_as_its_own() -> None:
    from ray.scripts.scripts import start

    default = {option.name: option.default for option in start.params}
    workers = range(default["min_worker_port"], default["max_worker_port"] + 1)
    assert not [port for port in ports._candidates() if port in workers]


def test_a_server_gets_its_reserved_port_twice() -> None:
    (port,) = ports.reserve_ports(1)
    for _ in range(2):
        with socket.create_server(("127.0.0.1", port)) as server:
            assert server.getsockname()[1] == port


def test_no_port_is_reserved_twice_by_one_process_or_by_two(monkeypatch: pytest.MonkeyPatch) -> None:
    few = ports.reserve_ports(6)[:3]
    monkeypatch.setattr(ports, "_candidates", lambda: few)
    with pytest.raises(RuntimeError, match="only 0 of 1 are free"):
        ports.reserve_ports(1)
    other = f"from tests import ports; ports._candidates = lambda: {few}; ports.reserve_ports(1)"
    ended = subprocess.run([sys.executable, "-c", other], check=False, cwd=ROOT, capture_output=True, text=True)
    assert "only 0 of 1 are free" in ended.stderr


def test_the_ports_of_a_process_that_ended_are_free_again() -> None:
    other = "from tests import ports; print(*ports.reserve_ports(3))"
    printed = subprocess.run([sys.executable, "-c", other], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    ended = [int(port) for port in printed.split()]
    assert all(ports._is_free(port) and ports._reserve(port) for port in ended)


def test_a_port_that_somebody_listens_on_is_not_reserved(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(ports, "_candidates", lambda: [server.getsockname()[1]])
        with pytest.raises(RuntimeError, match="only 0 of 1 are free"):
            ports.reserve_ports(1)

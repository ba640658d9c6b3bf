"""Collectors that others start, as processes with the command that pods have, and the driver that they wait for."""

from __future__ import annotations

import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.forks.program import Program
from tests.ports import reserve_ports
from tests.runtime.batches import VERSION, Make, learn
from tests.wait import eventually

from collectorfleet import CollectorHosts, FleetCollector, InvalidOption
from collectorfleet.transport.distributed import host_messages
from collectorfleet.transport.distributed.link import Unauthenticated, dial

HERE = "127.0.0.1"
TOKEN = secrets.token_hex(32)


class Hosts:
    """Processes of ``collectorfleet collect``, by rank; where they look for the driver is a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.driver = folder / "driver"
        self.token = folder / "token"
        self.token.write_text(TOKEN + "\n")
        self.running: list[Program] = []

    def start(self, rank: int, *arguments: str, **options: Any) -> Program:
        where = ["--driver-file", str(self.driver), "--token-file", str(self.token), "--rank", str(rank)]
        words = ["-m", "collectorfleet.cli", "collect", *where, *arguments]
        with (self.folder / f"{len(self.running)}.log").open("wb") as log:
            started = Program(words, forkserver=True, stderr=log, **options)
        self.running.append(started)
        return started

    def logs(self) -> str:
        return "\n".join(file.read_text() for file in sorted(self.folder.glob("*.log")))

    def listen(self, **options: Any) -> CollectorHosts:
        """What a driver listens with, and where they find it from now on."""
        made = CollectorHosts(HERE, 0, TOKEN.encode(), **options)
        self.driver.write_text(f"{HERE}:{made.port}")
        return made


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    made = Hosts(tmp_path)
    try:
        yield made
    finally:
        for process in made.running:
            process.terminate()
        for process in made.running:
            process.wait(60)


@pytest.fixture
def gang(make: Make) -> Callable[..., FleetCollector]:
    return partial(make, transport="torch_distributed")


def available(collector: FleetCollector, number: int, restarts: int | None = None) -> Callable[[], bool]:
    def reached() -> bool:
        seen = collector.status().progress.collectors
        return seen.available == number and restarts in (None, seen.restarts)

    return reached


def collectors_of(host: Program) -> list[int]:
    """The ids of the processes that its forkserver made."""
    own = psutil.Process(host.pid)
    return [one.pid for one in own.children(recursive=True) if one.ppid() != host.pid]


def test_hosts_that_come_late_collect_and_a_driver_that_moves_finds_them(hosts: Hosts, gang: Make) -> None:
    hosts.start(1)  # before there is a driver
    first = gang(launcher=hosts.listen(), total_frames=40, update_after_each_batch=True)
    hosts.start(0)
    seen = []
    for batch in first:
        seen.append((tuple(batch.batch_size), set(batch[VERSION].flatten().tolist())))
        learn(first)
    assert seen == [((2, 10), {1}), ((2, 10), {2})]
    first.shutdown()
    second = gang(launcher=hosts.listen(), total_frames=40)
    assert [tuple(batch.batch_size) for batch in second] == [(2, 10)] * 2
    assert "the driver is lost" in hosts.logs()


def test_a_killed_collector_is_begun_again_and_a_killed_host_is_waited_for(hosts: Hosts, gang: Make) -> None:
    steady, victim = hosts.start(0), hosts.start(1)
    collector = gang(launcher=hosts.listen(), total_frames=-1, shares=2)
    batches = iter(collector)
    next(batches)
    eventually(available(collector, 2), within=60, what="both")
    os.kill(*collectors_of(steady), signal.SIGKILL)
    eventually(available(collector, 2, restarts=1), within=60, what="another collector of the same host")
    [orphan] = collectors_of(victim)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    eventually(available(collector, 1), within=60, what="the end of the collector of that host")
    eventually(lambda: not psutil.pid_exists(orphan), within=60, what="the end of its process")
    for _ in range(5):
        assert tuple(next(batches).batch_size) == (2, 10)  # c0 has both shares
    hosts.start(1)
    eventually(available(collector, 2), within=60, what="the collector of its replacement")
    assert tuple(next(batches).batch_size) == (2, 10)
    [row] = [one for one in collector.status().collectors if one.name == "c1"]
    assert "is gone" in (row.last_error or "")


def test_a_fleet_of_hosts_is_resized_and_its_first_ranks_stay(hosts: Hosts, gang: Make) -> None:
    hosts.start(0, "--collectors", "2", "--pod", "pod-0")
    collector = gang(launcher=hosts.listen(collectors_per_host=2), total_frames=-1)
    batches = iter(collector)
    assert tuple(next(batches).batch_size) == (2, 10)
    collector.resize(4)
    hosts.start(1, "--collectors", "2", "--pod", "pod-1")
    eventually(lambda: tuple(next(batches).batch_size) == (4, 5), within=60, what="shares of four collectors")
    eventually(available(collector, 4), within=60, what="all four")
    pods = {one.name: one.pod for one in collector.status().collectors}
    assert pods == {"c0": "pod-0", "c1": "pod-0", "c2": "pod-1", "c3": "pod-1"}
    collector.resize(2)
    eventually(lambda: tuple(next(batches).batch_size) == (2, 10), within=60, what="shares of two collectors")
    eventually(lambda: {one.name for one in collector.status().collectors} == {"c0", "c1"}, within=60)


def test_nothing_is_read_of_who_has_another_token(hosts: Hosts) -> None:
    listening = hosts.listen()
    try:
        with pytest.raises(Unauthenticated, match="another token"):
            dial((HERE, listening.port), b"another secret of 16")
        with socket.create_connection((HERE, listening.port), 10) as stranger:
            # A greeting, and then what would be read as a message of 8 GiB, or as a pickle.
            stranger.sendall(bytes(32) + (2**33).to_bytes(8, "big") + b"cos\nsystem\n(S'true'\ntR." + bytes(32))
            stranger.settimeout(60)
            with suppress(ConnectionResetError):  # what was not read is thrown away
                while stranger.recv(4096):
                    pass
        assert listening.present() == []
    finally:
        listening.close()


def test_a_host_does_not_follow_a_driver_that_has_another_token(hosts: Hosts) -> None:
    hosts.token.write_text("what somebody else has")
    listening = hosts.listen()
    try:
        hosts.start(0)
        eventually(lambda: "waiting for the driver: the other side has another token" in hosts.logs(), within=60)
        assert listening.present() == []
        hosts.token.write_text(TOKEN)  # the Secret came later
        eventually(lambda: len(listening.present()) == 1, within=60, what="the host, with the right token")
    finally:
        listening.close()


def test_a_host_of_another_size_and_one_whose_rank_came_anew_are_refused(hosts: Hosts) -> None:
    listening = hosts.listen(collectors_per_host=2)
    try:
        wrong = hosts.start(0, "--collectors", "3")
        assert wrong.wait(60) == 1
        assert (
            "the host runs 3 collectors, but the driver expects 2; start the host with --collectors 2" in hosts.logs()
        )
        older = hosts.start(0, "--collectors", "2", "--pod", "older")
        eventually(lambda: listening.present() == ["older"], within=60)
        hosts.start(0, "--collectors", "2", "--pod", "newer")
        eventually(lambda: listening.present() == ["newer"], within=60)
        assert older.wait(60) == 1
        assert "newer joined later as rank 0" in hosts.logs()
    finally:
        listening.close()


def test_a_host_that_is_asked_to_end_is_not_taken_for_one_that_is_done(hosts: Hosts) -> None:
    listening = hosts.listen()
    try:
        started = hosts.start(0)
        eventually(lambda: len(listening.present()) == 1, within=60)
        started.terminate()
        assert started.wait(60) == 128 + signal.SIGTERM
        eventually(lambda: listening.present() == [], within=60)
    finally:
        listening.close()


def test_hosts_of_one_fleet_are_refused_to_another_and_their_port_can_be_had_after_it(gang: Make) -> None:
    (port,) = reserve_ports(1)
    listening = CollectorHosts(HERE, port, TOKEN.encode())
    first = gang(launcher=listening, total_frames=40)
    with pytest.raises(InvalidOption, match="launcher: another FleetCollector uses these CollectorHosts"):
        gang(launcher=listening, total_frames=40)
    first.shutdown()
    with pytest.raises(InvalidOption, match=f"launcher: .* create new CollectorHosts, which may use port {port} again"):
        gang(launcher=listening, total_frames=40)
    CollectorHosts(HERE, port, TOKEN.encode()).close()


def test_who_was_greeted_when_hosts_are_closed_is_let_go(hosts: Hosts) -> None:
    listening = hosts.listen()
    link = dial((HERE, listening.port), TOKEN.encode())
    try:
        listening.close()
        link.send_message(host_messages.HostHello(0, 1, "late"))
        link._connection.settimeout(60)
        with pytest.raises(EOFError):
            link.receive_message()  # and not a welcome
    finally:
        link.close()
    assert listening.present() == []


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"collectors_per_host": 0}, "collectors_per_host: 0 is too small; use at least 1"),
        ({"gpus_per_collector": 1.5}, "gpus_per_collector: 1.5 is more than one GPU and not whole"),
    ],
    ids=["no collector", "a GPU and a half"],
)
def test_numbers_that_cannot_work_are_refused(options: dict[str, Any], refusal: str) -> None:
    with pytest.raises(InvalidOption, match=refusal):
        CollectorHosts(HERE, 0, TOKEN.encode(), **options)


def test_a_token_that_can_be_guessed_is_refused() -> None:
    with pytest.raises(InvalidOption, match="6 bytes are too few to be secret; use 16 or more"):
        CollectorHosts(HERE, 0, b"secret")

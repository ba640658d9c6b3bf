"""What a contract test has at hand: a transport, its collectors, and faults on demand."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import ray
import torch
from ray.exceptions import ObjectLostError
from tensordict import TensorDictBase
from tests import envs
from tests.contract.in_process import InProcess
from tests.patience import waits
from tests.simulated import runs
from tests.wait import eventually
from torch import nn
from torch.distributed import rpc

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.codec.tensors import decode
from collectorfleet.messages import (
    Answer,
    Applied,
    CollectorId,
    Fault,
    Lost,
    Message,
    Placed,
    Request,
    Started,
    Weights,
)
from collectorfleet.transport.distributed.launcher import LocalProcesses
from collectorfleet.transport.distributed.transport import DistributedTransport
from collectorfleet.transport.interface import Transport
from collectorfleet.transport.ray.transport import RayTransport, _Reply
from collectorfleet.transport.rpc import member as members
from collectorfleet.transport.rpc.transport import RpcTransport

M = TypeVar("M", bound=Message)
WITHIN_SECONDS = 60.0
FRAMES = 12
PLAIN = CollectorConfig(envs.make_counting, envs.make_policy(), FRAMES)


class Gated(envs.Counting):
    """Waits in its second step, and in each later one, for as long as there is no file ``gate``."""

    def __init__(self, gate: str) -> None:
        super().__init__()
        self._gate = Path(gate)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        while self._steps and not self._gate.exists():
            (self._gate.parent / "waits").touch()
            time.sleep(0.01)
        return super()._step(tensordict)


def make_gated(gate: str) -> Gated:
    return Gated(gate)


def make_late(gate: str) -> envs.Counting:
    """Not before there is a file ``gate``."""
    while not Path(gate).exists():
        time.sleep(0.01)
    return envs.Counting()


class Backdoor(Protocol):
    """What cannot be asked of a transport, and a test needs."""

    def kill(self, started: Started) -> None:
        """End the process."""

    def lives(self, started: Started) -> bool:
        """Whether there still is what runs it."""

    def lose(self, request_id: int) -> None:
        """The answer to that request cannot be read when it comes."""

    def settle(self, collector: CollectorId) -> None:
        """Block until the collector has heard every offer, and what is to be cut short."""


ConfigOf = Callable[[str], CollectorConfig]
# From the policy, what collectors are made of, and the seed of the fleet.
Make = Callable[[Any, ConfigOf, int], tuple[Transport, Backdoor]]


class Harness:
    """One transport with as many collectors as the test starts; ``config`` is what all of them are made of."""

    def __init__(self, make: Make) -> None:
        self.config = PLAIN
        self._make = make
        self.transport, self.backdoor = make(PLAIN.policy, lambda _name: self.config, 0)
        self.heard: list[Message] = []
        self._numbers = 0

    def use_policy(self, policy: nn.Module) -> None:
        """Begin anew with collectors of another policy."""
        self.transport.close()
        self.config = replace(PLAIN, policy=policy)
        self.transport, self.backdoor = self._make(policy, lambda _name: self.config, 0)

    def use_seed(self, seed: int) -> None:
        """Begin anew as a fleet of another seed."""
        self.transport.close()
        self.transport, self.backdoor = self._make(PLAIN.policy, lambda _name: self.config, seed)

    def start(self, name: str = "c0", incarnation: int = 1, generation: int = 0) -> Started:
        collector = CollectorId(name, incarnation, generation)
        self.transport.start(collector)
        self.hear(Placed, collector)
        return self.hear(Started, collector)

    def hear_answers(self, requests: Sequence[Request]) -> list[Answer]:
        """The answers to all these requests, in the order of the requests.

        Two answers that are ready at once may be heard in any order.
        """
        answers = {answer.request_id: answer for answer in (self.hear(Answer) for _ in requests)}
        return [answers[request.id] for request in requests]

    def hear(self, kind: type[M], collector: CollectorId | None = None) -> M:
        """The next message of that kind, of that collector; the others stay for later."""
        began = time.monotonic()
        while True:
            for message in self.heard:
                if isinstance(message, kind) and collector in (None, message.collector):
                    self.heard.remove(message)
                    waits.note(time.monotonic() - began, WITHIN_SECONDS, kind.__name__)
                    return message
            left = began + WITHIN_SECONDS - time.monotonic()
            assert left > 0, f"no {kind.__name__} of {collector} within {WITHIN_SECONDS:g} s; heard {self.heard}"
            self.heard += self.transport.wait(min(left, 0.5))

    def ask(self, collector: CollectorId, *, weights: Weights | None = None, **request: Any) -> Request:
        self._numbers += 1
        made = Request(**{"id": self._numbers, "frames": FRAMES, "min_version": 0, **request})
        self.transport.submit(collector, made, weights)
        return made

    def store(self, version: int, value: float | nn.Module) -> Weights:
        """A version of the policy, put into the transport's store."""
        module = value if isinstance(value, nn.Module) else envs.make_policy(value)
        return Weights(version, self.transport.put(snapshots.take(snapshots.tensors_of(module))))

    def offer(self, collector: CollectorId, weights: Weights) -> Applied:
        self.transport.offer(collector, weights)
        return self.hear(Applied, collector)


C0 = CollectorId("c0", 1)
AGAIN = CollectorId("c0", 2)


def misbehaving(how: str, at: int = 5) -> partial[envs.Counting]:
    return partial(envs.make_counting, misbehaves=how, at=at)


def waits_at(gate: Path) -> None:
    """Block until the rollout has come to the gate."""
    eventually((gate.parent / "waits").exists, within=60, what="a rollout at the gate")


def batch_of(answer: Answer) -> TensorDictBase:
    return decode(answer.payload.encoded)


def values_of(answer: Answer) -> set[float]:
    """Of the weights that made the frames."""
    return set((batch_of(answer)["next", "reward"] / 2).flatten().tolist())


class _BehindRay:
    """Objects are lost with their nodes, of which there is one here: Ray's own error is put in their place."""

    def __init__(self, transport: RayTransport) -> None:
        self._transport = transport

    def kill(self, started: Started) -> None:
        os.kill(started.pid, signal.SIGKILL)

    def lives(self, started: Started) -> bool:
        return runs(started.pid)

    def lose(self, request_id: int) -> None:
        read = self._transport._message

        def message(reply: _Reply) -> Message | None:
            if reply.request_id != request_id:
                return read(reply)
            lost: Future[Any] = Future()
            lost.set_exception(ObjectLostError("0" * 56, None, ""))
            return read(replace(reply, future=lost))

        self._transport._message = message  # type: ignore[method-assign]

    def settle(self, collector: CollectorId) -> None:
        # Calls of one group come one after another.
        actor = self._transport._actors[collector]
        ray.get(actor.cut_short.options(num_returns=1).remote(-1))


class _BehindProcesses:
    """A connection that ends takes its collector along; what cannot be read is put in its place, as for Ray."""

    def __init__(self, transport: DistributedTransport | RpcTransport) -> None:
        self._transport = transport

    def kill(self, started: Started) -> None:
        os.kill(started.pid, signal.SIGKILL)

    def lives(self, started: Started) -> bool:
        return runs(started.pid)

    def lose(self, request_id: int) -> None:
        wait = self._transport.wait

        def lost(timeout: float) -> list[Message]:
            return [
                Lost(message.collector, "the answer cannot be read", Fault.DIED, request_id)
                if isinstance(message, Answer) and message.request_id == request_id
                else message
                for message in wait(timeout)
            ]

        self._transport.wait = lost  # type: ignore[method-assign]

    def settle(self, collector: CollectorId) -> None:
        # A member has heard all that was said before when it is called, and has done it all when it is in a new gang.
        courier = self._transport._courier
        ledger = courier._ledger
        eventually(lambda: not ledger.accounts[collector].owed, within=30, what=f"all parcels at {collector}")
        # One that is being formed by now would not be a new one.
        eventually(lambda: courier._gang is not None, within=30, what="a gang")
        before = courier._epoch
        with courier._changed:
            courier._gang = None
            courier._changed.notify_all()
        eventually(lambda: courier._gang is not None and courier._epoch > before, within=30, what="a new gang")


def _settled(said: int) -> None:
    """In a collector's process: block until it has taken what the driver has said, and fetched what that names."""
    member = members._member
    assert member is not None
    eventually(lambda: member._order._next > said, within=30, what="all that was said")
    member.fetcher.settle()


class _BehindCalls(_BehindProcesses):
    """As for a process group; there is nothing to be formed, and a collector may be asked for anything."""

    def settle(self, collector: CollectorId) -> None:
        assert isinstance(self._transport, RpcTransport)
        known = self._transport._collectors[collector]
        rpc.rpc_sync(known.info, _settled, args=(known.said,), timeout=40)


class _BehindThreads:
    def __init__(self, transport: InProcess) -> None:
        self._transport = transport
        self.lose = transport.lose
        self.settle = transport.settle

    def kill(self, started: Started) -> None:
        self._transport.kill(started.collector)

    def lives(self, started: Started) -> bool:
        return started.collector in self._transport._hosts


def over_ray(policy: Any, config_of: ConfigOf, seed: int) -> tuple[Transport, Backdoor]:
    transport = RayTransport(config_of, lambda _name: {"num_cpus": 1}, policy=policy, seed=seed)
    return transport, _BehindRay(transport)


def over_a_process_group(policy: Any, config_of: ConfigOf, seed: int) -> tuple[Transport, Backdoor]:
    transport = DistributedTransport(config_of, LocalProcesses(), policy=policy, seed=seed)
    return transport, _BehindProcesses(transport)


def over_rpc(policy: Any, config_of: ConfigOf, seed: int) -> tuple[Transport, Backdoor]:
    transport = RpcTransport(config_of, lambda _name: None, None, policy=policy, seed=seed)
    return transport, _BehindCalls(transport)


def in_process(_policy: Any, config_of: ConfigOf, seed: int) -> tuple[Transport, Backdoor]:
    transport = InProcess(config_of, seed)
    return transport, _BehindThreads(transport)


@contextlib.contextmanager
def running(make: Make) -> Iterator[Harness]:
    """A harness, whose transport is closed at the end; the driver's threads are as many as before.

    Collectors that are threads of this process seed it, as they would seed their own: its random state is as before.
    """
    threads, states = torch.get_num_threads(), (torch.get_rng_state(), np.random.get_state(), random.getstate())
    made = Harness(make)
    try:
        yield made
    finally:
        made.transport.close()
        torch.set_num_threads(threads)
        torch.set_rng_state(states[0])
        np.random.set_state(states[1])
        random.setstate(states[2])

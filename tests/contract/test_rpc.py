"""What RPC has to do beyond the contract: deadlines, one agent for all fleets of a process, devices."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tensordict import TensorDictBase
from tests import envs
from tests.contract.harness import (
    C0,
    PLAIN,
    ConfigOf,
    Harness,
    _BehindCalls,
    batch_of,
    make_gated,
    running,
    values_of,
    waits_at,
)
from tests.paused import pause
from torch.distributed import rpc

from collectorfleet.errors import InvalidOption
from collectorfleet.messages import Answer, CollectorId, Fault, Lost
from collectorfleet.transport.rpc import station
from collectorfleet.transport.rpc.transport import RpcTransport

C1 = CollectorId("c1", 1)


def over(**options: Any) -> Any:
    """A transport with such options of TensorPipe, whose c1 sees the GPU number 3."""

    def make(policy: Any, config_of: ConfigOf, seed: int) -> tuple[RpcTransport, _BehindCalls]:
        sees = {"c1": "3"}.get
        transport = RpcTransport(config_of, sees, options, policy=policy, seed=seed)
        return transport, _BehindCalls(transport)

    return make


@pytest.fixture(params=[60.0])
def called(request: pytest.FixtureRequest) -> Iterator[Harness]:
    with running(over(rpc_timeout=request.param)) as made:
        yield made


class Seeing(envs.Counting):
    """Its reward says which GPU its process sees."""

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        stepped = super()._step(tensordict)
        stepped["reward"].fill_(float(os.environ.get("CUDA_VISIBLE_DEVICES") or -1))
        return stepped


@pytest.mark.parametrize("called", [8.0], indirect=True)
def test_a_member_that_takes_no_call_is_lost_by_the_deadline_and_the_others_go_on(called: Harness) -> None:
    called.start("c0")
    stopped = called.start("c1")
    pause(stopped.pid)
    called.ask(C1)
    called.ask(C0)
    assert called.hear(Answer).collector == C0
    lost = called.hear(Lost)
    assert (lost.collector, lost.fault) == (C1, Fault.HUNG)
    assert lost.cause == "did not accept the driver's call within 8 s (rpc_timeout)"


def test_a_rollout_may_last_longer_than_any_call_and_a_death_beside_it_is_not_its_own(
    called: Harness, gate: Path
) -> None:
    called.config = replace(PLAIN, create_env=partial(make_gated, str(gate)))
    called.start("c0")
    killed = called.start("c1")
    request = called.ask(C0)
    waits_at(gate)
    called.backdoor.kill(killed)
    assert (lost := called.hear(Lost)).collector == C1
    assert lost.cause == "its process was ended by SIGKILL"
    called.transport.stop(C1)
    again = CollectorId("c1", 2)
    called.config = PLAIN
    called.start("c1", incarnation=2)
    called.ask(again)
    assert called.hear(Answer).collector == again
    gate.touch()
    assert (answer := called.hear(Answer)).request_id == request.id
    assert answer.seconds > 0


def test_the_weights_of_an_evaluation_are_freed_once_its_episode_has_ended(called: Harness) -> None:
    called.config = replace(PLAIN, frames_per_request=0, plays_episodes=True)
    called.start()
    stored = []
    for version in (1, 2):
        weights = called.store(version, float(version))
        stored.append(weakref.ref(weights.stored.handle))
        called.ask(C0, frames=0, min_version=version, version=version, seed=0, weights=weights)
        assert called.hear(Answer).payload is None
    del weights
    gc.collect()
    assert [one() for one in stored] == [None, None]


def test_what_cannot_be_pickled_is_refused_and_what_is_said_later_is_heard(called: Harness) -> None:
    called.start()
    with pytest.raises(TypeError, match="cannot pickle"):
        called.transport.ask(C0, "map_fn", threading.Lock())
    called.ask(C0)
    assert called.hear(Answer).collector == C0


@pytest.mark.parametrize("called", [4.0], indirect=True)
def test_frames_that_are_late_are_told_from_a_process_that_died(
    called: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    over, hear = threading.Event(), station.hear

    def hears_late(key: str, pickled: bytes, beside: torch.Tensor | None) -> None:
        if beside is not None:
            over.wait(30)
        hear(key, pickled, beside)

    monkeypatch.setattr(station, "hear", hears_late)
    called.start()
    called.ask(C0)
    lost = called.hear(Lost)
    over.set()
    assert lost.cause == "its call to the driver, with frames or weights, took longer than 4 s (rpc_timeout)"
    assert lost.fault == Fault.HUNG


def test_a_process_that_the_driver_cannot_hear_ends(called: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(*_: object) -> None:
        raise ValueError("nothing is heard")

    called.start()
    monkeypatch.setattr(station, "hear", cannot)
    called.ask(C0)
    assert called.hear(Lost).cause == "its process ended with exit code 1"


def test_fleets_of_one_process_share_its_agent_and_its_options(called: Harness) -> None:
    called.start()
    with pytest.raises(
        InvalidOption, match=r"another fleet of this process has .*'rpc_timeout': 60.0.*give both fleets the same"
    ):
        Harness(over(rpc_timeout=6.0))
    with running(over(rpc_timeout=60.0)) as other:
        other.start()
        other.offer(C0, other.store(1, 3.0))
        called.ask(C0)
        other.ask(C0)
        assert (values_of(called.hear(Answer)), values_of(other.hear(Answer))) == ({0.0}, {3.0})
    called.ask(C0)
    assert values_of(called.hear(Answer)) == {0.0}


def test_an_agent_that_somebody_else_has_made_is_left_to_them(tmp_path: Path) -> None:
    options = rpc.TensorPipeRpcBackendOptions(init_method=f"file://{tmp_path / 'store'}", _transports=["uv"])
    rpc.init_rpc("trainer", rank=0, rpc_backend_options=options)
    try:
        with pytest.raises(InvalidOption, match="code of this process has called init_rpc"):
            Harness(over())
    finally:
        rpc.shutdown()


def test_transports_that_tensorpipe_does_not_have_are_refused_with_what_it_says() -> None:
    with pytest.raises(InvalidOption, match=r"tensorpipe_options: .*'_transports': \['smoke'\].*: .*smoke"):
        Harness(over(_transports=["smoke"]))


def test_a_collector_sees_the_gpus_that_are_its_own(called: Harness) -> None:
    called.config = replace(PLAIN, create_env=Seeing)
    called.start("c1")
    called.ask(C1)
    assert set(batch_of(called.hear(Answer))["next", "reward"].flatten().tolist()) == {3.0}

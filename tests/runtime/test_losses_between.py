"""What is asked of all collectors, and what runs on a thread of its own, while some are lost."""

from __future__ import annotations

import gc
import os
import signal
from functools import partial

import pytest
from tensordict import TensorDict
from tests import envs
from tests.forks import program
from tests.runtime import ray_ends_first
from tests.runtime.batches import Make
from tests.runtime.conftest import MakeBuffer
from tests.wait import eventually

from collectorfleet import FleetCollector, UserCodeError
from collectorfleet.gather.built import wait_built

pytestmark = pytest.mark.usefixtures("local_ray")


def kill(collector: FleetCollector, name: str) -> None:
    one = collector._consumer.shared.gather.collectors.named(name)
    assert one is not None
    assert one.pid is not None
    os.kill(one.pid, signal.SIGKILL)


def test_a_state_has_every_collector_although_one_was_lost_at_that_moment(make: Make) -> None:
    collector = make(num_collectors=2)
    next(iter(collector))
    kill(collector, "c1")
    state = collector.state_dict()
    assert set(state["collectors"]) == {"c0", "c1"}


def test_seeds_are_set_although_one_was_lost_at_that_moment(make: Make) -> None:
    collector = make(num_collectors=2)
    next(iter(collector))
    kill(collector, "c0")
    assert collector.set_seed(3) != 3
    assert next(iter(collector)) is not None


def test_what_ends_a_fleet_that_collects_by_itself_is_raised_where_weights_are_published(
    make: Make, make_buffer: MakeBuffer
) -> None:
    broken = partial(envs.make_counting, misbehaves="raise", at=30)
    collector = make(create_env_fn=broken, num_collectors=1, replay_buffer=make_buffer(), sync=False)
    collector.start()
    weights = TensorDict.from_module(envs.make_policy(5.0))

    def raised() -> Exception | None:
        try:
            collector.update_policy_weights_(weights)
        except UserCodeError as error:
            return error
        return None

    error = eventually(raised, within=60, what="the environment's error")
    assert "the game is broken" in str(error)
    with pytest.raises(UserCodeError, match="the game is broken"):
        collector.update_policy_weights_(weights)


def test_a_collector_that_is_dropped_leaves_nothing_behind() -> None:
    collector = FleetCollector(
        partial(envs.make_counting), envs.make_policy(), num_collectors=2, frames_per_batch=20, sync=False
    )
    next(iter(collector))
    wait_built(collector._consumer.shared, 60)
    pids = [one.pid for one in collector._consumer.shared.gather.collectors]
    thread = collector._engine.loop._thread
    assert all(pids)
    assert thread.is_alive()
    del collector
    gc.collect()
    eventually(lambda: not thread.is_alive(), within=30, what="the end of the gather thread")
    eventually(lambda: not any(map(is_alive, pids)), within=30, what="the end of the actors")


def is_alive(pid: int | None) -> bool:
    try:
        os.kill(pid or 0, 0)
    except ProcessLookupError:
        return False
    return True


def test_after_the_users_own_end_of_ray_nothing_starts_another_one() -> None:
    done = program.run(["-m", ray_ends_first.__name__], timeout=180)
    said = done.stdout.splitlines()[-2:]
    assert said == [
        "raised: Ray was shut down while collectors ran: ray.shutdown() ends them all",
        "Ray is back: False",
    ], f"{done.stdout}\n{done.stderr}"

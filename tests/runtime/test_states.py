"""What state_dict() has, and how another collector goes on from it."""

from __future__ import annotations

import pytest
from tensordict import TensorDict
from tests import envs
from tests.runtime.batches import VERSION, Make, learn, values

from collectorfleet import InvalidOption

pytestmark = pytest.mark.usefixtures("local_ray")


def test_a_state_goes_on_with_counters_version_and_weights(make: Make) -> None:
    first = make(total_frames=100, update_after_each_batch=True)
    batches = iter(first)
    for _ in range(3):
        next(batches)
        learn(first)
    state = first.state_dict()
    first.shutdown()
    second = make(total_frames=100, update_after_each_batch=True)
    second.load_state_dict(state)
    seen = list(second)
    assert len(seen) == 2
    assert values(seen[0]) == {3.0}
    assert int(seen[0][VERSION].min()) > 3  # a version is never used for other weights
    with pytest.raises(InvalidOption, match="already"):
        second.load_state_dict(state)


def test_a_state_of_a_run_with_a_policy_factory_goes_on_with_the_factorys_weights(make: Make) -> None:
    first = make(policy_factory=envs.make_policy, num_collectors=1, total_frames=100)
    first.update_policy_weights_(TensorDict.from_module(envs.make_policy(5.0)))
    next(iter(first))
    state = first.state_dict()
    assert state["version"] == 1
    second = make(policy_factory=envs.make_policy, num_collectors=1, total_frames=100)
    second.load_state_dict(state)
    assert values(next(iter(second))) == {0.0}
    second.update_policy_weights_(TensorDict.from_module(envs.make_policy(6.0)))
    last = list(second)[-1]
    assert values(last) == {6.0}
    assert set(last[VERSION].flatten().tolist()) == {2}


def test_a_state_of_a_policy_factory_gets_weights_by_hand(make: Make) -> None:
    collector = make(policy_factory=envs.make_policy, sync=False, num_collectors=1)
    assert collector.policy is None
    collector.update_policy_weights_(TensorDict.from_module(envs.make_policy(5.0)))
    batch = next(iter(collector))
    assert values(batch) == {5.0}
    assert (batch[VERSION] == 1).all()


def test_an_environment_with_buffers_of_its_own_begins_anew(make: Make) -> None:
    state = make(create_env_fn=envs.with_a_buffer, num_collectors=1).state_dict()
    second = make(create_env_fn=envs.with_a_buffer, num_collectors=1)
    second.load_state_dict(state)
    assert next(iter(second)) is not None

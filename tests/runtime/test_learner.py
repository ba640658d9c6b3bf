"""Weights that a learner of TorchRL's trainers makes in an actor of its own. The reward is twice the one parameter."""

from __future__ import annotations

import gc
from itertools import islice
from typing import Any

import pytest
import ray
from tensordict import TensorDict
from tests import envs
from tests.runtime.batches import VERSION, Make, values
from tests.wait import eventually

from collectorfleet import FleetCollector, InvalidOption

pytestmark = pytest.mark.usefixtures("local_ray")


@ray.remote(num_cpus=0)
class Learner:
    """Does what TorchRL's learner of rank 0 does with its scheme."""

    def __init__(self, scheme: Any) -> None:
        (self._receiver,) = scheme._remote_collectors
        scheme.init_on_sender(model_id="policy", remote_collectors=[self._receiver], num_workers=1)
        self._scheme = scheme

    def wanted(self) -> Any:
        return ray.get(self._receiver._weight_sync_signature.remote("policy"))

    def publish(self, value: float | None, model_version: int) -> None:
        weights = TensorDict({} if value is None else TensorDict.from_module(envs.make_policy(value)).data.to_dict())
        self._scheme._set_model_version(model_version)
        if self._scheme.synchronized_on_sender:
            self._scheme.send(weights=weights)
        else:
            self._scheme.connect(weights=weights)


def learner(collector: FleetCollector) -> Any:
    return Learner.remote(collector._learner_weight_sync())


def test_what_a_learner_sends_is_published_and_acknowledged_as_everything_else(make: Make) -> None:
    collector = make(num_collectors=2)
    ours = learner(collector)
    batches = iter(collector)
    for value, version in ((1.0, 2), (2.0, 3)):
        ray.get(ours.publish.remote(value, 10 * version))
        batch = next(batches)
        assert values(batch) == {value}
        assert set(batch[VERSION].flatten().tolist()) == {version}
    eventually(lambda: collector.status().weights.acknowledged, until=lambda seen: seen == 3, within=60)


def test_a_policy_version_that_is_tracked_is_the_learners_own(make: Make) -> None:
    collector = make(collector_kwargs={"track_policy_version": True})
    ours = learner(collector)
    ray.get(ours.publish.remote(1.0, 70))
    assert set(next(iter(collector))["next", "policy_version"].flatten().tolist()) == {70}


def test_a_policy_version_that_is_tracked_is_the_fleets_where_nobody_else_counts(make: Make) -> None:
    collector = make(collector_kwargs={"track_policy_version": True}, update_after_each_batch=True)
    first = islice(collector, 3)
    assert [set(batch["next", "policy_version"].flatten().tolist()) for batch in first] == [{1}, {2}, {3}]


def test_the_learner_is_told_which_tensors_are_wanted(make: Make) -> None:
    collector = make(num_collectors=1)
    wanted = ray.get(learner(collector).wanted.remote())
    policy = TensorDict.from_module(collector.policy)
    assert [key for key, *_ in wanted] == sorted(policy.keys(include_nested=True, leaves_only=True))
    assert [shape for _, shape, _ in wanted] == [tuple(policy[key].shape) for key, *_ in wanted]


def test_what_cannot_be_published_is_told_where_the_learner_is(make: Make) -> None:
    ours = learner(make(num_collectors=1))
    with pytest.raises(RuntimeError, match="the argument has no tensor"):
        ray.get(ours.publish.remote(None, 1))
    ray.get(ours.publish.remote(1.0, 2))


def test_an_error_of_whatever_kind_reaches_the_learner_in_its_own_words(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = make(num_collectors=1)
    ours = learner(collector)

    def broken(*_: object) -> None:
        raise ArithmeticError("a tensor of no kind")

    with monkeypatch.context() as patched:
        patched.setattr(collector._source, "take", broken)
        with pytest.raises(RuntimeError, match="ArithmeticError: a tensor of no kind"):
            ray.get(ours.publish.remote(1.0, 1))
    ray.get(ours.publish.remote(1.0, 2))


def test_a_learner_that_begins_again_goes_on_in_the_same_fleet(make: Make) -> None:
    collector = make(num_collectors=1)
    ray.get(learner(collector).publish.remote(1.0, 5))
    ray.get(Learner.remote(collector._learner_weight_sync(new_generation=True)).publish.remote(2.0, 1))
    assert values(next(iter(collector))) == {2.0}


@pytest.mark.parametrize("how", ["shut down", "dropped"])
def test_a_fleet_that_is_gone_takes_no_weights(how: str) -> None:
    collector = FleetCollector(envs.make_counting, envs.make_policy(), frames_per_batch=10)
    ours = learner(collector)
    if how == "shut down":
        collector.shutdown(timeout=20)
    else:
        del collector
        gc.collect()

    def refused() -> bool:
        try:
            ray.get(ours.publish.remote(1.0, 1), timeout=60)
        except ray.exceptions.RayTaskError:
            return True
        return False

    eventually(refused, within=60)


def test_weights_have_one_publisher(make: Make) -> None:
    collector = make(num_collectors=1)
    collector._learner_weight_sync()
    with pytest.raises(InvalidOption, match="the trainer's learner publishes the weights; remove this call"):
        collector.update_policy_weights_()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param(
            {"update_after_each_batch": True},
            "the trainer's learner publishes the weights; leave these arguments out",
            id="each batch",
        ),
        pytest.param(
            {"max_weight_update_interval": 3},
            "the trainer's learner publishes the weights; leave these arguments out",
            id="interval",
        ),
        pytest.param({"policy_factory": envs.make_policy}, "needs the module itself", id="a factory"),
    ],
)
def test_a_fleet_that_cannot_take_a_learners_weights_says_so(
    make: Make, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidOption, match=sentence):
        make(num_collectors=1, **options)._learner_weight_sync()

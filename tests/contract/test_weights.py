"""What every transport has to do with weights."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tests import envs
from tests.contract.harness import (
    C0,
    FRAMES,
    PLAIN,
    Harness,
    make_gated,
    values_of,
    waits_at,
)
from torch import nn
from torchrl.envs import TransformedEnv, VecNormV2

from collectorfleet.codec import normalization as codec
from collectorfleet.messages import POLICY, Answer, Applied, CollectorId, Raised, Weights
from collectorfleet.normalization import RunningStatistics


@contextmanager
def trained(policy: nn.Module) -> Iterator[None]:
    """Another thread changes the weights in place, as fast as it can."""
    over = threading.Event()

    def train() -> None:
        with torch.no_grad():
            while not over.is_set():
                for parameter in policy.parameters():
                    parameter.add_(1.0)

    thread = threading.Thread(target=train)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_an_idle_collector_applies_an_offer_at_once_and_proves_it(harness: Harness) -> None:
    harness.start()
    weights = harness.store(1, 2.0)
    applied = harness.offer(C0, weights)
    assert applied == Applied(C0, 1, weights.stored.digest, POLICY)
    harness.ask(C0, min_version=1)
    answer = harness.hear(Answer)
    assert (answer.version, values_of(answer)) == (1, {2.0})


def test_weights_are_stored_even_if_the_transport_was_closed_meanwhile(harness: Harness) -> None:
    before = harness.store(1, 2.0)
    harness.transport.close()
    assert harness.store(2, 2.0).stored.digest == before.stored.digest


def test_weights_that_are_trained_while_they_are_stored_are_what_their_digest_says(harness: Harness) -> None:
    policy = envs.make_large_policy()
    harness.use_policy(policy)
    harness.start()
    with trained(policy):
        for version in range(1, 11):
            weights = harness.store(version, policy)
            assert harness.offer(C0, weights).digest == weights.stored.digest


def test_an_offer_waits_for_no_rollout_and_the_newest_replaces_the_others(harness: Harness, gate: Path) -> None:
    harness.config = replace(PLAIN, create_env=partial(make_gated, str(gate)))
    harness.start()
    harness.ask(C0)
    waits_at(gate)
    for version in (1, 2, 3):
        harness.transport.offer(C0, harness.store(version, float(version)))
    harness.backdoor.settle(C0)
    gate.touch()
    assert harness.hear(Answer).version == 0
    assert harness.hear(Applied).version == 3
    harness.ask(C0, min_version=3)
    assert values_of(harness.hear(Answer)) == {3.0}


def test_weights_come_along_with_a_request(harness: Harness) -> None:
    harness.start()
    harness.ask(C0, min_version=1, weights=harness.store(1, 4.0))
    answer = harness.hear(Answer)
    assert (answer.version, values_of(answer)) == (1, {4.0})
    assert harness.hear(Applied).version == 1


def test_an_older_version_that_comes_along_replaces_no_newer_one(harness: Harness) -> None:
    harness.start()
    older = harness.store(1, 1.0)
    harness.offer(C0, harness.store(2, 2.0))
    harness.ask(C0, min_version=1, weights=older)
    assert harness.hear(Answer).version == 2


def test_exactly_a_version_is_run_with_whatever_is_newer(harness: Harness) -> None:
    harness.start()
    older, newer = harness.store(1, 1.0), harness.store(2, 2.0)
    harness.offer(C0, newer)
    harness.ask(C0, min_version=1, version=1, weights=older)
    answer = harness.hear(Answer)
    assert (answer.version, values_of(answer)) == (1, {1.0})


def test_what_was_stored_stays_what_it_was_when_the_policy_is_trained_on(harness: Harness) -> None:
    harness.start()
    policy = envs.make_policy(1.0)
    weights = harness.store(1, policy)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.fill_(7.0)
    assert harness.offer(C0, weights).digest == weights.stored.digest
    harness.ask(C0, min_version=1)
    assert values_of(harness.hear(Answer)) == {1.0}


def test_every_collector_has_a_policy_of_its_own(harness: Harness) -> None:
    harness.start("c0")
    harness.start("c1")
    harness.offer(C0, harness.store(1, 1.0))
    harness.ask(CollectorId("c1", 1))
    assert values_of(harness.hear(Answer)) == {0.0}


def test_weights_of_another_policy_are_refused_by_name(harness: Harness) -> None:
    harness.start()
    harness.transport.offer(C0, harness.store(1, envs.make_wide_policy()))
    raised = harness.hear(Raised)
    assert (raised.collector, raised.where) == (C0, "policy")
    assert "no tensor" in raised.cause


def normalized_harness(harness: Harness, **config: Any) -> Mapping[str, RunningStatistics]:
    """Collectors whose environments learn what they see, one of which is there; what it begins with."""
    harness.config = replace(PLAIN, create_env=make_normalized, **config)
    begun = harness.start().normalization
    assert begun is not None
    assert [one.updates for one in begun.values()] == [0]
    return begun


def make_normalized() -> TransformedEnv:
    return TransformedEnv(envs.Counting(), VecNormV2(in_keys=["observation"], out_keys=["normal"]))


def with_normalization(harness: Harness, weights: Weights, normalization: Mapping[str, RunningStatistics]) -> Weights:
    return replace(weights, normalization=harness.transport.put(codec.encode(normalization)))


def test_an_answer_has_what_its_environment_saw_for_it(harness: Harness) -> None:
    normalized_harness(harness)
    for resets in (2, 1):
        harness.ask(C0)
        contribution = harness.hear(Answer).normalization
        assert contribution is not None
        assert [one.updates for one in contribution.values()] == [FRAMES + resets]


def test_answers_of_environments_that_learn_nothing_say_nothing_of_it(harness: Harness) -> None:
    assert harness.start().normalization is None
    harness.ask(C0)
    assert harness.hear(Answer).normalization is None


def test_a_normalization_comes_with_its_version_and_is_proven_with_it(harness: Harness) -> None:
    begun = normalized_harness(harness)
    (name,) = begun
    seen = {
        name: begun[name].merged(RunningStatistics(begun[name].decay, 50, {"loc": np.full(3, 0.25), "var": np.ones(3)}))
    }
    offered = with_normalization(harness, harness.store(1, 1.0), seen)
    assert harness.offer(C0, offered).digest == offered.digest != offered.stored.digest
    along = with_normalization(harness, harness.store(2, 2.0), seen)
    harness.ask(C0, min_version=2, weights=along)
    assert harness.hear(Answer).version == 2
    assert harness.hear(Applied).digest == along.digest


def test_an_exact_version_brings_its_normalization(harness: Harness) -> None:
    begun = normalized_harness(harness)
    older = with_normalization(harness, harness.store(1, 1.0), begun)
    harness.ask(C0, weights=harness.store(2, 2.0), min_version=2)
    harness.hear(Answer)
    harness.hear(Applied)
    harness.ask(C0, min_version=1, version=1, weights=older)
    assert harness.hear(Answer).normalization is not None
    assert harness.hear(Applied).digest == older.digest


def test_what_is_seen_before_and_after_weights_come_between_steps_is_told_together(
    harness: Harness, gate: Path
) -> None:
    def make() -> TransformedEnv:
        return TransformedEnv(make_gated(str(gate)), VecNormV2(in_keys=["observation"], out_keys=["normal"]))

    harness.config = replace(PLAIN, create_env=make, update_between_steps=True)
    begun = harness.start().normalization
    assert begun is not None
    harness.ask(C0)
    waits_at(gate)
    offered = with_normalization(harness, harness.store(1, 1.0), begun)
    harness.transport.offer(C0, offered)
    harness.backdoor.settle(C0)
    gate.touch()
    contribution = harness.hear(Answer).normalization
    assert contribution is not None
    assert [one.updates for one in contribution.values()] == [FRAMES + 2]
    assert harness.hear(Applied).digest == offered.digest

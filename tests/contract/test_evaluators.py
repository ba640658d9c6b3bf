"""What every transport has to do for an evaluator: it plays episodes of a seed, with exactly one version."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from tests import envs
from tests.contract.harness import AGAIN, C0, PLAIN, Harness, make_gated, misbehaving, waits_at

from collectorfleet.messages import Answer, Applied, CollectorId, Episodes, Lost, Raised, Weights

LENGTHS = (2, 3, 5, 7, 11)
EVALUATOR = replace(PLAIN, create_env=partial(envs.make_drawn, LENGTHS), frames_per_request=0, plays_episodes=True)


def episodes(harness: Harness, seed: int, version: int, weights: Weights | None, collector: CollectorId) -> Episodes:
    request = harness.ask(collector, frames=0, min_version=version, version=version, seed=seed, weights=weights)
    answer = harness.hear(Answer, collector)
    assert (answer.request_id, answer.version, answer.payload) == (request.id, version, None)
    assert answer.episodes is not None
    assert answer.frames == sum(answer.episodes.lengths)
    return answer.episodes


def test_an_evaluator_plays_the_episode_of_a_seed_with_exactly_the_version_it_is_asked_for(harness: Harness) -> None:
    harness.config = EVALUATOR
    harness.start()
    older, newer = harness.store(2, 2.0), harness.store(5, 5.0)
    played = {}
    for weights, value in ((older, 2.0), (newer, 5.0)):
        version = weights.version
        for seed in (7, 8, 7):
            along = weights if (version, 7) not in played else None
            found = episodes(harness, seed, version, along, C0)
            assert found.returns == (2 * value * found.lengths[0],)
            assert played.setdefault((version, seed), found.lengths) == found.lengths
        assert harness.hear(Applied).digest == weights.digest
    assert played[2, 7] == played[5, 7]
    assert played[2, 8] == played[5, 8]


def test_another_evaluator_plays_the_same_episode(harness: Harness) -> None:
    harness.config = EVALUATOR
    weights = harness.store(1, 1.0)
    lengths = set()
    for name in ("c0", "c1"):
        started = harness.start(name)
        lengths.add(tuple(episodes(harness, seed, 1, weights, started.collector).lengths for seed in range(5)))
    assert len(lengths) == 1


def test_an_evaluator_that_dies_in_an_episode_is_lost_and_its_successor_plays_it(harness: Harness, gate: Path) -> None:
    harness.config = replace(EVALUATOR, create_env=partial(make_gated, str(gate)))
    started = harness.start()
    weights = harness.store(1, 1.0)
    harness.ask(C0, frames=0, min_version=1, version=1, seed=3, weights=weights)
    waits_at(gate)
    harness.backdoor.kill(started)
    assert harness.hear(Lost).collector == C0
    harness.transport.stop(C0)
    gate.touch()
    harness.start(incarnation=2)
    assert episodes(harness, 3, 1, weights, AGAIN) == Episodes((20.0,), (10,))


def test_an_environment_that_raises_in_an_episode_is_the_users_error(harness: Harness) -> None:
    harness.config = replace(EVALUATOR, create_env=misbehaving("raise", at=2))
    harness.start()
    harness.ask(C0, frames=0, min_version=1, version=1, seed=0, weights=harness.store(1, 1.0))
    raised = harness.hear(Raised)
    assert (raised.by_environment, raised.cause) == (True, "ValueError: the game is broken")


def test_what_was_stored_can_be_read(harness: Harness) -> None:
    weights = harness.store(1, 4.0)
    read = harness.transport.read(weights.stored)  # type: ignore[attr-defined]
    assert [entry.name for entry in read.entries] == ["module.value"]
    assert np.frombuffer(read.arrays[0], np.float32).tolist() == [4.0]

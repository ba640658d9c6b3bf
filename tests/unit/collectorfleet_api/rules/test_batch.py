"""Whether batches divide into equal requests."""

from __future__ import annotations

from typing import Any

import pytest
from tests.manifests import manifest

from collectorfleet_api.rules.validation import read, read_stored
from collectorfleet_api.v1alpha1 import CollectorFleet


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param(
            {"spec.collectors.replicas": 6},
            "spec.collection.framesPerBatch: 4000 cannot be divided into 6 shares (collectors.replicas); use 3996 or "
            "4002 frames, or 5 or 8 collectors",
            id="shares",
        ),
        pytest.param(
            {"spec.collection.framesPerBatch": 3, "spec.collectors.replicas": 6},
            "spec.collection.framesPerBatch: 3 cannot be divided into 6 shares (collectors.replicas); use 6 frames, or "
            "3 collectors",
            id="fewer frames than collectors",
        ),
        pytest.param(
            {"spec.collectors.replicas": 6, "spec.environment.perCollector": 32},
            "spec.collection.framesPerBatch: 4000 cannot be divided into 6 shares (collectors.replicas) of whole steps "
            "of 32 environments; use 3840 or 4032 frames, or 5 or 25 collectors",
            id="shares of vectorised environments",
        ),
        pytest.param(
            {"spec.collection.mode": "Async", "spec.environment.perCollector": 64},
            "spec.collection.framesPerBatch: 4000 is not a multiple of the 64 environments of a collector that "
            "step together (environment.perCollector, collectors.numWorkersPerCollector); use 3968 or 4032",
            id="vectorised environments in Async",
        ),
        pytest.param(
            {"spec.collection.shares": 6},
            "spec.collection.framesPerBatch: 4000 cannot be divided into 6 shares (collection.shares); use 3996 or "
            "4002 frames, or 5 or 8 shares",
            id="fixed shares",
        ),
        pytest.param(
            {"spec.collection.stragglers": {"firstShares": 3}, "spec.collection.maxStaleness": 1},
            "spec.collection.framesPerBatch: 4000 cannot be divided into 3 shares (collection.stragglers.firstShares); "
            "use 3999 or 4002 frames, or 2 or 4 shares",
            id="first shares",
        ),
        pytest.param(
            {"spec.collectors.class": "Sync", "spec.collectors.numWorkersPerCollector": 3},
            "spec.collection.framesPerBatch: 4000 is not a multiple of the 3 environments of a collector that step "
            "together (environment.perCollector, collectors.numWorkersPerCollector); use 3999 or 4002",
            id="processes in step",
        ),
        pytest.param(
            {
                "spec.collectors.class": "Sync",
                "spec.collectors.numWorkersPerCollector": 4,
                "spec.environment.perCollector": 8,
            },
            "spec.collection.framesPerBatch: 4000 cannot be divided into 4 shares (collectors.replicas) of whole steps "
            "of 32 environments; use 3968 or 4096 frames, or 1 or 5 collectors",
            id="vectorised environments in each of several processes",
        ),
    ],
)
def test_a_batch_divides_into_whole_steps_of_its_shares(changes: dict[str, Any], sentence: str) -> None:
    found = read(manifest(changes))
    assert isinstance(found, list)
    assert [str(problem) for problem in found] == [sentence]


def test_processes_that_are_gathered_as_they_come_each_make_whole_batches() -> None:
    changes = {"spec.collectors.class": "Async", "spec.collectors.numWorkersPerCollector": 3}
    assert isinstance(read(manifest(changes)), CollectorFleet)


def test_a_stored_fleet_with_first_shares_may_be_scaled_to_any_number() -> None:
    changes = {"spec.collection.stragglers": {"firstShares": 2}, "spec.collection.maxStaleness": 1}
    scaled = manifest({**changes, "spec.collectors.replicas": 1, "metadata.uid": "u"})
    assert isinstance(read_stored(scaled), CollectorFleet)


def test_fixed_shares_need_not_divide_by_the_number_of_collectors() -> None:
    changes = {"spec.collection.shares": 8, "spec.collectors.replicas": 3}
    assert isinstance(read(manifest(changes)), CollectorFleet)


def test_a_stored_fleet_may_be_scaled_to_a_number_that_does_not_divide() -> None:
    stored = manifest({"spec.collectors.replicas": 6, "metadata.uid": "u"})
    assert isinstance(read_stored(stored), CollectorFleet)

"""The statistics that published weights bring along."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from tests.stored import stored
from tests.unit.collectorfleet.evaluation.evaluated import weights

from collectorfleet.gather.state.versions import Versions

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_weights_from_before_the_first_collector_get_what_it_tells() -> None:
    versions = Versions()
    early = [weights(1), replace(weights(2), normalization=stored("of the state", 8, None))]
    for one in early:
        versions.published(one, NOW, 0.0)
        versions.release_before(one.version)
    told, later = stored("told", 8, None), stored("later", 8, None)
    versions.normalized(told)
    after = replace(weights(3), normalization=later)
    versions.published(after, NOW, 0.0)
    assert [versions.completed(one).normalization for one in [*early, after]] == [told, told, later]


def test_weights_of_environments_without_statistics_stay_as_they_are() -> None:
    versions = Versions()
    versions.published(weights(1), NOW, 0.0)
    assert versions.completed(weights(1)).normalization is None

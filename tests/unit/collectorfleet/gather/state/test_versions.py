"""The statistics that published weights bring along."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from tests.stored import stored
from tests.unit.collectorfleet.evaluation.evaluated import weights

from collectorfleet.gather.state.versions import PublishResult, Versions, results
from collectorfleet_api.v1alpha1 import WeightsFailure

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
    assert [versions.with_first_normalization(one).normalization for one in [*early, after]] == [told, told, later]


def test_weights_of_environments_without_statistics_stay_as_they_are() -> None:
    versions = Versions()
    versions.published(weights(1), NOW, 0.0)
    assert versions.with_first_normalization(weights(1)).normalization is None


def published(count: int) -> Versions:
    versions = Versions()
    for version in range(1, count + 1):
        versions.published(weights(version), NOW, 0.5)
    return versions


def failure(version: int) -> WeightsFailure:
    return WeightsFailure(collector="c0", version=version, time=NOW, reason="Failed", message="out of memory")


def outcomes(versions: Versions) -> tuple[int, int, int, int]:
    return versions.attempted, versions.succeeded, versions.partial, versions.failures


def test_a_version_is_released_unless_it_is_the_newest() -> None:
    versions = published(4)
    versions.release_before(3)
    assert versions.kept == [3, 4]
    assert versions.weights(3).version == 3
    versions.release_before(9)
    assert versions.kept == [4]
    assert (versions.published_at, versions.publish_seconds) == (NOW, 0.5)


def test_each_publish_has_one_outcome() -> None:
    versions = published(5)
    assert outcomes(versions) == (5, 0, 0, 0)
    versions.failed(failure(2), has_no_other_available=False)
    versions.failed(failure(3), has_no_other_available=True)
    assert (outcomes(versions), versions.last_failure) == ((5, 0, 0, 1), failure(3))
    versions.acknowledged(2)
    assert outcomes(versions) == (5, 1, 1, 1)
    versions.acknowledged(2)
    versions.acknowledged(None)
    assert outcomes(versions) == (5, 1, 1, 1)
    versions.acknowledged(5)
    assert outcomes(versions) == (5, 3, 1, 1)


def test_a_version_that_some_and_then_all_fail_to_apply_has_failed() -> None:
    versions = published(1)
    versions.failed(failure(1), has_no_other_available=False)
    versions.failed(failure(1), has_no_other_available=True)
    versions.failed(failure(1), has_no_other_available=True)
    versions.acknowledged(1)
    assert outcomes(versions) == (1, 0, 0, 1)


def test_a_failure_of_an_acknowledged_version_changes_no_outcome() -> None:
    versions = published(2)
    versions.acknowledged(1)
    versions.failed(failure(1), has_no_other_available=False)
    versions.acknowledged(2)
    assert outcomes(versions) == (2, 2, 0, 0)
    assert versions.last_failure == failure(1)


def test_failures_in_a_row_are_counted_until_a_collector_has_weights() -> None:
    versions = published(3)
    versions.failed(failure(1), has_no_other_available=True)
    versions.failed(failure(2), has_no_other_available=False)
    versions.failed(failure(2), has_no_other_available=True)
    versions.acknowledged(None)
    assert versions.failures_in_a_row == 2
    versions.acknowledged(3)
    assert versions.failures_in_a_row == 0


def test_the_digest_of_a_collector_is_that_of_its_version_or_of_another_one() -> None:
    versions = published(2)
    digest = weights(2).digest
    assert versions.proven(2, digest) is True
    assert versions.proven(2, "something else") is False
    assert versions.proven(3, digest) is None


def test_the_digests_of_256_versions_are_known() -> None:
    versions = published(257)
    assert versions.proven(1, weights(1).digest) is None
    assert versions.proven(2, weights(2).digest) is True


def test_a_collector_that_begins_proves_the_newest_weights_with_the_statistics_of_now_or_then() -> None:
    versions = Versions()
    assert versions.newest_with(None) is None
    versions.published(weights(1), NOW, 0.0)
    now = stored("now", 8, None)
    found = versions.newest_with(now)
    assert found is not None
    assert (found.version, found.normalization) == (1, now)
    assert versions.proven(1, found.digest) is versions.proven(1, weights(1).digest) is True


def test_results_say_who_has_a_version_and_why_the_others_do_not() -> None:
    applied = {"c0": 3, "c1": 4, "c2": 2, "c3": None, "c4": 1}
    errors = {"c0": "an old error", "c1": None, "c2": None, "c3": None, "c4": "out of memory"}
    assert results(3, applied, errors) == {
        "c0": PublishResult(3, True, None),
        "c1": PublishResult(4, True, None),
        "c2": PublishResult(2, False, "not applied yet"),
        "c3": PublishResult(None, False, "not applied yet"),
        "c4": PublishResult(1, False, "out of memory"),
    }
    assert results(None, {"c0": 3}, {"c0": None}) == {
        "c0": PublishResult(
            3, False, "not published yet, because the staleness bound allows no further version before the next batch"
        )
    }

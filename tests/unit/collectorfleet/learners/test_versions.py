"""Which version of each policy a version of the fleet has."""

from __future__ import annotations

from concurrent.futures import Future

from hypothesis import given
from hypothesis import strategies as st

from collectorfleet.gather.shared import Staged
from collectorfleet.learners.versions import PolicyStatus, PolicyVersions, Staleness
from collectorfleet.messages import Stored

POLICIES = ("a", "b", "c")


def staged(version: int | None = None) -> Staged:
    made = Staged(Stored(Future(), 0, None), 0.0)
    made.version = version
    return made


@given(st.lists(st.sets(st.sampled_from(POLICIES), min_size=1), max_size=12))
def test_a_policys_version_is_one_more_than_the_times_that_it_changed_by_then(changes: list[set[str]]) -> None:
    versions = PolicyVersions(POLICIES)
    for at, changed in enumerate(changes):
        versions.staged(staged(at + 2), changed)
    for fleet in range(1, len(changes) + 2):
        for policy in POLICIES:
            assert versions.of(policy, fleet) == 1 + sum(policy in changed for changed in changes[: fleet - 1])


def test_what_is_held_back_counts_once_it_is_published_and_with_what_took_its_place() -> None:
    versions = PolicyVersions(POLICIES)
    held, newer = staged(), staged()
    versions.staged(held, ["a"])
    assert versions.of("a", 1) == 1
    held.replaced_by = newer
    versions.staged(newer, ["b"])
    newer.version = 2
    assert [versions.of(policy, 2) for policy in POLICIES] == [2, 2, 1]
    assert [versions.of(policy, 1) for policy in POLICIES] == [1, 1, 1]


def test_what_nobody_has_yet_is_unknown() -> None:
    assert PolicyVersions(POLICIES).status("a", None, None, {}) == PolicyStatus(None, None)
    assert PolicyStatus(3, None).publish_lag is None
    assert PolicyStatus(3, 1).publish_lag == 2


def test_frames_are_as_stale_as_their_policy_went_on_since_whatever_others_did() -> None:
    versions = PolicyVersions(POLICIES)
    for version, changed in ((2, "a"), (3, "b"), (4, "a")):
        versions.staged(staged(version), [changed])
    stored = {1: 10, 3: 10, 4: 20}
    assert versions.status("a", 4, 3, stored) == PolicyStatus(3, 2, 40, Staleness(0, 0.75, 2))
    assert versions.status("b", 4, 3, stored) == PolicyStatus(2, 2, 40, Staleness(0, 0.25, 1))
    assert versions.status("c", 4, 3, stored) == PolicyStatus(1, 1, 40, Staleness(0, 0.0, 0))


def test_frames_of_a_version_that_is_newer_than_the_status_are_not_stale() -> None:
    versions = PolicyVersions(POLICIES)
    versions.staged(staged(2), ["a"])
    assert versions.status("a", 1, 1, {2: 5}).staleness == Staleness(0, 0.0, 0)


def test_versions_count_on_from_another_drivers_and_all_change_with_the_first() -> None:
    before = PolicyVersions(["a", "b"])
    before.staged(staged(2), ["a"])
    before.staged(staged(3), ["a", "b"])
    after = PolicyVersions(["a", "b", "new"])
    after.go_on_from(before.state_dict(), 6)
    assert [after.of(policy, 5) for policy in ("a", "b", "new")] == [3, 2, 1]
    assert [after.of(policy, 6) for policy in ("a", "b", "new")] == [4, 3, 1]
    after.staged(staged(7), ["new"])
    assert [after.of(policy, 7) for policy in ("a", "b", "new")] == [4, 3, 2]


def test_a_long_run_keeps_a_bounded_number_of_changes_and_counts_all() -> None:
    versions = PolicyVersions(["a", "b"])
    for version in range(2, 250_003):
        versions.staged(staged(version), ["a"])
    assert [versions.of("a", version) for version in (250_002, 250_001, 200_000)] == [250_002, 250_001, 200_000]
    assert versions.of("b", 250_002) == 1
    state = versions.state_dict()
    assert len(state["a"]) <= 200_001
    # Frames of the first version count as older than all changes that are known.
    assert 50_000 < versions.of("a", 1) <= 150_002
    after = PolicyVersions(["a", "b"])
    after.go_on_from(state, 300_000)
    assert [after.of("a", version) for version in (250_002, 300_000)] == [250_002, 250_003]
    assert after.of("a", 1) == versions.of("a", 1)
    assert len(after.state_dict()["a"]) <= 200_001


def test_publishes_that_nobody_asks_about_are_not_kept() -> None:
    versions = PolicyVersions(["a"])
    for version in range(2, 100):
        versions.staged(staged(version), ["a"])
    assert len(versions._staged) == 1

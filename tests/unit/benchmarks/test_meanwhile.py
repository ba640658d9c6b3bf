"""What the benchmark of faults tells of a fleet's states."""

from __future__ import annotations

from benchmarks.faults.meanwhile import Seen, Story, story


def seen(at: float, available: int, error: str | None = None, **states: str) -> Seen:
    return Seen(at, available, tuple(sorted(states.items())), error)


def test_a_lost_collector_has_a_path_a_time_when_it_was_noticed_and_one_when_all_are_back() -> None:
    sampled = [
        seen(0.0, 0, c0="Starting", c1="Starting"),
        seen(1.0, 2, c0="Ready", c1="Ready"),
        seen(10.5, 1, "it died", c0="Ready", c1="Retired"),
        seen(11.0, 1, "it died", c0="Ready", c1="Starting"),
        seen(14.0, 2, "it died", c0="Ready", c1="Ready"),
    ]
    assert story(sampled, fault_at=10.0, collectors=2) == Story(
        0.5, 4.0, "c1 Ready → Retired → Starting → Ready", "it died"
    )


def test_a_collector_that_does_not_come_back_leaves_full_strength_unknown() -> None:
    sampled = [seen(1.0, 2, c0="Ready"), seen(10.5, 1, "it died", c0="Starting")]
    assert story(sampled, fault_at=10.0, collectors=2) == Story(0.5, None, "c0 Ready → Starting", "it died")


def test_a_fleet_that_nothing_happened_to_has_no_story() -> None:
    assert story([seen(1.0, 2, c0="Ready")], fault_at=10.0, collectors=2) == Story(None, None, "", None)

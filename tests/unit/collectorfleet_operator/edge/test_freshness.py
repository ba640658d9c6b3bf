"""How old what the operator knows is."""

from __future__ import annotations

import math

from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.edge.freshness import Freshness


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_list_of_several_namespaces_is_as_old_as_the_oldest() -> None:
    clock = Clock()
    known = Freshness(clock)
    known.record_list(POD, "a")
    clock.now = 105.0
    known.record_list(POD, "b")
    known.record_list(JOB, None)
    clock.now = 112.0
    assert known.list_ages() == {POD: 12.0, JOB: 7.0}


def test_a_kind_that_is_not_served_has_no_age() -> None:
    known = Freshness(Clock())
    known.record_list(POD, None)
    known.record_event(POD)
    known.forget(POD)
    assert (known.list_ages(), known.watch_ages()) == ({}, {})


def test_a_watch_is_as_old_as_what_it_last_told() -> None:
    clock = Clock()
    known = Freshness(clock)
    known.record_event(POD)
    clock.now = 103.0
    known.record_event(POD)
    clock.now = 104.0
    assert known.watch_ages() == {POD: 1.0}


def test_a_namespace_that_is_refused_from_the_first_is_as_old_as_the_first_try() -> None:
    clock = Clock()
    known = Freshness(clock)
    known.record_refused_list(POD, "a")
    clock.now = 130.0
    known.record_refused_list(POD, "a")
    known.record_list(POD, "b")
    assert known.list_ages() == {POD: 30.0}
    assert known.newest_list_age(POD) == 0.0
    assert known.newest_list_age(JOB) == math.inf

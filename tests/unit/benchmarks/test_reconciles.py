"""A resting fleet costs the operator little, however many other fleets rest beside it."""

from __future__ import annotations

from benchmarks.fleets.reconciles import SMALL, operator, python_calls, resting

MOST_CALLS = 1_500


def test_a_resting_fleet_of_four_pods_costs_at_most_1500_python_calls_also_after_100_other_fleets() -> None:
    kube, reconciler = operator()
    small = resting(kube, reconciler, 0, SMALL)
    alone = python_calls(reconciler, small)
    for number in range(1, 101):
        resting(kube, reconciler, number, SMALL)
    assert (alone <= MOST_CALLS, python_calls(reconciler, small) <= MOST_CALLS) == (True, True)

"""templates/poddisruptionbudget.yaml"""

from __future__ import annotations

from tests.delivery.helm import Helm
from tests.delivery.operator_chart.rendering import of_kind, only, rendered


def test_drains_are_held_up_only_if_that_is_asked_for(helm: Helm) -> None:
    assert of_kind(rendered(helm), "PodDisruptionBudget") == []
    budget = only(rendered(helm, "--set", "podDisruptionBudget.enabled=true"), "PodDisruptionBudget")
    assert budget["spec"]["minAvailable"] == 1


def test_an_operator_that_is_not_ready_holds_up_no_drain(helm: Helm) -> None:
    budget = only(rendered(helm, "--set", "podDisruptionBudget.enabled=true"), "PodDisruptionBudget")
    assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"

"""What of ``spec.evaluation`` is hardly meant: what its pods take over from those of workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.v1alpha1.fleet import CollectorFleet

_CONTAINER: Final = "ray-worker"
_GPUS: Final = "nvidia.com/"


def evaluation_advice(fleet: CollectorFleet) -> Iterator[Problem]:
    """Yield advice on a fleet without problems."""
    evaluation = fleet.spec.evaluation
    if evaluation is None:
        return
    own = _limits(evaluation.template)
    for name, amount in _limits(fleet.spec.workers.template).items():
        if name.startswith(_GPUS) and str(amount) != "0" and amount is not None and name not in own:
            yield Problem(
                "spec.evaluation.template",
                f"evaluator pods are merged over spec.workers.template and ask for its {name}, which no evaluator "
                "uses; set it to null here",
            )


def _limits(template: dict[str, Any]) -> dict[str, Any]:
    """Return the limits that a template sets for the container that Ray runs in."""
    containers = (template.get("spec") or {}).get("containers") or []
    found: dict[str, Any] = next((one for one in containers if one["name"] == _CONTAINER), {})
    resources = found.get("resources")
    # Of a resource that is no mapping, the check of pods says what is wrong.
    limits = resources.get("limits") if isinstance(resources, dict) else None
    return limits if isinstance(limits, dict) else {}

"""Problems and warnings about the GPUs in ``spec.evaluation``, including its template."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from collectorfleet_api.packing.pods import gpu_units
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.v1alpha1.fleet import CollectorFleet
from collectorfleet_api.v1alpha1.gpus import GpuMode

_CONTAINER: Final = "ray-worker"
_GPUS: Final = "nvidia.com/"


def evaluation_problems(fleet: CollectorFleet) -> Iterator[Problem]:
    """Yield problems with the GPUs of one evaluator."""
    if fleet.spec.evaluation is None:
        return
    units = gpu_units(fleet.spec.evaluation.resources.gpu, "spec.evaluation.resources.gpu")
    if isinstance(units, Refusal):
        yield Problem(units.field, units.message)


def evaluation_advice(fleet: CollectorFleet) -> Iterator[Problem]:
    """Yield warnings about the evaluation of a fleet without problems."""
    evaluation = fleet.spec.evaluation
    if evaluation is None:
        return
    if evaluation.resources.gpu:
        if fleet.spec.workers.gpu.mode is GpuMode.NONE and not (fleet.spec.workers.template or evaluation.template):
            text = (
                "not set, and with workers.gpu.mode None, the operator requests no GPUs; set a template that gives "
                "evaluator pods their GPUs"
            )
            yield Problem("spec.evaluation.template", text)
        return
    own = _limits(evaluation.template)
    for name, amount in _limits(fleet.spec.workers.template).items():
        if name.startswith(_GPUS) and str(amount) != "0" and amount is not None and name not in own:
            yield Problem(
                "spec.evaluation.template",
                f"evaluator pods inherit {name} from spec.workers.template, but no evaluator uses {name}; set this "
                "resource to null here",
            )


def _limits(template: dict[str, Any]) -> dict[str, Any]:
    """Return the limits that a template sets for Ray's container."""
    containers = (template.get("spec") or {}).get("containers") or []
    found: dict[str, Any] = next((one for one in containers if one["name"] == _CONTAINER), {})
    resources = found.get("resources")
    # The check of pods reports resources that are not a mapping.
    limits = resources.get("limits") if isinstance(resources, dict) else None
    return limits if isinstance(limits, dict) else {}

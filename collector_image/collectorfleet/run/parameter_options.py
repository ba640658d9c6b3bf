"""Convert ``spec.environment.parameters`` into the argument ``environment_parameters`` of FleetCollector."""

from __future__ import annotations

from typing import Final

from collectorfleet.parameters import Apply, EnvironmentParameters, Through
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, ParametersApply, ParametersThrough

_APPLY: Final = {ParametersApply.NEXT_RESET: Apply.RESET, ParametersApply.NEXT_STEP: Apply.STEP}
_THROUGH: Final = {
    ParametersThrough.AUTO: Through.AUTO,
    ParametersThrough.SET_PARAMETERS: Through.SET_PARAMETERS,
    ParametersThrough.ATTRIBUTES: Through.ATTRIBUTES,
    ParametersThrough.RESET_OPTIONS: Through.RESET_OPTIONS,
}


def environment_parameters_of(spec: CollectorFleetSpec) -> EnvironmentParameters | None:
    """Return how environments receive parameters, or None if environments receive no parameters."""
    if not spec.takes_environment_parameters:
        return None
    asked = spec.environment.parameters if spec.environment is not None else None
    return (
        EnvironmentParameters()
        if asked is None
        else EnvironmentParameters(_APPLY[asked.apply], _THROUGH[asked.through])
    )

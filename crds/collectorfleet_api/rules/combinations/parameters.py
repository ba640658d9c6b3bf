"""Rules for environment parameters and the curriculum together with other parts of the spec."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.rules.combinations.combination import Combination
from collectorfleet_api.rules.combinations.questions import SCRIPT
from collectorfleet_api.v1alpha1.collectors import CollectorClass
from collectorfleet_api.v1alpha1.environment import ParametersApply, ParametersThrough
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec

_CURRICULUM: Final = "has(self.driver.curriculum)"
_PARAMETERS: Final = "has(self.environment) && has(self.environment.parameters)"
_TAKES: Final = f"({_CURRICULUM} || ({_PARAMETERS}))"


def _takes(spec: CollectorFleetSpec) -> bool:
    return spec.takes_environment_parameters


def _options_at_a_step(spec: CollectorFleetSpec) -> bool:
    parameters = spec.environment.parameters if spec.environment is not None else None
    return (
        parameters is not None
        and parameters.apply is ParametersApply.NEXT_STEP
        and parameters.through is ParametersThrough.RESET_OPTIONS
    )


PARAMETERS: Final = (
    Combination(
        "curriculum-needs-evaluation",
        "driver.curriculum",
        lambda spec: spec.driver.curriculum is None or spec.evaluation is not None,
        f"!{_CURRICULUM} || has(self.evaluation)",
        "the curriculum is called after each evaluation, but the fleet has no evaluation; set spec.evaluation",
    ),
    Combination(
        "curriculum-is-the-scripts",
        "driver.curriculum",
        lambda spec: spec.driver.curriculum is None or spec.driver.script is None,
        f"!{_CURRICULUM} || !{SCRIPT}",
        "driver.script makes the collector; pass curriculum=... to its FleetCollector",
    ),
    Combination(
        "reset-options-at-a-reset",
        "environment.parameters",
        lambda spec: not _options_at_a_step(spec),
        f"!({_PARAMETERS}) || self.environment.parameters.apply != 'NextStep' || "
        "self.environment.parameters.through != 'ResetOptions'",
        "reset options reach an environment only when it is reset; set apply: NextReset",
    ),
    Combination(
        "parameters-or-processes",
        "collectors.class",
        lambda spec: not _takes(spec) or spec.collectors.collector_class is CollectorClass.SINGLE,
        f"!{_TAKES} || self.collectors.class == 'Single'",
        "a collector with several processes cannot set parameters of its environments; set collectors.class to Single, "
        "and use environment.perCollector",
    ),
    Combination(
        "parameters-or-whole-trajectories",
        "collection.trajsPerBatch",
        lambda spec: not _takes(spec) or spec.collection.trajs_per_batch is None,
        f"!{_TAKES} || !has(self.collection.trajsPerBatch)",
        "parameters could change within a trajectory, so the parameters of its frames would be unknown; leave "
        "trajsPerBatch out, or leave environment.parameters and driver.curriculum out",
    ),
)

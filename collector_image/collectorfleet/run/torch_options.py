"""From a fleet's spec to those arguments of FleetCollector that are values of torch and TorchRL."""

from __future__ import annotations

from typing import Any, Final

import torch
from torchrl.envs.utils import ExplorationType

from collectorfleet_api import v1alpha1 as api
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, WeightsDtype

_DTYPES: Final = {
    WeightsDtype.BFLOAT16: torch.bfloat16,
    WeightsDtype.FLOAT16: torch.float16,
    WeightsDtype.FLOAT32: torch.float32,
}
_EXPLORATION: Final = {
    api.ExplorationType.RANDOM: ExplorationType.RANDOM,
    api.ExplorationType.MODE: ExplorationType.MODE,
    api.ExplorationType.MEDIAN: ExplorationType.MEDIAN,
    api.ExplorationType.MEAN: ExplorationType.MEAN,
    api.ExplorationType.DETERMINISTIC: ExplorationType.DETERMINISTIC,
}


def torch_options(spec: CollectorFleetSpec) -> dict[str, Any]:
    """``exploration_type``, and ``weights_dtype`` where the spec names one."""
    options: dict[str, Any] = {"exploration_type": _EXPLORATION[spec.collection.exploration_type]}
    if spec.weights.dtype is not None:
        options["weights_dtype"] = _DTYPES[spec.weights.dtype]
    return options

"""``spec.workers``: the pods that run collectors."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model, Positive
from collectorfleet_api.v1alpha1.gpus import WorkersGpu
from collectorfleet_api.v1alpha1.types import CustomPerPod, PodTemplate


class Workers(Model):
    """The pods that run collectors. The collectors in a pod determine its size."""

    gpu: WorkersGpu = Field(default_factory=WorkersGpu, description="How worker pods get GPUs.")
    collectors_per_pod: Positive | None = Field(
        default=None,
        le=1000,
        description=(
            "Number of collectors in one worker pod. Default: as many collectors as the pod's GPUs and custom "
            "resources allow. If the pod has neither, the default is 1."
        ),
    )
    custom_per_pod: CustomPerPod | None = Field(
        default=None,
        description=(
            "Ray custom resources of one worker pod: a map from resource name to whole number, such as "
            "`simulator_license: 4`. Collectors request these resources with `collectors.resources.custom`."
        ),
    )
    template: PodTemplate = Field(
        default_factory=dict,
        description=(
            "Partial pod template. The operator merges this template over its built-in template of worker pods. Lists "
            "merge by name. Values of this field take precedence."
        ),
    )

"""``spec.ray``: the Ray cluster that runs the collectors."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model
from collectorfleet_api.v1alpha1.types import (
    PodTemplate,
    RayVersion,
)


class Head(Model):
    template: PodTemplate = Field(
        default_factory=dict,
        description=(
            "Partial pod template. The operator merges this template over its built-in template of the head pod. Lists "
            "merge by name. Values of this field take precedence."
        ),
    )


class Ray(Model):
    version: RayVersion = Field(
        default="2.60.0", description="Ray version of the image. Token authentication needs 2.52.0 or later."
    )
    head: Head = Field(default_factory=Head, description="The head pod, which runs no collectors.")

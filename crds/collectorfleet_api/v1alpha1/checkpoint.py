"""``spec.driver.checkpoint``: the volume for the checkpoints from which a restarted driver resumes."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model, PositiveDuration
from collectorfleet_api.v1alpha1.types import ObjectName, SubPath


class Checkpoint(Model):
    claim_name: ObjectName = Field(
        description=(
            "PersistentVolumeClaim in the fleet's namespace, mounted into the driver pod and the learner "
            "pods. Fleets may share a claim, because each fleet writes into a folder with the fleet's name. "
            "If you delete a fleet and create it again, the fleet resumes from its folder."
        ),
    )
    sub_path: SubPath | None = Field(
        default=None,
        description=(
            "Folder of the claim that the driver pod and the learner pods mount, such as `runs/2`. Absent: "
            "the root of the claim."
        ),
    )
    every_seconds: PositiveDuration = Field(
        default=60,
        description=(
            "Minimum seconds between checkpoints. The driver saves a checkpoint when training requests a batch, and "
            "at the end of the run."
        ),
    )

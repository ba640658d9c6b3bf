"""``spec.output``: where batches go that nobody trains on."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model
from collectorfleet_api.v1alpha1.factory import Factory


class OutputFormat(StrEnum):
    TENSORDICT = "TensorDict"
    REPLAY_BUFFER = "ReplayBuffer"


class Output(Model):
    path: str = Field(
        min_length=1,
        description=(
            "Folder in the driver pod that receives the batches; mount a volume there through `driver.template`."
        ),
    )
    format: OutputFormat = Field(
        default=OutputFormat.TENSORDICT,
        description=(
            "TensorDict: memory-mapped shards and a manifest. ReplayBuffer: the batches extend `replayBuffer`, which "
            "is dumped into the folder."
        ),
    )
    replay_buffer: Factory | None = Field(
        default=None,
        description="Builds, once in the driver, the buffer of format ReplayBuffer, which needs it.",
    )

"""Destinations of frames: ``spec.replayBuffer``, or ``spec.output`` without a training function."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model
from collectorfleet_api.v1alpha1.factory import Factory


class OutputFormat(StrEnum):
    TENSORDICT = "TensorDict"
    REPLAY_BUFFER = "ReplayBuffer"


class ReplayBuffer(Factory):
    """The replay buffer: collectors write into the buffer, and the training function samples from the buffer."""

    checkpoint: bool = Field(
        default=False,
        description=(
            "True: each checkpoint of `driver.checkpoint` also contains the buffer's content, and the state of the "
            "sampler and writer. The buffer's actor writes these parts, so run the actor in the driver's pod. Sampling "
            "pauses for about 1 s per GB. The claim needs room for three copies of the buffer. False: a restarted "
            "driver begins with an empty buffer, and `status.progress.replayBufferFramesLost` has the number of "
            "missing frames."
        ),
    )


class Output(Model):
    path: str = Field(
        min_length=1,
        description=(
            "Folder in the driver pod. The driver writes the batches into this folder. Mount a volume there through "
            "`driver.template`."
        ),
    )
    format: OutputFormat = Field(
        default=OutputFormat.TENSORDICT,
        description=(
            "TensorDict: memory-mapped shards and a manifest. ReplayBuffer: the driver adds the batches to "
            "`replayBuffer`, and dumps this buffer into the folder."
        ),
    )
    replay_buffer: Factory | None = Field(
        default=None,
        description=(
            "Factory that builds the buffer of format ReplayBuffer. The driver calls the factory once. Required with "
            "this format."
        ),
    )

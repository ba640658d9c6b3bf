"""Rules for the destination of batches: the training function, a replay buffer, or files."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.rules.combinations.combination import Combination
from collectorfleet_api.rules.combinations.questions import TRAINS, trains
from collectorfleet_api.v1alpha1.output import OutputFormat

TRAIN_OR_OUTPUT: Final = (
    Combination(
        "not-train-and-output",
        "output",
        lambda spec: not (trains(spec) and spec.output is not None),
        f"!({TRAINS} && has(self.output))",
        "set only one of driver.train, driver.script, learners and output, because the frames have one consumer",
    ),
    Combination(
        "train-or-output",
        "",
        lambda spec: trains(spec) or spec.output is not None,
        f"{TRAINS} || has(self.output)",
        "the frames would be lost; set driver.train, driver.script or learners to train on them, or set output to "
        "write them to files",
    ),
)

SINKS: Final = (
    Combination(
        "split-trajs-or-trajs-per-batch",
        "collection.splitTrajs",
        lambda spec: not (spec.collection.split_trajs and spec.collection.trajs_per_batch),
        "!(self.collection.splitTrajs && has(self.collection.trajsPerBatch))",
        "with trajsPerBatch, each row of a batch is one trajectory already; leave splitTrajs or trajsPerBatch out",
    ),
    Combination(
        "replay-buffer-or-batches",
        "replayBuffer",
        lambda spec: (
            spec.replay_buffer is None
            or not (
                spec.collection.postproc
                or spec.collection.split_trajs
                or not spec.collection.copied
                or spec.collection.compact_observations
            )
        ),
        "!has(self.replayBuffer)"
        " || (!has(self.collection.postproc) && !self.collection.splitTrajs && self.collection.copy"
        " && !self.collection.compactObservations)",
        "collectors write into the buffer themselves, so no batch passes through the driver; leave the fields "
        "postproc, splitTrajs, copy and compactObservations of collection out",
    ),
    Combination(
        "replay-buffer-needs-train",
        "replayBuffer",
        lambda spec: spec.replay_buffer is None or trains(spec),
        f"!has(self.replayBuffer) || {TRAINS}",
        (
            "without driver.train, no code samples from the buffer; set driver.train, or write the frames to files "
            "with output.replayBuffer"
        ),
    ),
    Combination(
        "replay-buffer-checkpoint-needs-driver-checkpoint",
        "replayBuffer.checkpoint",
        lambda spec: (
            spec.replay_buffer is None or not spec.replay_buffer.checkpoint or spec.driver.checkpoint is not None
        ),
        "!has(self.replayBuffer) || !self.replayBuffer.checkpoint || has(self.driver.checkpoint)",
        "the buffer is saved with the checkpoints of driver.checkpoint; set driver.checkpoint, or leave this field out",
    ),
    Combination(
        "output-format-with-its-buffer",
        "output.replayBuffer",
        lambda spec: (
            spec.output is None
            or (spec.output.format is OutputFormat.REPLAY_BUFFER) == (spec.output.replay_buffer is not None)
        ),
        "!has(self.output) || (self.output.format == 'ReplayBuffer') == has(self.output.replayBuffer)",
        '"format: ReplayBuffer" and replayBuffer need each other; set both, or leave both out',
    ),
)

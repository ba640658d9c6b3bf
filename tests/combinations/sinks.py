"""Of what takes batches: a training function, an output, a replay buffer."""

from __future__ import annotations

import pytest

from tests.combinations.parts import GATHER_ONLY, RING
from tests.manifests import ABSENT

REFUSED = [
    pytest.param(
        {"spec.output": {"path": "/data"}},
        "spec.output: set only one of driver.train, driver.script, learners and output, because the frames have one "
        "consumer",
        id="train and output",
    ),
    pytest.param(
        {"spec.driver": ABSENT},
        "spec: the frames would be lost; set driver.train, driver.script or learners to train on them, or set output "
        "to write them to files",
        id="neither train nor output",
    ),
    pytest.param(
        {"spec.replayBuffer": RING, "spec.collection.copy": False},
        "spec.replayBuffer: collectors write into the buffer themselves, so no batch passes through the driver; leave "
        "the fields postproc, splitTrajs, copy and compactObservations of collection out",
        id="a replay buffer and batches as they should be",
    ),
    pytest.param(
        {"spec.replayBuffer": RING, "spec.collection.compactObservations": True},
        "spec.replayBuffer: collectors write into the buffer themselves, so no batch passes through the driver; leave "
        "the fields postproc, splitTrajs, copy and compactObservations of collection out",
        id="a replay buffer and observations that travel once",
    ),
    pytest.param(
        {**GATHER_ONLY, "spec.collection.exactStaleness": True},
        "spec.collection.exactStaleness: without driver.train, all batches have the same version of the weights; leave "
        "exactStaleness out",
        id="exact staleness without training",
    ),
    pytest.param(
        {**GATHER_ONLY, "spec.weights.updateBetweenSteps": True},
        "spec.weights.updateBetweenSteps: without driver.train, there are no new weights to load; leave this field out",
        id="new weights without training",
    ),
    pytest.param(
        {**GATHER_ONLY, "spec.weights": {"updateAfterEachBatch": False, "maxWeightUpdateInterval": 3}},
        "spec.weights.maxWeightUpdateInterval: without driver.train, there are no new weights to publish; leave this "
        "field out",
        id="an interval without training",
    ),
    pytest.param(
        {**GATHER_ONLY, "spec.replayBuffer": RING},
        "spec.replayBuffer: without driver.train, no code samples from the buffer; set driver.train, or write the "
        "frames to files with output.replayBuffer",
        id="a replay buffer that nobody samples from",
    ),
    pytest.param(
        {"spec.replayBuffer": {**RING, "checkpoint": True}},
        "spec.replayBuffer.checkpoint: the buffer is saved with the checkpoints of driver.checkpoint; set "
        "driver.checkpoint, or leave this field out",
        id="a replay buffer to keep, and no checkpoints",
    ),
    pytest.param(
        {**GATHER_ONLY, "spec.output": {"path": "/data", "replayBuffer": RING}},
        'spec.output.replayBuffer: "format: ReplayBuffer" and replayBuffer need each other; set both, or leave both '
        "out",
        id="a replay buffer of files",
    ),
    pytest.param(
        {**GATHER_ONLY, "spec.output": {"path": "/data", "format": "ReplayBuffer"}},
        'spec.output.replayBuffer: "format: ReplayBuffer" and replayBuffer need each other; set both, or leave both '
        "out",
        id="a format without its replay buffer",
    ),
    pytest.param(
        {"spec.driver.script": "train.py"}
        | {f"spec.{path}": ABSENT for path in ("environment", "policy", "collection")},
        "spec.driver.script: set either driver.train or driver.script, because each batch has one consumer",
        id="a function and a script",
    ),
    pytest.param(
        {"spec.driver.args": ["--lr", "3e-4"]},
        "spec.driver.args: only a driver.script takes arguments; set the arguments of a function in "
        "driver.train.kwargs",
        id="arguments of no script",
    ),
]

"""Choose the writer for a manifest's ``output``."""

from __future__ import annotations

from collectorfleet.run.driver_code import build
from collectorfleet.run.output.interface import OutputWriter
from collectorfleet.run.output.replay_buffer import ReplayWriter
from collectorfleet.run.output.rollouts import RolloutWriter
from collectorfleet_api.v1alpha1 import Output


def open_writer(output: Output, *, fleet: str, run_id: str) -> OutputWriter:
    """Return the writer for ``output``. Raises UserCodeError if the folder or the user's buffer cannot be used."""
    if output.replay_buffer is None:
        return RolloutWriter(output.path, fleet=fleet, run_id=run_id)
    buffer = build("output.replayBuffer", output.replay_buffer)
    return ReplayWriter(output.path, buffer, fleet=fleet, run_id=run_id)

"""Whether a driver takes up where an earlier one ended. Pure."""

from __future__ import annotations

from collectorfleet_api.v1alpha1 import CollectorFleetSpec


def resumes(spec: CollectorFleetSpec) -> bool:
    """Whether a driver of this spec goes on from a checkpoint, or after the frames that are written out."""
    return spec.driver.checkpoint is not None or (spec.driver.train is None and spec.output is not None)


def kept_at(spec: CollectorFleetSpec) -> object:
    """Return where a driver of this spec keeps what the next one takes up."""
    at = spec.driver.checkpoint
    return (at.claim_name, at.sub_path) if at is not None else (spec.output and spec.output.path)

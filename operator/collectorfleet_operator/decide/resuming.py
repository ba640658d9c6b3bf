"""Checks whether a driver can resume the run of an earlier driver. Pure."""

from __future__ import annotations

from collectorfleet_api.v1alpha1 import CollectorFleetSpec


def resumes(spec: CollectorFleetSpec) -> bool:
    """Return whether a driver of this spec resumes from a checkpoint, or continues after the frames of its output."""
    return spec.driver.checkpoint is not None or (spec.driver.train is None and spec.output is not None)


def kept_at(spec: CollectorFleetSpec) -> object:
    """Return the place of the checkpoint or output from which the next driver of this spec resumes."""
    at = spec.driver.checkpoint
    return (at.claim_name, at.sub_path) if at is not None else (spec.output and spec.output.path)

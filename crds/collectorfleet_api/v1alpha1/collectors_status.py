"""``status.collectors`` (a row for each collector), and the counts of collectors."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Count, Model
from collectorfleet_api.v1alpha1.types import BY_NAME


class GroupCounts(Model):
    name: str = Field(description="Name of the group.")
    desired: Count = Field(description="Number of requested collectors.")
    available: Count = Field(description="Number of collectors with acknowledged weights.")


def groups_summary(groups: Sequence[GroupCounts]) -> str | None:
    """Return text for the column, such as ``fast 8/8, big 3/4``, or None without groups."""
    return ", ".join(f"{one.name} {one.available}/{one.desired}" for one in groups) or None


class CollectorCounts(Model):
    desired: Count = Field(description="Number of requested collectors.")
    available: Count = Field(description="Number of collectors with acknowledged weights.")
    restarts: Count = Field(
        default=0,
        description="Number of times that a collector was restarted after a loss or an exception of its environment.",
    )
    summary: str = Field(description="available/desired, for a column of `kubectl get`.")
    groups: list[GroupCounts] = Field(
        default_factory=list,
        description="The same counts for each group in `spec.collectors.groups`.",
        json_schema_extra=BY_NAME,
    )
    groups_summary: str | None = Field(
        default=None,
        description=(
            "available/desired of each group, for a column of `kubectl get -o wide`. Absent: there are no groups."
        ),
    )


class CollectorState(StrEnum):
    STARTING = "Starting"
    JOINING = "Joining"
    READY = "Ready"
    RETIRED = "Retired"
    FAILED = "Failed"


class CollectorStatus(Model):
    name: str = Field(description="Name of the collector: c0, c1, ...")
    group: str | None = Field(default=None, description="Group of the collector, from `spec.collectors.groups`.")
    state: CollectorState = Field(
        description="Starting, Joining (no acknowledged weights yet), Ready, Retired or Failed."
    )
    pod: str | None = Field(default=None, description="Pod (or host) that the collector runs in.")
    rollout: str | None = Field(
        default=None,
        description=(
            "The loop that steps the environments now, see `collection.rollout`. The values are `Fast`, `Fast, with "
            "tensors on DEVICE`, `Fast, by the environment's own step: reason`, and `TorchRL: reason`. If the spec "
            "requests TorchRL's loop, the value is `TorchRL`."
        ),
    )
    applied_version: int | None = Field(default=None, description="Newest version that the collector acknowledged.")
    batches: Count = Field(default=0, description="Number of requests that the collector answered.")
    frames: Count = Field(default=0, description="Number of frames that the collector produced.")
    restarts: Count = Field(default=0, description="Number of restarts of the collector.")
    last_error: str | None = Field(default=None, description="The original text of the newest error.")

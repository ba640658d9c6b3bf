"""``status.learners``: shards of learners and their policies."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Count, Measured, Model


class PolicyStaleness(Model):
    """Staleness of the frames that a policy learns from, in versions of the policy."""

    min: Count = Field(description="Least staleness.")
    mean: Measured = Field(ge=0, description="Mean staleness.")
    max: Count = Field(description="Largest staleness.")


class LearnerPolicyStatus(Model):
    id: str = Field(description="Id of the policy, from `spec.learners.policies`.")
    shard: Count = Field(description="Index of the policy's shard, from 0.")
    published: int | None = Field(
        default=None,
        description=("Newest version of the policy. The number begins at 1 and increases only if the policy changed."),
    )
    acknowledged: int | None = Field(
        default=None,
        description=(
            "Version of the policy in the slowest available collector: the lowest acknowledged version. Absent: the "
            "version of an available collector is unknown."
        ),
    )
    publish_lag: Count | None = Field(
        default=None, description="Number of versions by which the slowest collector is behind."
    )
    frames: Count = Field(description="Number of frames in the policy's buffer that have a weights version.")
    staleness: PolicyStaleness | None = Field(
        default=None, description=("Staleness of these frames, in versions of the policy. Absent: there are no frames.")
    )
    steps: Count | None = Field(
        default=None,
        description=("Number of calls of the learner's `learn`, including calls before the last checkpoint."),
    )


class LearnersStatus(Model):
    shards: Count = Field(description="Number of shards. Each shard is in one pod.")
    places: Count = Field(description="Number of policies that all shards together have room for.")
    used: Count = Field(description="Number of policies that are in the shards.")
    gpu_per_policy: float | None = Field(
        default=None, description="Share of a GPU that each policy gets. Absent: policies have no GPU."
    )
    policies: list[LearnerPolicyStatus] = Field(
        default_factory=list,
        description="State of each policy at the end of the newest batch.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]},
    )

"""``spec.learners``: policies that learn in their own actors. A shard has policies and their replay actor."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Final

from pydantic import Field

from collectorfleet_api.packing.learner_pods import LearnerPods, ShardMemory, learner_pods
from collectorfleet_api.packing.quantity import parse_quantity, whole_cpus
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.packing.shards import LearnerGroup
from collectorfleet_api.v1alpha1.base import Model, Positive
from collectorfleet_api.v1alpha1.factory import Factory
from collectorfleet_api.v1alpha1.types import AttributePath, Cpu, ImportPath, Memory, PodTemplate, PolicyId, Preserved

# Each policy has a row in the status.
MOST_POLICIES: Final = 100


class ShardPlacement(StrEnum):
    SPREAD = "Spread"
    FIRST_FIT = "FirstFit"


class LearnerResources(Model):
    """Resources of one actor. CPU and memory are Kubernetes quantities."""

    cpu: Cpu = Field(
        default=1,
        description=(
            "CPU of one actor. Ray reserves whole CPUs, rounded up. Torch uses one thread for each reserved CPU."
        ),
    )
    memory: Memory = Field(default="2Gi", description="Memory of one actor.")


class LearnerReplay(Model):
    factory: ImportPath | None = Field(
        default=None,
        description=(
            "Import path of the class of a shard's replay actor. The class has the methods `extend`, `sample`, `size` "
            "and `forget`. The first argument of each method is the policy's id. Absent: a replay actor that keeps "
            "the last `capacity` frames of each policy, and samples these frames uniformly."
        ),
    )
    kwargs: Preserved = Field(
        default_factory=dict,
        description="Keyword arguments of the class, such as `capacity`. The default capacity is 100000 frames.",
    )
    resources: LearnerResources = Field(
        default_factory=LearnerResources,
        description="Resources of a shard's replay actor. The actor stores the frames of the shard's policies.",
    )


class LearnerPolicy(Model):
    id: PolicyId = Field(
        description="Name of the policy in `split`, in `status.learners` and in checkpoints. Do not change the id."
    )
    module: AttributePath | None = Field(
        default=None,
        description=(
            "Attribute path from the fleet's policy to the module of this policy, such as `module.red`. Absent: the "
            "policy's id."
        ),
    )
    factory: ImportPath | None = Field(
        default=None, description="Import path of the policy's learner class. Absent: `spec.learners.factory`."
    )
    kwargs: Preserved = Field(
        default_factory=dict,
        description=(
            "Keyword arguments of the policy's learner class. They override the arguments of `spec.learners`, key by "
            "key, also in nested mappings."
        ),
    )

    @property
    def path(self) -> str:
        """Return the attribute path from the fleet's policy to the module of this policy."""
        return self.module or self.id


class Learners(Factory):
    """The policies that learn in their own actors, and the shards that they share."""

    factory: ImportPath = Field(
        description=(
            "Import path of the learner class. The class has the methods `learn(frames)` and `weights()`, which "
            "returns the weights of the policy's module. With `driver.checkpoint`, the class also has `state_dict()` "
            "and `load_state_dict()`."
        )
    )
    kwargs: Preserved = Field(default_factory=dict, description="Keyword arguments of every learner.")
    split: ImportPath = Field(
        description=(
            "Import path of a function that collectors call with the frames of a rollout, of shape "
            "`[frames]`. The function returns the frames of each policy, by id. Other frames are "
            "dropped."
        )
    )
    policies: list[LearnerPolicy] = Field(
        min_length=1,
        max_length=MOST_POLICIES,
        description="The policies that learn, by id.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]},
    )
    max_policies: Annotated[int, Field(ge=1, le=MOST_POLICIES)] | None = Field(
        default=None,
        description=(
            "Number of places. Each place has room for one policy. If there are more places than policies, a policy "
            "can be added without a change of the shards. Absent: as many places as policies."
        ),
    )
    gpus: float = Field(
        default=0.0,
        ge=0,
        le=1024,
        description=(
            "GPUs of all policies: a whole number, or a share below 1. All policies get equal shares, as large as "
            "the fullest shard allows."
        ),
    )
    shards: Annotated[int, Field(ge=1, le=MOST_POLICIES)] | None = Field(
        default=None,
        description=(
            "Number of shards. A shard is a replay actor and its policies in one pod. Absent: one shard for each "
            "whole GPU, at least one and at most `maxPolicies`. Without GPUs: `maxPolicies` shards."
        ),
    )
    placement: ShardPlacement = Field(
        default=ShardPlacement.SPREAD,
        description=(
            "Spread: a policy joins the shard with the fewest policies. FirstFit: a policy joins the first shard with"
            " a free place."
        ),
    )
    resources: LearnerResources = Field(
        default_factory=LearnerResources,
        description=(
            "Resources of one policy's actor without its GPU. A learner pod requests the resources of its actors "
            "and replay actors. For Ray, the pod also requests 200m CPU, 768Mi of memory, and 256Mi for each "
            "actor. The memory request is also the memory limit."
        ),
    )
    replay: LearnerReplay = Field(default_factory=LearnerReplay, description="The replay actor of each shard.")
    batch_size: Positive = Field(
        default=256,
        description=(
            "Number of frames that each policy learns from after each batch, sampled from the policy's own frames. "
            "With `driver.train`, this field has no effect."
        ),
    )
    template: PodTemplate = Field(
        default_factory=dict,
        description=(
            "Partial pod template, merged over the operator's template of learner pods. Lists merge by name. Values of "
            "this field take precedence."
        ),
    )

    @property
    def places(self) -> int:
        """Return the number of places for policies."""
        return len(self.policies) if self.max_policies is None else self.max_policies

    @property
    def group(self) -> LearnerGroup:
        """Return the request to Ray. Ray gives an actor whole CPUs, one for each torch thread."""
        return LearnerGroup(
            self.places,
            self.gpus,
            self.shards,
            policy_cpus=Fraction(whole_cpus(self.resources.cpu)),
            replay_cpus=Fraction(whole_cpus(self.replay.resources.cpu)),
        )

    @property
    def pods(self) -> LearnerPods | Refusal:
        """Return the number and size of the pods for the shards, or why the shards do not fit."""
        memory = ShardMemory(parse_quantity(self.resources.memory), parse_quantity(self.replay.resources.memory))
        cpus = parse_quantity(self.resources.cpu), parse_quantity(self.replay.resources.cpu)
        return learner_pods(self.group, memory, *cpus)

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

# The limit bounds the size of the status, which has a row for each policy.
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
            "Import path of the replay actor's class. Each shard has one replay actor. The class has the methods "
            "`extend`, `sample`, `size` and `forget`. The first argument of each method is the policy's id. Absent: a "
            "replay actor that keeps the last `capacity` frames of each policy, and samples these frames uniformly."
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
            "Import path of the learner class. The class has the methods `learn(frames)` and `weights()`. `weights()` "
            "returns the weights of the policy's module. With `driver.checkpoint`, the class also has `state_dict()` "
            "and `load_state_dict()`."
        )
    )
    kwargs: Preserved = Field(default_factory=dict, description="Keyword arguments of every learner.")
    split: ImportPath = Field(
        description=(
            "Import path of a function. Collectors call the function with the frames of a rollout, which have shape "
            "`[frames]`. The function returns a map from each policy's id to the policy's frames. Other frames are "
            "dropped."
        )
    )
    policies: list[LearnerPolicy] = Field(
        min_length=1,
        max_length=MOST_POLICIES,
        description="The policies that learn. Each policy has a different id.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]},
    )
    max_policies: Annotated[int, Field(ge=1, le=MOST_POLICIES)] | None = Field(
        default=None,
        description=(
            "Number of policies that the shards have room for. If the shards have more room than `policies` needs, you "
            "can add a policy without a change of the shards. Absent: the number of `policies`."
        ),
    )
    gpus: float = Field(
        default=0.0,
        ge=0,
        le=1024,
        description=(
            "Number of GPUs for all policies together: a whole number, or a share below 1. Every policy gets the same "
            "amount, which is as large as the fullest shard allows."
        ),
    )
    shards: Annotated[int, Field(ge=1, le=MOST_POLICIES)] | None = Field(
        default=None,
        description=(
            "Number of shards. A shard is a replay actor and its policies in one pod. Absent: one shard for each whole "
            "GPU, but at least 1 and at most `maxPolicies` shards. Without GPUs, the default is `maxPolicies` shards."
        ),
    )
    placement: ShardPlacement = Field(
        default=ShardPlacement.SPREAD,
        description=(
            "Spread: a policy joins the shard with the fewest policies. FirstFit: a policy joins the first shard that "
            "has room."
        ),
    )
    resources: LearnerResources = Field(
        default_factory=LearnerResources,
        description=(
            "Resources of one policy's actor, not counting the GPU. A learner pod requests the resources of its actors "
            "and replay actors. For Ray, the pod also requests 200m CPU, 768Mi of memory, and 256Mi for each actor. "
            "The memory request is also the memory limit."
        ),
    )
    replay: LearnerReplay = Field(default_factory=LearnerReplay, description="The replay actor of each shard.")
    batch_size: Positive = Field(
        default=256,
        description=(
            "Number of frames that each policy learns from after each batch. They are sampled from the policy's own "
            "frames. With `driver.train`, this field has no effect."
        ),
    )
    template: PodTemplate = Field(
        default_factory=dict,
        description=(
            "Partial pod template. The operator merges this template over its built-in template of learner pods. Lists "
            "merge by name. Values of this field take precedence."
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

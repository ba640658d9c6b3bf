"""``spec`` of a CollectorFleet: what the user asks for.

A field's description is the user's documentation: it feeds the CRD, ``kubectl explain`` and the docs table.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Count, Model, Positive
from collectorfleet_api.v1alpha1.types import Cpu, ImportPath, Memory, PodTemplate, Preserved, RayVersion


class ImagePullPolicy(StrEnum):
    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class Mode(StrEnum):
    SYNC = "Sync"
    ASYNC = "Async"


class LocalObjectReference(Model):
    name: str = Field(min_length=1, max_length=253, description="Name of the object, in the fleet's namespace.")


class Code(Model):
    config_map: str = Field(
        min_length=1,
        max_length=253,
        description=(
            "ConfigMap in the fleet's namespace whose keys are Python files; it is mounted into head, workers and "
            "driver and put first on the import path."
        ),
    )


class Factory(Model):
    """Code of the user that builds something: an import path and its keyword arguments."""

    factory: ImportPath = Field(description="Import path `package.module:function` of the callable that builds it.")
    kwargs: Preserved = Field(default_factory=dict, description="Keyword arguments of the factory.")


class Environment(Factory):
    per_collector: Positive = Field(
        default=1,
        description=(
            "Environments that one collector steps together in its process. Above 1 the factory is called that "
            "often and the environments form one batch."
        ),
    )


class Policy(Factory):
    pass


class Train(Model):
    function: ImportPath = Field(
        description="Import path of `train(collector, run, **kwargs) -> None`, called once in the driver."
    )
    kwargs: Preserved = Field(default_factory=dict, description="Keyword arguments of the function.")


class Resources(Model):
    """Requests of one pod or one collector; CPU and memory are Kubernetes quantities."""

    cpu: Cpu = Field(default=1, description="CPU, a Kubernetes quantity such as 2, 0.5 or 500m.")
    memory: Memory = Field(default="2Gi", description="Memory, a Kubernetes quantity such as 2Gi.")
    gpu: float = Field(
        default=0.0,
        ge=0,
        le=64,
        description="GPUs, a plain number: a share of one GPU from 0.0001 to 1, or whole GPUs.",
    )


class DriverResources(Resources):
    gpu: float = Field(default=0.0, ge=0, le=64, description="Whole GPUs of the driver.")


class Driver(Model):
    train: Train | None = Field(
        default=None, description="The training function. Absent: the driver only collects, into `spec.output`."
    )
    resources: DriverResources = Field(
        default_factory=DriverResources, description="What the driver pod asks for; memory is also its limit."
    )
    template: PodTemplate = Field(
        default_factory=dict,
        description="Partial pod template merged over the driver pod's: lists merge by name, anything set here wins.",
    )


class Collection(Model):
    mode: Mode = Field(
        default=Mode.SYNC,
        description=(
            "Sync: a batch is made of shares of all collectors. Async: each collector's batch is handed out as it "
            "comes."
        ),
    )
    frames_per_batch: Positive = Field(
        description=(
            "Frames per batch handed out. Sync: split into equal shares, one for each collector. Async: frames of "
            "one collector's batch."
        ),
    )
    total_frames: Positive | None = Field(
        default=None,
        description="Collection ends once at least this many frames were handed out. Absent: endless.",
    )
    max_staleness: Count | None = Field(
        default=None,
        description=(
            "How many weight versions behind the current one the oldest frame of a batch may be when it is handed "
            "out. Sync: default 0, strictly on-policy; 1 collects exactly one batch ahead. Async: absent means "
            "unbounded with two requests in flight per collector; 0 is refused."
        ),
    )

    @property
    def staleness_bound(self) -> int | None:
        """The bound in force, in versions; None is unbounded (Async only)."""
        if self.max_staleness is None and self.mode is Mode.SYNC:
            return 0
        return self.max_staleness


class Collectors(Model):
    replicas: Positive = Field(default=1, le=10_000, description="Collectors (not pods); the scale subresource.")
    min_available: Positive = Field(
        default=1,
        description=(
            "Fewest collectors on acknowledged weights for Ready=True; more than `replicas` counts as `replicas`."
        ),
    )
    resources: Resources = Field(
        default_factory=Resources,
        description=(
            "What one collector needs, all of its processes together. A worker pod asks for that of its collectors "
            "and, for Ray, 200m CPU, 768Mi and 256Mi per collector on top; memory is also its limit."
        ),
    )


class WorkersGpu(Model):
    per_pod: Positive = Field(default=1, le=64, description="GPUs of one worker pod that holds GPU collectors.")


class Workers(Model):
    """The pods that hold collectors; sized from them."""

    gpu: WorkersGpu = Field(default_factory=WorkersGpu, description="How worker pods get GPUs.")
    collectors_per_pod: Positive | None = Field(
        default=None,
        le=1000,
        description="Collectors in one worker pod. Default: as many as share the pod's GPUs; 1 without a GPU.",
    )
    template: PodTemplate = Field(
        default_factory=dict,
        description="Partial pod template merged over the worker pods': lists merge by name, anything set here wins.",
    )


class Weights(Model):
    update_after_each_batch: bool = Field(
        default=True,
        description=(
            "Publish the policy's weights when the training function asks for the next batch. False: only when it "
            "calls `collector.update_policy_weights_()`."
        ),
    )


class OutputFormat(StrEnum):
    TENSORDICT = "TensorDict"


class Output(Model):
    path: str = Field(
        min_length=1,
        description=(
            "Folder in the driver pod that receives the batches; mount a volume there through `driver.template`."
        ),
    )
    format: OutputFormat = Field(
        default=OutputFormat.TENSORDICT, description="TensorDict: memory-mapped shards and a manifest."
    )


class Head(Model):
    template: PodTemplate = Field(
        default_factory=dict,
        description="Partial pod template merged over the head pod's: lists merge by name, anything set here wins.",
    )


class Ray(Model):
    version: RayVersion = Field(
        default="2.60.0", description="Ray version of the image; token authentication needs 2.52.0 or later."
    )
    head: Head = Field(default_factory=Head, description="The head pod, which runs no collectors.")


class CollectorFleetSpec(Model):
    image: str = Field(min_length=1, description="Image of head, workers and driver, built from the collector image.")
    image_pull_policy: ImagePullPolicy = Field(
        default=ImagePullPolicy.IF_NOT_PRESENT, description="When kubelets pull the image."
    )
    image_pull_secrets: list[LocalObjectReference] = Field(
        default_factory=list,
        max_length=16,
        description="Secrets with registry credentials.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    code: Code | None = Field(
        default=None, description="Python files from a ConfigMap. Absent: all code is in the image."
    )
    environment: Environment = Field(description="The environment that every collector steps.")
    policy: Policy = Field(
        description="The policy; the factory is called once, in the driver, and its module is `collector.policy`."
    )
    driver: Driver = Field(default_factory=Driver, description="The pod that gathers and trains.")
    collection: Collection = Field(description="How batches are gathered.")
    collectors: Collectors = Field(default_factory=Collectors, description="The remote collectors.")
    workers: Workers = Field(default_factory=Workers, description="The pods that hold collectors.")
    weights: Weights = Field(default_factory=Weights, description="How weights travel to the collectors.")
    output: Output | None = Field(default=None, description="Where a fleet without `driver.train` puts its batches.")
    ray: Ray = Field(default_factory=Ray, description="The Ray cluster underneath.")

"""The models of API version v1alpha1 that other packages may use."""

from __future__ import annotations

from collectorfleet_api.v1alpha1.base import (
    LocalObjectReference,
    Model,
)
from collectorfleet_api.v1alpha1.checkpoint import (
    Checkpoint,
)
from collectorfleet_api.v1alpha1.code import (
    Archive,
    Artifact,
    CertificateAuthority,
    Code,
    Git,
)
from collectorfleet_api.v1alpha1.collection import (
    Collection,
    ExplorationType,
    Mode,
    Rollout,
    Stragglers,
    Transport,
)
from collectorfleet_api.v1alpha1.collectors import (
    CollectorClass,
    Collectors,
    Resources,
)
from collectorfleet_api.v1alpha1.collectors_status import CollectorCounts, CollectorState, CollectorStatus, GroupCounts
from collectorfleet_api.v1alpha1.condition import Condition, ConditionStatus
from collectorfleet_api.v1alpha1.devices import (
    Devices,
)
from collectorfleet_api.v1alpha1.driver import Curriculum, Driver, DriverResources, Train
from collectorfleet_api.v1alpha1.environment import (
    Environment,
    EnvironmentParameters,
    ParametersApply,
    ParametersThrough,
)
from collectorfleet_api.v1alpha1.evaluation import Evaluation, EvaluationResources, EvaluationVideo, StopWhen
from collectorfleet_api.v1alpha1.evaluation_status import BestEvaluation, EvaluationStatus, VideoStatus
from collectorfleet_api.v1alpha1.factory import (
    Factory,
)
from collectorfleet_api.v1alpha1.fleet import (
    CollectorFleet,
    Metadata,
)
from collectorfleet_api.v1alpha1.gpus import GpuMode, WorkersGpu
from collectorfleet_api.v1alpha1.groups import (
    Group,
)
from collectorfleet_api.v1alpha1.learners import (
    LearnerPolicy,
    LearnerReplay,
    LearnerResources,
    Learners,
    ShardPlacement,
)
from collectorfleet_api.v1alpha1.learners_status import LearnerPolicyStatus, LearnersStatus
from collectorfleet_api.v1alpha1.lifecycle import (
    WhenFinished,
)
from collectorfleet_api.v1alpha1.log import (
    Log,
)
from collectorfleet_api.v1alpha1.output import (
    Output,
    OutputFormat,
    ReplayBuffer,
)
from collectorfleet_api.v1alpha1.policy import Policy
from collectorfleet_api.v1alpha1.process import Process
from collectorfleet_api.v1alpha1.progress_status import EpisodesStatus, Progress
from collectorfleet_api.v1alpha1.ray import Head, Ray
from collectorfleet_api.v1alpha1.reasons import (
    ConditionType,
    Phase,
    Reason,
)
from collectorfleet_api.v1alpha1.report import CheckpointStatus, DriverReport, EnvironmentParametersStatus
from collectorfleet_api.v1alpha1.scheduling import (
    Toleration,
)
from collectorfleet_api.v1alpha1.spec import (
    CollectorFleetSpec,
    ImagePullPolicy,
    Launcher,
)
from collectorfleet_api.v1alpha1.status import (
    CodeStatus,
    CollectorFleetStatus,
    CollectorsJobStatus,
    DriverPodStatus,
    OperatorStatus,
    Orders,
    RayClusterStatus,
    WorkerGroupStatus,
    WorkerPods,
)
from collectorfleet_api.v1alpha1.update_strategy import (
    RollingUpdate,
    UpdateStrategy,
    UpdateStrategyType,
)
from collectorfleet_api.v1alpha1.weights import (
    TravellingModule,
    Weights,
    WeightsDtype,
)
from collectorfleet_api.v1alpha1.weights_status import Publishes, PublishLag, Staleness, WeightsFailure, WeightsStatus
from collectorfleet_api.v1alpha1.workers import Workers

__all__ = [
    "Archive",
    "Artifact",
    "BestEvaluation",
    "CertificateAuthority",
    "Checkpoint",
    "CheckpointStatus",
    "Code",
    "CodeStatus",
    "Collection",
    "CollectorClass",
    "CollectorCounts",
    "CollectorFleet",
    "CollectorFleetSpec",
    "CollectorFleetStatus",
    "CollectorState",
    "CollectorStatus",
    "Collectors",
    "CollectorsJobStatus",
    "Condition",
    "ConditionStatus",
    "ConditionType",
    "Curriculum",
    "Devices",
    "Driver",
    "DriverPodStatus",
    "DriverReport",
    "DriverResources",
    "Environment",
    "EnvironmentParameters",
    "EnvironmentParametersStatus",
    "EpisodesStatus",
    "Evaluation",
    "EvaluationResources",
    "EvaluationStatus",
    "EvaluationVideo",
    "ExplorationType",
    "Factory",
    "Git",
    "GpuMode",
    "Group",
    "GroupCounts",
    "Head",
    "ImagePullPolicy",
    "Launcher",
    "LearnerPolicy",
    "LearnerPolicyStatus",
    "LearnerReplay",
    "LearnerResources",
    "Learners",
    "LearnersStatus",
    "LocalObjectReference",
    "Log",
    "Metadata",
    "Mode",
    "Model",
    "OperatorStatus",
    "Orders",
    "Output",
    "OutputFormat",
    "ParametersApply",
    "ParametersThrough",
    "Phase",
    "Policy",
    "Process",
    "Progress",
    "PublishLag",
    "Publishes",
    "Ray",
    "RayClusterStatus",
    "Reason",
    "ReplayBuffer",
    "Resources",
    "RollingUpdate",
    "Rollout",
    "ShardPlacement",
    "Staleness",
    "StopWhen",
    "Stragglers",
    "Toleration",
    "Train",
    "Transport",
    "TravellingModule",
    "UpdateStrategy",
    "UpdateStrategyType",
    "VideoStatus",
    "Weights",
    "WeightsDtype",
    "WeightsFailure",
    "WeightsStatus",
    "WhenFinished",
    "WorkerGroupStatus",
    "WorkerPods",
    "Workers",
    "WorkersGpu",
]

"""The types and reasons of a fleet's conditions, and the phases that summarize them.

Other reasons are Kubernetes' own, such as ImagePullBackOff, OOMKilled and Unschedulable. They are copied unchanged.
"""

from __future__ import annotations

from enum import StrEnum


class ConditionType(StrEnum):
    """The types of conditions. The first three summarize the others for tools that do not support fleets."""

    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"
    RAY_CLUSTER_READY = "RayClusterReady"
    COLLECTORS_JOB_READY = "CollectorsJobReady"  # replaces RayClusterReady with launcher Job
    DRIVER_RUNNING = "DriverRunning"
    COLLECTORS_AVAILABLE = "CollectorsAvailable"
    WEIGHTS_FRESH = "WeightsFresh"
    COMPLETED = "Completed"
    UP_TO_DATE = "UpToDate"
    SUSPENDED = "Suspended"
    ADMITTED = "Admitted"


class Reason(StrEnum):
    """The project's own reasons, ordered by the condition that uses them.

    Ready, Reconciling and Stalled also repeat reasons of other conditions.
    """

    # Ready, Reconciling, Stalled
    COLLECTING = "Collecting"
    PROGRESSING = "Progressing"
    FIRST_BATCH_PENDING = "FirstBatchPending"
    INVALID_SPEC = "InvalidSpec"  # UpToDate also uses this reason
    PROGRESS_DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"
    INTERNAL_ERROR = "InternalError"

    # RayClusterReady or CollectorsJobReady, and DriverRunning
    PENDING = "Pending"
    WAITING_FOR_DELETION = "WaitingForDeletion"
    NAME_TAKEN = "NameTaken"
    REFUSED = "Refused"
    WRITE_FAILED = "WriteFailed"  # also of Reconciling and Admitted; Admitted also uses NameTaken and Refused
    CONTAINER_FAILED = "ContainerFailed"
    NODE_LOST = "NodeLost"
    CHILD_SUSPENDED = "ChildSuspended"

    # RayClusterReady or CollectorsJobReady
    READY = "Ready"
    WORKERS_STARTING = "WorkersStarting"
    COLLECTOR_UNSCHEDULABLE = "CollectorUnschedulable"

    # RayClusterReady
    KUBERAY_MISSING = "KubeRayMissing"
    HEAD_PENDING = "HeadPending"
    HEAD_STARTING = "HeadStarting"
    HEAD_UNSCHEDULABLE = "HeadUnschedulable"
    EVALUATOR_UNSCHEDULABLE = "EvaluatorUnschedulable"

    # DriverRunning
    STARTING = "Starting"
    RUNNING = "Running"  # Completed also uses this reason
    RESTARTING = "Restarting"
    DRIVER_LOST = "DriverLost"
    DRIVER_UNSCHEDULABLE = "DriverUnschedulable"

    # CollectorsAvailable and WeightsFresh
    DRIVER_NOT_RUNNING = "DriverNotRunning"

    # CollectorsAvailable
    NO_REPORT = "NoReport"
    COLLECTORS_STARTING = "CollectorsStarting"
    BELOW_MIN_AVAILABLE = "BelowMinAvailable"
    SOME_UNAVAILABLE = "SomeUnavailable"
    ALL_AVAILABLE = "AllAvailable"

    # WeightsFresh
    NOT_PUBLISHED = "NotPublished"
    NOT_ACKNOWLEDGED = "NotAcknowledged"
    ACKNOWLEDGED = "Acknowledged"
    ACKNOWLEDGEMENT_LATE = "AcknowledgementLate"
    WEIGHT_UPDATE_FAILED = "WeightUpdateFailed"
    STALENESS_BOUND_EXCEEDED = "StalenessBoundExceeded"

    # UpToDate
    UP_TO_DATE = "UpToDate"
    RESTART_NEEDED = "RestartNeeded"
    CHECKPOINT_NEEDED = "CheckpointNeeded"
    UPDATING = "Updating"

    # Suspended, and every other condition of a suspended fleet
    SUSPENDED = "Suspended"
    SUSPENDING = "Suspending"
    NOT_SUSPENDED = "NotSuspended"
    IDLE_TIMEOUT = "IdleTimeout"

    # Admitted, of a fleet with a queue
    ADMITTED = "Admitted"
    ADMITTED_FOR_FEWER = "AdmittedForFewer"
    WAITING_FOR_QUOTA = "WaitingForQuota"
    QUOTA_TAKEN_BACK = "QuotaTakenBack"  # Suspended also uses this reason, while the driver ends
    WORKLOAD_DEACTIVATED = "WorkloadDeactivated"
    PRIORITY_CLASS_MISSING = "PriorityClassMissing"
    KUEUE_MISSING = "KueueMissing"
    NOT_QUEUED = "NotQueued"

    # Every condition at the end of the run; Interrupted only for a run on one machine
    COMPLETED = "Completed"
    FAILED = "Failed"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    INTERRUPTED = "Interrupted"

    # No condition, only Events: the operator created or deleted a child, or ignores a pod of another owner
    CREATED = "Created"
    DELETED = "Deleted"
    POD_IGNORED = "PodIgnored"


class Phase(StrEnum):
    """A summary of the conditions, for people only."""

    PENDING = "Pending"
    STARTING = "Starting"
    COLLECTING = "Collecting"
    DEGRADED = "Degraded"
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    COMPLETED = "Completed"
    FAILED = "Failed"

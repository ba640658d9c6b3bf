"""The words of a fleet's status: which conditions there are, why each is as it is, and the phase that sums them up.

A reason that is not here is Kubernetes' own (ImagePullBackOff, OOMKilled, Unschedulable) and passes through as it came.
"""

from __future__ import annotations

from enum import StrEnum


class ConditionType(StrEnum):
    """The first three add up the others, for tools that know nothing of fleets."""

    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"
    RAY_CLUSTER_READY = "RayClusterReady"
    COLLECTORS_JOB_READY = "CollectorsJobReady"  # in its place, of a fleet with launcher Job
    DRIVER_RUNNING = "DriverRunning"
    COLLECTORS_AVAILABLE = "CollectorsAvailable"
    WEIGHTS_FRESH = "WeightsFresh"
    COMPLETED = "Completed"
    UP_TO_DATE = "UpToDate"
    SUSPENDED = "Suspended"
    ADMITTED = "Admitted"


class Reason(StrEnum):
    """Our own, each under the condition that gives it; the first three conditions repeat what the others give."""

    # Ready, Reconciling, Stalled
    COLLECTING = "Collecting"
    PROGRESSING = "Progressing"
    FIRST_BATCH_PENDING = "FirstBatchPending"
    INVALID_SPEC = "InvalidSpec"  # UpToDate gives it too
    PROGRESS_DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"
    INTERNAL_ERROR = "InternalError"

    # RayClusterReady or CollectorsJobReady, and DriverRunning
    PENDING = "Pending"
    WAITING_FOR_DELETION = "WaitingForDeletion"
    NAME_TAKEN = "NameTaken"
    REFUSED = "Refused"
    WRITE_FAILED = "WriteFailed"  # Reconciling gives it too, and Admitted, as it does NameTaken and Refused
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
    RUNNING = "Running"  # Completed gives it too
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

    # Suspended, and every other condition of a fleet that is
    SUSPENDED = "Suspended"
    SUSPENDING = "Suspending"
    NOT_SUSPENDED = "NotSuspended"
    IDLE_TIMEOUT = "IdleTimeout"

    # Admitted, of a fleet with a queue
    ADMITTED = "Admitted"
    ADMITTED_FOR_FEWER = "AdmittedForFewer"
    WAITING_FOR_QUOTA = "WaitingForQuota"
    QUOTA_TAKEN_BACK = "QuotaTakenBack"  # Suspended gives it too, while the driver ends
    WORKLOAD_DEACTIVATED = "WorkloadDeactivated"
    PRIORITY_CLASS_MISSING = "PriorityClassMissing"
    KUEUE_MISSING = "KueueMissing"
    NOT_QUEUED = "NotQueued"

    # Every condition, at the end; the last one only of a run on one machine
    COMPLETED = "Completed"
    FAILED = "Failed"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    INTERRUPTED = "Interrupted"

    # No condition: an Event about a child that was made or deleted, or about a pod that is not the fleet's
    CREATED = "Created"
    DELETED = "Deleted"
    POD_IGNORED = "PodIgnored"


class Phase(StrEnum):
    """Derived from the conditions, for people only."""

    PENDING = "Pending"
    STARTING = "Starting"
    COLLECTING = "Collecting"
    DEGRADED = "Degraded"
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    COMPLETED = "Completed"
    FAILED = "Failed"

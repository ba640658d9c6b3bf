"""What to do for each reason. ``collectorfleet status`` prints these texts, and docs/conditions.md has them as tables.

The texts are Markdown, with links from the folder docs. :func:`plain_remedy` returns the text for a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

REMEDIES: Final[Mapping[str, str]] = {
    "AcknowledgementLate": (
        "if rollouts take longer than 60 s, reduce `framesPerBatch` or set `weights.updateBetweenSteps`"
    ),
    "AdmittedForFewer": (
        "Kueue admitted fewer pods than requested: to request all pods again, set `spec.suspend` to true and back to "
        "false"
    ),
    "BelowMinAvailable": "read the errors of the collectors in the message",
    "CheckpointNeeded": (
        "a restart would lose what the driver has learned: set `driver.checkpoint`, or delete the Job to restart anyway"
    ),
    "ChildSuspended": "follow the message: usually [Kueue](queues.md#fleets-without-a-queue) suspended the object",
    "CollectorUnschedulable": (
        "make room for a worker pod, or change `collectors.resources`, `collectors.replicas` or `workers.template`"
    ),
    "ContainerFailed": "read the pod's log",
    "DeadlineExceeded": (
        "raise `activeDeadlineSeconds` or `startupDeadlineSeconds`, or make the run faster; a changed spec "
        "starts another try"
    ),
    "DriverLost": (
        "the driver has not renewed its Lease for 40 s, or not taken it within 120 s. If this stays, delete "
        "the driver's pod, or set `driver.livenessDeadlineSeconds`"
    ),
    "DriverNotRunning": "read the condition `DriverRunning`",
    "DriverUnschedulable": "make room for the driver's pod, or change `driver.resources` or `driver.template`",
    "EvaluatorUnschedulable": (
        "make room for an evaluator pod, or change `evaluation.resources`, `evaluation.replicas` or "
        "`evaluation.template`; the fleet can be `Ready` without evaluators"
    ),
    "Failed": (
        "the user's code raised or cannot be fetched, or the driver was lost more often than `backoffLimit`. "
        "Correct code or spec and apply. Without `ttlSecondsAfterFinished`, you can delete the Job instead. If the "
        "code is in the image, push a new tag and set `spec.image`"
    ),
    "FirstBatchPending": "wait: the training function has not requested a batch, or a rollout takes long",
    "HeadPending": (
        "KubeRay has not created the head pod: wait, then check KubeRay with `kubectl get pods -A -l "
        "app.kubernetes.io/component=kuberay-operator`"
    ),
    "HeadUnschedulable": "make room for the head pod, or change `ray.head.template`",
    "IdleTimeout": "change any field of the spec to resume",
    "InternalError": "repair the object in the message, or report the error with the operator's log",
    "Interrupted": "repeat `collectorfleet run`, with `--checkpoint DIR --resume` to resume",
    "InvalidSpec": "correct the field in the message; a run continues with the former spec",
    "KubeRayMissing": "install KubeRay 1.5 or newer",
    "KueueMissing": "install Kueue, set `kueue.enabled` in the operator's chart, or remove the fleet's queue label",
    "NameTaken": "delete the object in the message, or rename the fleet",
    "NodeLost": "do nothing: the pod is [replaced](operate.md#losing-nodes)",
    "NotQueued": "the fleet ran before it had a queue: set `spec.suspend` to true and back to false",
    "PodIgnored": "no controller made this pod: remove its label `collectorfleet.dev/fleet`",
    "PriorityClassMissing": "create the WorkloadPriorityClass, or correct the [label](queues.md)",
    "ProgressDeadlineExceeded": (
        "the first batch, new worker pods or the driver's end took longer than `progressDeadlineSeconds`: "
        "correct the cause in the message"
    ),
    "Refused": "correct the field in the message, usually in a pod template",
    "RestartNeeded": (
        "a changed spec is [held back](operate.md#changing): delete the Job in the message, or apply the old spec"
    ),
    "StalenessBoundExceeded": "report this as a bug",
    "Suspended": "set `spec.suspend: false` to resume; the message says where the run continues",
    "WaitingForDeletion": "wait; a pod that stays Terminating is on a node that does not answer",
    "WeightUpdateFailed": "let `policy.factory` build the same policy in driver and collectors",
    "WorkloadDeactivated": "correct the spec, or set `spec.suspend` to true and back to false",
    "WriteFailed": "repair the webhook in the message, or check the API server",
}
# The message of an unschedulable pod that waits for a PersistentVolumeClaim has this word, in small or capital letters.
_CLAIM: Final = "persistentvolumeclaim"
CLAIM_REMEDY: Final = (
    "create the PersistentVolumeClaim, or bind it: check its StorageClass, or create a PersistentVolume"
)
# Reasons of Kubernetes and KubeRay.
KUBERNETES_REMEDIES: Final[Mapping[tuple[str, ...], str]] = {
    ("ImagePullBackOff", "InvalidImageName"): (
        "correct `spec.image`. If the registry is private (`unauthorized`), run `kubectl create secret "
        "docker-registry NAME` with your account, and set `imagePullSecrets: [{name: NAME}]`"
    ),
    ("OOMKilled",): (
        "raise `collectors.resources.memory`, `evaluation.resources.memory`, `driver.resources.memory` or the head's "
        "memory"
    ),
    ("CrashLoopBackOff",): "read `kubectl logs --previous`",
    (
        "CreateContainerConfigError",
    ): "create the ConfigMap or Secret in the message, or correct the container's `securityContext`",
    ("FailedMount", "FailedAttachVolume"): "check the volume, ConfigMap or Secret in the message",
}

_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def plain_remedy(reason: str, message: str) -> str:
    """Return without Markdown what to do for a condition, or an empty text if there is nothing to do.

    ``message`` is the message of the condition. For an unschedulable pod that waits for a claim, return what to do for
    the claim.
    """
    if reason.endswith("Unschedulable") and _CLAIM in message.lower():
        found = CLAIM_REMEDY
    else:
        of_kubernetes = (text for reasons, text in KUBERNETES_REMEDIES.items() if reason in reasons)
        found = REMEDIES.get(reason) or next(of_kubernetes, "")
    return _LINK.sub(r"\1", found).replace("`", "")

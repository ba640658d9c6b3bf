"""What to do for a reason, as a terminal shows it."""

from __future__ import annotations

import pytest

from collectorfleet_api.conditions.remedies import KUBERNETES_REMEDIES, REMEDIES, plain_remedy

ROOM = "make room for the driver's pod, or change driver.resources or driver.template"
MEMORY = "raise collectors.resources.memory, evaluation.resources.memory, driver.resources.memory or the head's memory"
CLAIM = "create the PersistentVolumeClaim, or bind it: check its StorageClass, or create a PersistentVolume"


@pytest.mark.parametrize(
    ("reason", "message", "remedy"),
    [
        ("DriverUnschedulable", "0/1 nodes are available: 1 Insufficient cpu.", ROOM),
        ("DriverUnschedulable", "0/1 nodes: pod has unbound immediate PersistentVolumeClaims.", CLAIM),
        ("CollectorUnschedulable", '0/1 nodes: persistentvolumeclaim "runs" not found', CLAIM),
        ("NodeLost", "", "do nothing: the pod is replaced"),
        ("FailedAttachVolume", "", "check the volume, ConfigMap or Secret in the message"),
        (
            "OOMKilled",
            "1 of 1 evaluator pods: container ray-worker was killed at its memory limit of 3Gi",
            MEMORY,
        ),
        ("Collecting", "", ""),
        ("SomethingNewer", "", ""),
    ],
)
def test_a_reason_has_its_remedy_without_markdown(reason: str, message: str, remedy: str) -> None:
    assert plain_remedy(reason, message) == remedy


def test_no_remedy_has_markdown_left() -> None:
    reasons = [*REMEDIES, *(one for several in KUBERNETES_REMEDIES for one in several)]
    assert [one for one in reasons if not plain_remedy(one, "") or set("`()[") & set(_unquoted(one))] == []


def _unquoted(reason: str) -> str:
    """Return the remedy without its YAML and its text in parentheses."""
    return plain_remedy(reason, "").replace("[{name: NAME}]", "").replace("(unauthorized)", "")

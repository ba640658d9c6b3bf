"""The volume of ``driver.checkpoint``. The driver pod and the learner pods mount this volume at the same path."""

from __future__ import annotations

from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Checkpoint
from collectorfleet_operator.objects import Object

_CHECKPOINT_VOLUME: Final = "checkpoints"


def checkpoint_volumes(checkpoint: Checkpoint | None) -> list[Object]:
    if checkpoint is None:
        return []
    return [{"name": _CHECKPOINT_VOLUME, "persistentVolumeClaim": {"claimName": checkpoint.claim_name}}]


def checkpoint_mounts(checkpoint: Checkpoint | None) -> list[Object]:
    if checkpoint is None:
        return []
    mount = {"name": _CHECKPOINT_VOLUME, "mountPath": names.CHECKPOINT_MOUNT}
    return [{**mount, "subPath": checkpoint.sub_path} if checkpoint.sub_path else mount]

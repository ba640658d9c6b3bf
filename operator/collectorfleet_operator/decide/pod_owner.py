"""The facts that decisions need about both Jobs and RayClusters. Each stored version is parsed once. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from collectorfleet_api import names
from collectorfleet_operator.children.group_sizes import GroupSize
from collectorfleet_operator.children.hashes import StoredHashes, hashes_on
from collectorfleet_operator.objects import (
    Kind,
    Object,
    controller_uid,
    created_at,
    is_terminating,
    label,
    name_of,
    uid_of,
)


@dataclass(frozen=True, slots=True)
class PodOwner:
    """The facts of an object that makes pods.

    ``controller`` is the uid of the object's fleet, from the object's owner reference. ``queue_label`` is the
    LocalQueue that Kueue or a user wrote into the object's labels. ``sizes`` has the size of each worker group. A
    driver's Job has one group with one pod.
    """

    kind: Kind
    name: str
    uid: str
    controller: str | None
    is_terminating: bool
    created: datetime
    is_suspended: bool
    queue_label: str | None
    hashes: StoredHashes
    sizes: Mapping[str, GroupSize]

    @property
    def is_orphan(self) -> bool:
        """Return whether the object stays although no fleet owns it, as after ``kubectl delete --cascade=orphan``.

        Only a user can free the name of such an object.
        """
        return self.controller is None and not self.is_terminating

    @property
    def worker_sizes(self) -> dict[str, GroupSize]:
        """Return the sizes of the groups that the fleet needs to collect: all groups except the evaluators."""
        return {name: size for name, size in self.sizes.items() if name != names.EVALUATOR_GROUP}


def read_owner(kind: Kind, stored: Object) -> dict[str, Any]:
    """Return all fields of a PodOwner except ``sizes``. Raises errors such as KeyError for a malformed object."""
    return {
        "kind": kind,
        "name": name_of(stored),
        "uid": uid_of(stored),
        "controller": controller_uid(stored),
        "is_terminating": is_terminating(stored),
        "created": created_at(stored),
        "is_suspended": bool((stored.get("spec") or {}).get("suspend")),
        "queue_label": label(stored, names.QUEUE_LABEL),
        "hashes": hashes_on(stored),
    }

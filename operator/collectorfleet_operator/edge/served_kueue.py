"""Which version of Kueue's API a session writes, and whether Kubernetes serves a better one by now.

A session keeps its version: what it lists, watches and writes are objects of one shape. An upgrade of Kueue therefore
ends the session, and the next one begins with the version that was found.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Final

from collectorfleet_api import names
from collectorfleet_operator.children.workload import KUEUE, NEWEST_KUEUE, WORKLOAD, KueueVersion, newest_served
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.objects import Kind

log = logging.getLogger(__name__)


class ServedKueue:
    """``version`` is the one to use, and changes in :meth:`has_changed` alone.

    ``is_used``: whether the operator serves queues.
    """

    def __init__(self, kube: Kube, *, is_used: bool) -> None:
        self._kube = kube
        self._is_used: Final = is_used
        self.version = NEWEST_KUEUE

    async def has_changed(self) -> bool:
        """Ask which versions are served; raises a KubeError. Without Kueue the version stays."""
        if not self._is_used:
            return False
        found = newest_served(await self._kube.versions(KUEUE))
        if found is None or found is self.version:
            return False
        log.info("Workloads are written as %s/%s from now on", KUEUE, found)
        self.version = found
        return True


def why_no_queues(missing: Collection[Kind], unserved: Collection[Kind]) -> str:
    """Return why no fleet can wait in a queue, in a sentence; empty if fleets can."""
    if WORKLOAD in unserved:
        return f"the operator serves no queues: set kueue.enabled of its chart, or remove label {names.QUEUE_LABEL}"
    if WORKLOAD in missing:
        return f"this Kubernetes has no {WORKLOAD.full_name} of {' or '.join(KueueVersion)}: install Kueue"
    return ""

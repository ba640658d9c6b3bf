"""The version of Kueue's API that a session uses, and a check whether the API server serves a newer version.

A session never changes its version, so that it lists, watches and writes objects of one version. After an upgrade of
Kueue the session ends, and the next session begins with the new version.
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
    """The version of Kueue's API to use. ``version`` changes only in :meth:`has_changed`.

    ``is_used``: whether the operator serves queues.
    """

    def __init__(self, kube: Kube, *, is_used: bool) -> None:
        self._kube = kube
        self._is_used: Final = is_used
        self.version = NEWEST_KUEUE

    async def has_changed(self) -> bool:
        """Update ``version`` to the newest served version, and return whether it has changed.

        Without Kueue the version stays. Raises a KubeError.
        """
        if not self._is_used:
            return False
        found = newest_served(await self._kube.versions(KUEUE))
        if found is None or found is self.version:
            return False
        log.info("Workloads are written as %s/%s from now on", KUEUE, found)
        self.version = found
        return True


def why_no_queues(missing: Collection[Kind], unserved: Collection[Kind]) -> str:
    """Return a sentence that says why no fleet can use a queue. Return an empty text if fleets can use queues."""
    if WORKLOAD in unserved:
        return f"the operator serves no queues: set kueue.enabled of its chart, or remove label {names.QUEUE_LABEL}"
    if WORKLOAD in missing:
        return f"this Kubernetes has no {WORKLOAD.full_name} of {' or '.join(KueueVersion)}; install Kueue"
    return ""

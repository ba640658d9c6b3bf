"""Drain collectors of removed slots, and collectors on draining pods. The caller holds the lock."""

from __future__ import annotations

import logging

from collectorfleet.gather.losses import Losses
from collectorfleet.gather.shared import Shared
from collectorfleet.gather.state.collector import Collector

log = logging.getLogger("collectorfleet")


class Draining:
    """Retires draining collectors as soon as their requests are answered.

    Records which draining pods have no collectors.
    """

    def __init__(self, shared: Shared, losses: Losses) -> None:
        self._shared = shared
        self._losses = losses

    def drain(self) -> None:
        """Retire every draining collector that has no open requests."""
        shared = self._shared
        for name in list(shared.slots.leaving):
            one = shared.gather.collectors.named(name)
            if one is None or not one.in_flight:
                self._leave(name, one)
        if shared.draining_pods:
            for one in list(shared.gather.collectors):
                if one.pod in shared.draining_pods and not one.in_flight:
                    self._leave_pod(one, one.pod)
            self._note_empty()

    def _leave(self, name: str, one: Collector | None) -> None:
        self._shared.slots.left(name)
        if one is None:
            return
        self._losses.retire(one)
        log.info("%s drained", name)
        if one.pod is not None:
            self._note_drained(one.pod)

    def _leave_pod(self, one: Collector, pod: str) -> None:
        self._shared.slots.drained(one.id.name, pod)
        self._losses.retire(one)
        log.info("%s is drained: its pod %s will be replaced", one.id.name, pod)
        self._note_drained(pod)

    def _note_empty(self) -> None:
        """Record each draining pod without collectors. Either no collector ran there, or its collectors were lost."""
        shared = self._shared
        taken = {one.pod for one in shared.gather.collectors}
        if None not in taken:  # a collector whose pod is unknown may still start on one of these pods
            for pod in sorted(shared.draining_pods - shared.drained_pods.keys() - taken):
                self._note_drained(pod)
                shared.note_change()

    def _note_drained(self, pod: str) -> None:
        if all(other.pod != pod for other in self._shared.gather.collectors):
            self._shared.note_drained(pod)
            log.info("pod %s has no collector left", pod)

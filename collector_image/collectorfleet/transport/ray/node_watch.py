"""Watches Ray's nodes during a run: which nodes died, and how many bytes their object stores spilled."""

from __future__ import annotations

import logging
import re
import threading
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import ray

log = logging.getLogger(__name__)

EVERY_SECONDS: Final = 10.0
_NODE_SECONDS: Final = 2.0
_STORED: Final = re.compile(r"^ray_object_store_memory\{([^}\n]*)\} ([0-9.eE+-]+)", re.MULTILINE)

Node = Mapping[str, Any]


class NodeWatch:
    """Queries Ray every 10 s on its own thread, until :meth:`stop` is called or ``is_over()`` returns True.

    ``changed`` is called when ``spilled_bytes`` changes. ``spilled_bytes`` is None until a node reports a number.
    ``died`` is called with the id of each node that died since the start.
    """

    def __init__(self, changed: Callable[[], None], died: Callable[[str], None], is_over: Callable[[], bool]) -> None:
        self.spilled_bytes: int | None = None
        self._changed = changed
        self._died = died
        self._is_over = is_over
        self._alive: set[str] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="collectorfleet-nodes", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()

    def _run(self) -> None:
        while not (self._over.wait(EVERY_SECONDS) or self._is_over()):
            self._look(_nodes())

    def _look(self, nodes: Sequence[Node] | None) -> None:
        if nodes is not None:
            alive = {node["NodeID"] for node in nodes if node["Alive"]}
            for gone in self._alive - alive:
                self._died(gone)
            self._alive = alive
        found = spilled_by(nodes or ())
        if found != self.spilled_bytes:
            self.spilled_bytes = found
            self._changed()


def spilled_by(nodes: Sequence[Node]) -> int | None:
    """Return the bytes that all answering nodes spilled together, or None if no node answers."""
    answers = [_asked(node) for node in nodes if node["Alive"]]
    known = [answer for answer in answers if answer is not None]
    return sum(known) if known else None


def spilled_bytes(metrics: str) -> int | None:
    """Return the spilled bytes from a raylet's metrics page in Prometheus' text format.

    Return None if the page does not have the metric.
    """
    found = [float(value) for labels, value in _STORED.findall(metrics) if 'Location="SPILLED"' in labels]
    return int(sum(found)) if found else None


def _nodes() -> list[Node] | None:
    """Return Ray's nodes, or None if Ray does not answer. After a shutdown of Ray, return None without a query."""
    try:
        nodes: list[Node] | None = ray.nodes() if ray.is_initialized() else None
    except Exception as error:  # noqa: BLE001  (Ray has no base class for the errors of an unreachable head)
        log.debug("the state of the nodes is unknown: %s", error)
        return None
    return nodes


def _asked(node: Node) -> int | None:
    address = f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics"
    try:
        with urllib.request.urlopen(address, timeout=_NODE_SECONDS) as answer:
            return spilled_bytes(answer.read().decode())
    except OSError:
        return None

"""How much room the object store has, and whether it had to spill."""

from __future__ import annotations

import logging
import re
import threading
import urllib.request
from collections.abc import Callable
from typing import Any, Final

import ray

log = logging.getLogger(__name__)

EVERY_SECONDS: Final = 10.0
_NODE_SECONDS: Final = 2.0
_SPILLED: Final = re.compile(r'^ray_object_store_memory\{[^}]*Location="SPILLED"[^}]*\} ([0-9.eE+-]+)', re.MULTILINE)

# The rest is for weights, for what is copied at the moment, and for what Ray itself keeps.
_SHARE_FOR_BATCHES = 0.4


def room_for_batches() -> int | None:
    """Bytes that batches under way may take in the store of this process's node; None if Ray does not say."""
    here = ray.get_runtime_context().get_node_id()
    for node in ray.nodes():
        if node["NodeID"] == here:
            size = node["Resources"].get("object_store_memory")
            return int(size * _SHARE_FOR_BATCHES) if size else None
    return None


def spilled_bytes(metrics: str) -> int | None:
    """What a node's raylet says it has spilled, from its page in Prometheus' text format; None: it does not say."""
    found = _SPILLED.findall(metrics)
    return int(sum(float(value) for value in found)) if found else None


class SpillWatch:
    """Asks every node of the cluster now and then, on a thread of its own. ``bytes`` is None as long as none answers.

    ``changed`` is called when the number is another one. It ends with :meth:`stop`, or once ``is_over()``.
    """

    def __init__(self, changed: Callable[[], None], is_over: Callable[[], bool]) -> None:
        self.bytes: int | None = None
        self._changed = changed
        self._is_over = is_over
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="collectorfleet-store", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()

    def _run(self) -> None:
        while not (self._over.wait(EVERY_SECONDS) or self._is_over()):
            found = _of_all_nodes()
            if found != self.bytes:
                self.bytes = found
                self._changed()


def _of_all_nodes() -> int | None:
    """None if Ray does not answer, or its end came first: asking it then would start another one."""
    try:
        nodes = ray.nodes() if ray.is_initialized() else []
    except Exception as error:  # noqa: BLE001  (Ray has no base class for what a head that is away raises)
        log.debug("what the nodes spilled is not known now: %s", error)
        return None
    answers = [_of_node(node) for node in nodes if node["Alive"]]
    known = [answer for answer in answers if answer is not None]
    return sum(known) if known else None


def _of_node(node: dict[str, Any]) -> int | None:
    address = f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics"
    try:
        with urllib.request.urlopen(address, timeout=_NODE_SECONDS) as answer:
            return spilled_bytes(answer.read().decode())
    except OSError:
        return None
